// SPDX-License-Identifier: Apache-2.0
//! Which attributes an agent advertises of its GPUs: the value of the parameter `attributes`.

use super::error::ConfigError;

/// The form of the value.
pub(super) const FORM: &str = "none, or a comma list of: model, memory, driver";

/// The attributes that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttributeChoice {
    /// `gpu_model`.
    pub model: bool,
    /// `gpu_memory`.
    pub memory: bool,
    /// `gpu_driver`.
    pub driver: bool,
}

impl AttributeChoice {
    /// Whether no attribute is wanted.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Reads which attributes are advertised.
pub(super) fn choice(key: &str, text: &str) -> Result<AttributeChoice, ConfigError> {
    let mut choice = AttributeChoice::default();
    if text == "none" {
        return Ok(choice);
    }
    let wrong = |why| ConfigError::wrong_value(key, text, why, FORM);
    for word in text.split(',') {
        let wanted = match word {
            "model" => &mut choice.model,
            "memory" => &mut choice.memory,
            "driver" => &mut choice.driver,
            "none" => return Err(wrong("none stands alone")),
            _ => return Err(wrong("it is no such list")),
        };
        if std::mem::replace(wanted, true) {
            return Err(wrong("a word comes twice"));
        }
    }
    Ok(choice)
}
