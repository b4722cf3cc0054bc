// SPDX-License-Identifier: Apache-2.0
//! The attributes of an agent, with what the operator wants said of its GPUs.
//!
//! Mesos replaces the agent's attributes by the answer, so what was there goes back byte for byte. An attribute speaks for
//! all GPUs of the agent at once, so it says only what holds for each of them.

use crate::config::AttributeChoice;
use crate::domain::gpu::Unit;
use crate::error::Error;
use crate::wire::decode;
use crate::wire::resource::{Attribute, SCALAR, Scalar};
use prost::Message;

/// The GPUs' model, as a text.
pub const MODEL: &str = "gpu_model";
/// The memory that each GPU has at least, in MiB.
pub const MEMORY: &str = "gpu_memory";
/// The driver's major version.
pub const DRIVER: &str = "gpu_driver";

/// `mesos.SlaveInfo`, its attributes untouched.
#[derive(Clone, PartialEq, Message)]
struct Untouched {
    #[prost(bytes = "vec", repeated, tag = "5")]
    attributes: Vec<Vec<u8>>,
}

/// The attributes of `slave_info` (the bytes of a `mesos.SlaveInfo`), each as bytes, and the chosen ones beside them. One
/// that the operator gave already stays as given. None when nothing is to be added.
///
/// # Errors
/// Bytes that are no such message.
pub fn with_gpus(
    slave_info: &[u8],
    choice: AttributeChoice,
    units: &[Unit],
    driver_version: Option<&str>,
) -> Result<Vec<Vec<u8>>, Error> {
    let ours = of_units(choice, units, driver_version);
    if ours.is_empty() {
        return Ok(Vec::new());
    }
    let info: Untouched = decode("SlaveInfo", slave_info).map_err(|e| Error::defect(e.to_string()))?;
    let mut attributes = info.attributes;
    let mut given = Vec::new();
    for bytes in &attributes {
        let attribute: Attribute = decode("Attribute", bytes).map_err(|e| Error::defect(e.to_string()))?;
        given.push(attribute.name);
    }
    let added = ours.into_iter().filter(|one| !given.contains(&one.name));
    attributes.extend(added.map(|one| one.encode_to_vec()));
    Ok(attributes)
}

/// Whether `units` tell all that is chosen: the model and the memory of a GPU may become known later than the GPU.
pub fn are_known(choice: AttributeChoice, units: &[Unit]) -> bool {
    let known = |unit: &Unit| {
        (!choice.model || unit.model.is_some()) && (!choice.memory || unit.memory_bytes.is_some())
    };
    units.iter().all(known)
}

/// What holds for each of the units; nothing is said that is not known of every one.
fn of_units(choice: AttributeChoice, units: &[Unit], driver_version: Option<&str>) -> Vec<Attribute> {
    let Some(first) = units.first() else {
        return Vec::new();
    };
    let model = || {
        let model = first.model.as_deref()?;
        let same = units.iter().all(|unit| unit.model.as_deref() == Some(model));
        same.then(|| Attribute::text(MODEL, &text(model)))
    };
    let memory = || {
        let bytes: Option<Vec<u64>> = units.iter().map(|unit| unit.memory_bytes).collect();
        // No GPU has 4 EiB.
        let mebibytes = u32::try_from(bytes?.into_iter().min()? >> 20).ok()?;
        Some(scalar(MEMORY, mebibytes))
    };
    let driver = || {
        let major = driver_version?.split('.').next()?;
        Some(scalar(DRIVER, major.parse().ok()?))
    };
    [
        choice.model.then(model),
        choice.memory.then(memory),
        choice.driver.then(driver),
    ]
    .into_iter()
    .flatten()
    .flatten()
    .collect()
}

/// What Mesos accepts as a text in `--attributes`, so that frameworks can write the same in their constraints.
fn text(model: &str) -> String {
    let accepted = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | '-');
    model.chars().map(|c| if accepted(c) { c } else { '_' }).collect()
}

fn scalar(name: &str, value: u32) -> Attribute {
    Attribute {
        name: name.to_owned(),
        r#type: SCALAR,
        scalar: Some(Scalar {
            value: f64::from(value),
        }),
        text: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gpu::{UnitId, UnitKind};

    const ALL: AttributeChoice = AttributeChoice {
        model: true,
        memory: true,
        driver: true,
    };

    fn unit(model: Option<&str>, mebibytes: Option<u64>) -> Unit {
        Unit {
            id: UnitId::new("GPU-a"),
            kind: UnitKind::Gpu,
            pci: "3b:00.0".parse().unwrap(),
            minor: 0,
            index: None,
            model: model.map(str::to_owned),
            memory_bytes: mebibytes.map(|mebibytes| mebibytes << 20),
        }
    }

    fn h200() -> Unit {
        unit(Some("NVIDIA H200"), Some(143_771))
    }

    fn info(attributes: &[Vec<u8>]) -> Vec<u8> {
        Untouched {
            attributes: attributes.to_vec(),
        }
        .encode_to_vec()
    }

    /// What is added, as Mesos would print it.
    fn said(choice: AttributeChoice, units: &[Unit], driver: Option<&str>) -> Vec<String> {
        let answer = with_gpus(&info(&[]), choice, units, driver).unwrap();
        let print = |bytes: &Vec<u8>| {
            let one: Attribute = decode("Attribute", bytes).unwrap();
            match (one.r#type, one.scalar, one.text) {
                (SCALAR, Some(scalar), None) => format!("{}:{}", one.name, scalar.value),
                (_, None, Some(text)) => format!("{}:{}", one.name, text.value),
                other => unreachable!("{other:?}"),
            }
        };
        answer.iter().map(print).collect()
    }

    #[test]
    fn each_attribute_comes_when_chosen() {
        let units = [h200(), h200()];
        let want = ["gpu_model:NVIDIA_H200", "gpu_memory:143771", "gpu_driver:580"];
        assert_eq!(said(ALL, &units, Some("580.159.04")), want);
        let memory = AttributeChoice {
            memory: true,
            ..AttributeChoice::default()
        };
        assert_eq!(said(memory, &units, Some("580.159.04")), [want[1]]);
        assert!(said(AttributeChoice::default(), &units, Some("580.159.04")).is_empty());
    }

    #[test]
    fn only_what_holds_for_every_gpu_is_said() {
        let mixed = [h200(), unit(Some("NVIDIA L4 (test)"), Some(23_034))];
        assert_eq!(said(ALL, &mixed, None), ["gpu_memory:23034"]);
        assert_eq!(said(ALL, &mixed[1..], None)[0], "gpu_model:NVIDIA_L4__test_");
        let half = [h200(), unit(None, None)];
        assert!(said(ALL, &half, None).is_empty());
        assert!(!are_known(ALL, &half) && are_known(ALL, &mixed) && are_known(ALL, &[]));
        assert!(said(ALL, &[], Some("580.159.04")).is_empty());
        assert!(said(ALL, &[unit(None, None)], Some("unknown")).is_empty());
    }

    #[test]
    fn attributes_that_the_operator_gave_stay_as_given() {
        let mut kind = Attribute::text("kind", "tb").encode_to_vec();
        kind.extend([0xc2, 0x3e, 3, b'n', b'e', b'w']); // Field 1000 with three bytes.
        let model = Attribute::text(MODEL, "mine").encode_to_vec();
        let given = info(&[kind.clone(), model.clone()]);
        let answer = with_gpus(&given, ALL, &[h200()], None).unwrap();
        assert_eq!(answer[..2], [kind, model]);
        assert_eq!(answer[2..], [scalar(MEMORY, 143_771).encode_to_vec()]);
        assert!(with_gpus(&[0xff], ALL, &[h200()], None).is_err());
    }
}
