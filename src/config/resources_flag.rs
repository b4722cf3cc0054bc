// SPDX-License-Identifier: Apache-2.0
//! The `gpus` in the text of the agent's `--resources`, in both of the forms that Mesos takes.

use crate::domain::request::GpuShare;

/// The amounts of the entries named `gpus`, one a role, in `cpus:4;gpus:2;gpus(role):1` or in a JSON array of resources.
/// None when there is none, which is something else than zero. What is wrong with other entries is for Mesos to say.
pub fn gpus(text: &str) -> Result<Option<Vec<GpuShare>>, String> {
    let shares = match serde_json::from_str::<Vec<serde_json::Value>>(text) {
        Ok(entries) => entries
            .iter()
            .filter(|entry| entry["name"] == "gpus")
            .map(json_entry)
            .collect(),
        Err(_) => text
            .split(';')
            .filter_map(plain_entry)
            .collect::<Result<Vec<_>, _>>(),
    }?;
    Ok((!shares.is_empty()).then_some(shares))
}

fn json_entry(entry: &serde_json::Value) -> Result<GpuShare, String> {
    let amount = entry["scalar"]["value"]
        .as_f64()
        .ok_or_else(|| format!("cannot read a number of gpus in {entry}"))?;
    Ok(GpuShare {
        amount,
        revocable: entry.get("revocable").is_some(),
    })
}

/// An entry `name:value` or `name(role):value`, when it is one of gpus.
fn plain_entry(entry: &str) -> Option<Result<GpuShare, String>> {
    let (name, value) = entry.split_once(':').unwrap_or((entry, ""));
    let name = name.split('(').next().unwrap_or_default().trim();
    if name != "gpus" {
        return None;
    }
    let value: String = value.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let amount = value.parse().map_err(|_| {
        format!(
            "cannot read a number of gpus in \"{}\"",
            entry.trim().escape_debug()
        )
    });
    Some(amount.map(|amount| GpuShare {
        amount,
        revocable: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_found_in_both_forms() {
        for (text, want) in [
            ("", None),
            ("cpus:4;mem:1024", None),
            ("vgpus:4", None),
            ("gpus2:4;mygpus:1", None),
            ("gpus:2", Some(&[2.0][..])),
            (" cpus:4 ; gpus : 2 ;\n", Some(&[2.0])),
            ("gpus:0", Some(&[0.0])),
            ("gpus(a):2;gpus(b/c):1;vgpus:9", Some(&[2.0, 1.0])),
            ("gpus:0.5", Some(&[0.5])),
            ("ports:[1-2,4-5];gpus:1;disks:{a,b}", Some(&[1.0])),
            ("[]", None),
            (r#"[{"name":"vgpus","type":"SCALAR","scalar":{"value":4}}]"#, None),
            (
                r#" [{"name":"gpus","type":"SCALAR","scalar":{"value":2}},
                     {"name":"gpus","type":"SCALAR","scalar":{"value":1.0},"role":"r"}] "#,
                Some(&[2.0, 1.0]),
            ),
        ] {
            let found = gpus(text).unwrap();
            let amounts = found.map(|shares| shares.iter().map(|share| share.amount).collect::<Vec<_>>());
            assert_eq!(amounts.as_deref(), want, "{text}");
        }
    }

    #[test]
    fn gpus_that_cannot_be_read_are_refused() {
        for (text, want) in [
            ("gpus", "cannot read a number of gpus in \"gpus\""),
            ("cpus:1;gpus:two", "cannot read a number of gpus in \"gpus:two\""),
            ("gpus:[0-3]", "cannot read a number of gpus in \"gpus:[0-3]\""),
            ("gpus:1:2", "cannot read a number of gpus in \"gpus:1:2\""),
            (
                r#"[{"name":"gpus"}]"#,
                r#"cannot read a number of gpus in {"name":"gpus"}"#,
            ),
        ] {
            assert_eq!(gpus(text), Err(want.to_owned()), "{text}");
        }
    }
}
