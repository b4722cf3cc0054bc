// SPDX-License-Identifier: Apache-2.0
//! The parameters of the allocator. It runs in the master, so it shares none with the modules of an agent.

mod keys;
mod values;

use super::error::{ConfigError, ConfigErrorKind, quoted};
use super::keys::{check, default_of};
use super::values::{Zero, duration, path};
use crate::domain::allocation_policy::{Headroom, Settings};
use std::path::PathBuf;

pub use keys::ALLOCATOR_KEYS;

/// The settings of the allocator.
#[derive(Debug, Clone, PartialEq)]
pub struct AllocatorConfig {
    /// The rules.
    pub settings: Settings,
    /// The inner allocator's sorter of roles.
    pub role_sorter: String,
    /// The inner allocator's sorter of a role's frameworks.
    pub framework_sorter: String,
    /// The file for the allocator's numbers; none for none.
    pub metrics_file: Option<PathBuf>,
}

impl AllocatorConfig {
    /// Settings from parameters.
    ///
    /// # Errors
    /// Which parameter cannot be used, and the accepted form.
    pub fn from_parts(parameters: &[(String, String)]) -> Result<Self, ConfigError> {
        let given = check(ALLOCATOR_KEYS, parameters)?;
        let value = |name| {
            given
                .get(name)
                .unwrap_or_else(|| default_of(ALLOCATOR_KEYS, name))
        };
        let settings = Settings {
            policy: values::policy("policy", value("policy"))?,
            overrides: values::rules(
                "overrides",
                given.get("overrides"),
                keys::OVERRIDES,
                values::override_of,
            )?,
            caps: values::rules("gpu_caps", given.get("gpu_caps"), keys::CAPS, values::cap_of)?,
            headroom: Headroom {
                cpus: values::number("cpus_per_gpu", value("cpus_per_gpu"))?,
                mem: values::megabytes("mem_per_gpu", value("mem_per_gpu"))?,
                disk: values::megabytes("disk_per_gpu", value("disk_per_gpu"))?,
            },
            refuse_time: duration("refuse_time", value("refuse_time"), Zero::Refused)?,
        };
        let (role_sorter, framework_sorter) = (
            values::sorter("role_sorter", value("role_sorter"))?,
            values::sorter("framework_sorter", value("framework_sorter"))?,
        );
        if role_sorter != framework_sorter {
            let text = format!(
                "parameter role_sorter is {} and framework_sorter is {}; Mesos sorts both in the same way, so give both the \
                 same value",
                quoted(&role_sorter),
                quoted(&framework_sorter)
            );
            return Err(ConfigError::new(ConfigErrorKind::Contradiction, text));
        }
        Ok(Self {
            settings,
            role_sorter,
            framework_sorter,
            metrics_file: given
                .get("metrics_file")
                .map(|text| path("metrics_file", text))
                .transpose()?,
        })
    }
}

#[cfg(test)]
mod tests;
