// SPDX-License-Identifier: Apache-2.0
//! What stands in the checkpoint file: JSON, with a version, because a module of another version may read it.
//!
//! Fields that are not known are passed over; a version that is not known is refused, since what it means is not known
//! either.

use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::domain::record::{Advertised, Record};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version that is written and the only one there is.
const VERSION: u64 = 1;

/// What every version begins with.
#[derive(Deserialize)]
struct Head {
    version: u64,
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u64,
    boot_id: String,
    advertised: Option<Units>,
    held: Vec<Holder>,
    /// It came later, so it may be missing; and a module that does not know it takes the kernel's word for guests too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    guests: Vec<Holder>,
}

#[derive(Serialize, Deserialize)]
struct Units {
    selection: String,
    units: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Holder {
    /// The values of the id, root first: a value may have dots of its own.
    container: Vec<String>,
    units: Vec<String>,
}

/// The file of a record.
///
/// # Errors
/// The encoder's reason.
pub fn encode(record: &Record) -> Result<Vec<u8>, String> {
    let file = File {
        version: VERSION,
        boot_id: record.boot_id.clone(),
        advertised: record.advertised.as_ref().map(|advertised| Units {
            selection: advertised.selection.clone(),
            units: texts(&advertised.units),
        }),
        held: holders(&record.held),
        guests: holders(&record.guests),
    };
    let mut text = serde_json::to_vec_pretty(&file).map_err(|error| error.to_string())?;
    text.push(b'\n');
    Ok(text)
}

/// The record of a file.
///
/// # Errors
/// Why the text is no checkpoint that this version knows.
pub fn decode(text: &[u8]) -> Result<Record, String> {
    let corrupt = |error: serde_json::Error| format!("it is corrupt or cut short: {error}");
    let head: Head = serde_json::from_slice(text).map_err(corrupt)?;
    if head.version != VERSION {
        return Err(format!(
            "it is of version {}, and this module knows version {VERSION} only",
            head.version
        ));
    }
    let file: File = serde_json::from_slice(text).map_err(corrupt)?;
    Ok(Record {
        boot_id: file.boot_id,
        advertised: file.advertised.map(|advertised| Advertised {
            units: ids(&advertised.units),
            selection: advertised.selection,
        }),
        held: by_container("held", file.held)?,
        guests: by_container("guests", file.guests)?,
    })
}

fn holders(all: &BTreeMap<ContainerId, Vec<UnitId>>) -> Vec<Holder> {
    let holder = |(container, units): (&ContainerId, &Vec<UnitId>)| Holder {
        container: container.path().to_vec(),
        units: texts(units),
    };
    all.iter().map(holder).collect()
}

fn by_container(list: &str, holders: Vec<Holder>) -> Result<BTreeMap<ContainerId, Vec<UnitId>>, String> {
    let mut all = BTreeMap::new();
    for holder in holders {
        let container = ContainerId::from_path(holder.container)
            .ok_or_else(|| format!("it is corrupt: a container in \"{list}\" has an empty id"))?;
        let name = container.to_string();
        if all.insert(container, ids(&holder.units)).is_some() {
            return Err(format!("it is corrupt: container {name} is twice in \"{list}\""));
        }
    }
    Ok(all)
}

fn texts(units: &[UnitId]) -> Vec<String> {
    units.iter().map(|unit| unit.as_str().to_owned()).collect()
}

fn ids(texts: &[String]) -> Vec<UnitId> {
    texts.iter().map(|text| UnitId::new(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHOLE: &str = r#"{
        "version": 1,
        "boot_id": "b",
        "advertised": {"selection": "all", "units": ["GPU-1", "MIG-2"]},
        "held": [{"container": ["a", "b.c"], "units": ["MIG-2", "GPU-1"]}]
    }"#;

    #[test]
    fn the_text_of_version_1_is_what_it_was() {
        let record = decode(WHOLE.as_bytes()).unwrap();
        assert_eq!(record.boot_id, "b");
        let advertised = record.advertised.clone().unwrap();
        assert_eq!(advertised.selection, "all");
        assert_eq!(advertised.units, [UnitId::new("GPU-1"), UnitId::new("MIG-2")]);
        let container = ContainerId::from_path(vec!["a".into(), "b.c".into()]).unwrap();
        assert_eq!(
            record.held[&container],
            [UnitId::new("MIG-2"), UnitId::new("GPU-1")]
        );

        let told: serde_json::Value = serde_json::from_slice(&encode(&record).unwrap()).unwrap();
        let want: serde_json::Value = serde_json::from_str(WHOLE).unwrap();
        assert_eq!(told, want);
    }

    #[test]
    fn guests_stand_beside_holders_and_a_file_without_them_has_none() {
        let guests = r#""guests": [{"container": ["g"], "units": ["GPU-1"]}]"#;
        let whole = WHOLE.replace("\"held\":", &format!("{guests}, \"held\":"));
        let record = decode(whole.as_bytes()).unwrap();
        let guest = ContainerId::root_of("g");
        assert_eq!(record.guests, [(guest, vec![UnitId::new("GPU-1")])].into());
        let told: serde_json::Value = serde_json::from_slice(&encode(&record).unwrap()).unwrap();
        assert_eq!(told, serde_json::from_str::<serde_json::Value>(&whole).unwrap());
        assert_eq!(decode(WHOLE.as_bytes()).unwrap().guests, BTreeMap::new());
        let twice = whole.replace(
            "[{\"container\": [\"g\"]",
            "[{\"container\": [\"g\"], \"units\": []}, {\"container\": [\"g\"]",
        );
        let error = decode(twice.as_bytes()).unwrap_err();
        assert!(error.contains("container g is twice in \"guests\""), "{error}");
    }

    #[test]
    fn fields_of_a_later_minor_change_are_passed_over() {
        let more = WHOLE
            .replace("\"version\": 1,", "\"version\": 1, \"written_by\": {\"x\": [1]},")
            .replace("\"container\":", "\"since\": 4, \"container\":");
        assert_eq!(decode(more.as_bytes()), decode(WHOLE.as_bytes()));
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let newer = WHOLE.replace("\"version\": 1", "\"version\": 7");
        let error = decode(newer.as_bytes()).unwrap_err();
        assert!(
            error.contains("version 7") && error.contains("version 1"),
            "{error}"
        );
        // A newer version may have another shape altogether.
        let error = decode(br#"{"version": 2, "holders": {}}"#).unwrap_err();
        assert!(error.contains("version 2"), "{error}");
        for (text, why) in [
            (String::new(), "EOF"),
            ("{}".to_owned(), "version"),
            ("[]".to_owned(), "corrupt"),
            ("\0\0\0\0".to_owned(), "corrupt"),
            (r#"{"version": 1}"#.to_owned(), "boot_id"),
            (WHOLE.replace(": 1,", ": -1,"), "-1"),
            (WHOLE.replace("[\"a\", \"b.c\"]", "[]"), "empty id"),
            (WHOLE.replace("[\"a\", \"b.c\"]", "\"a\""), "sequence"),
            (format!("{WHOLE}{WHOLE}"), "trailing"),
            (
                WHOLE.replace(
                    "\"held\": [",
                    "\"held\": [{\"container\": [\"a\", \"b.c\"], \"units\": []},",
                ),
                "twice",
            ),
            ("[".repeat(100_000), "corrupt"),
        ] {
            let error = decode(text.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{error} does not say {why}");
        }
    }

    #[test]
    fn a_file_that_is_cut_short_anywhere_is_not_taken_for_a_whole_one() {
        let text = encode(&decode(WHOLE.as_bytes()).unwrap()).unwrap();
        let whole = text.trim_ascii_end().len();
        for end in 0..whole {
            assert!(decode(&text[..end]).is_err(), "cut at {end}");
        }
        assert!(decode(&text[..whole]).is_ok());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            boot_id in any::<String>(),
            advertised in prop::option::of((any::<String>(), prop::collection::vec(any::<String>(), 0..4))),
            held in prop::collection::btree_map(
                prop::collection::vec(any::<String>(), 1..4), prop::collection::vec(any::<String>(), 0..4), 0..5),
            guests in prop::collection::btree_map(
                prop::collection::vec(any::<String>(), 1..4), prop::collection::vec(any::<String>(), 0..4), 0..5),
        ) {
            let by_container = |all: BTreeMap<Vec<String>, Vec<String>>| -> BTreeMap<ContainerId, Vec<UnitId>> {
                all.into_iter().map(|(path, units)| (ContainerId::from_path(path).unwrap(), ids(&units))).collect()
            };
            let record = Record {
                boot_id,
                advertised: advertised.map(|(selection, units)| Advertised { selection, units: ids(&units) }),
                held: by_container(held),
                guests: by_container(guests),
            };
            prop_assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
        }
    }
}
