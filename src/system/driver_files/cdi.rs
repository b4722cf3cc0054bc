// SPDX-License-Identifier: Apache-2.0
//! Reads a specification of the Container Device Interface: on hosts whose driver lies where nobody would look, the tool
//! that wrote it knows the files. Only their host paths are taken; what a container may open and what runs for it is
//! decided here and by nobody's file.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The files of a specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The host paths of its mounts for all devices, in their order.
    pub paths: Vec<String>,
    /// What else is in it and not used, in its own words.
    pub unused: Vec<&'static str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    cdi_version: Option<IgnoredAny>,
    kind: Option<String>,
    #[serde(default)]
    container_edits: Edits,
    devices: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Edits {
    #[serde(default)]
    mounts: Vec<Mount>,
    hooks: Option<IgnoredAny>,
    env: Option<IgnoredAny>,
    device_nodes: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mount {
    host_path: String,
}

const EXPECTED: &str = "a CDI specification with \"cdiVersion\", \"kind\", and host paths in \
                        \"containerEdits\": {\"mounts\": [{\"hostPath\": ...}]}, as JSON or YAML";

/// The specification in `text`; JSON if it begins with a brace, else YAML.
///
/// # Errors
/// It is no specification, or one without mounts for all devices: why, and what was expected.
pub fn parse(text: &[u8]) -> Result<Spec, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("{why}; expected {EXPECTED}");
    let text = std::str::from_utf8(text).map_err(|error| wrong(&error))?;
    let file: File = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| wrong(&error))?
    } else {
        // Its default limits hold nesting, aliases and size down.
        serde_saphyr::from_str(text).map_err(|error| wrong(&first_line(&error)))?
    };
    if file.cdi_version.is_none() || file.kind.is_none() {
        return Err(wrong(&"it has no \"cdiVersion\" or no \"kind\""));
    }
    let edits = file.container_edits;
    let unused = [
        ("devices", file.devices.is_some()),
        ("hooks", edits.hooks.is_some()),
        ("env", edits.env.is_some()),
        ("deviceNodes", edits.device_nodes.is_some()),
    ];
    let paths: Vec<String> = edits.mounts.into_iter().map(|mount| mount.host_path).collect();
    if paths.is_empty() {
        return Err(wrong(&"it names no mounts for all devices"));
    }
    Ok(Spec {
        paths,
        unused: unused
            .into_iter()
            .filter_map(|(name, there)| there.then_some(name))
            .collect(),
    })
}

/// The text goes on with an excerpt over several lines.
fn first_line(error: &serde_saphyr::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = r#"---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    mounts:
    - hostPath: /of/one/device/only
      containerPath: /x
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  hooks:
  - hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
    args: [nvidia-cdi-hook, update-ldcache]
  mounts:
  - hostPath: /usr/lib/libcuda.so.580.159.04
    containerPath: /usr/lib/libcuda.so.580.159.04
    options: [ro, nosuid, nodev, rbind, rprivate]
  - hostPath: /usr/bin/nvidia-smi
    containerPath: /usr/bin/nvidia-smi
"#;

    #[test]
    fn the_files_of_all_devices_are_read_from_yaml_and_json() {
        let expected = Spec {
            paths: vec![
                "/usr/lib/libcuda.so.580.159.04".to_owned(),
                "/usr/bin/nvidia-smi".to_owned(),
            ],
            unused: vec!["devices", "hooks", "env"],
        };
        assert_eq!(parse(YAML.as_bytes()), Ok(expected.clone()));
        let json = r#" {"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": [], "containerEdits": {"env": [], "hooks": [],
            "mounts": [{"hostPath": "/usr/lib/libcuda.so.580.159.04", "containerPath": "/a"},
            {"hostPath": "/usr/bin/nvidia-smi", "containerPath": "/b", "options": ["ro"]}]}}"#;
        assert_eq!(parse(json.as_bytes()), Ok(expected));
    }

    #[test]
    fn what_is_no_specification_is_refused_with_what_was_expected() {
        for (text, why) in [
            ("", ""),
            ("{", "EOF while parsing"),
            ("[1, 2]", ""),
            ("a: b: c", ""),
            ("a: 1", "no \"cdiVersion\""),
            (
                "{\"cdiVersion\": \"0.5.0\", \"kind\": \"nvidia.com/gpu\"}",
                "names no mounts",
            ),
            (
                "cdiVersion: 0.5.0\nkind: k\ncontainerEdits: {mounts: []}\n",
                "names no mounts",
            ),
            (
                "cdiVersion: 0.5.0\nkind: k\ncontainerEdits: {mounts: [{containerPath: /x}]}\n",
                "hostPath",
            ),
            ("cdiVersion: 0.5.0\nkind: k\ncontainerEdits: 3\n", ""),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(
                error.contains(why) && error.ends_with(EXPECTED),
                "{text:?}: {error}"
            );
            assert!(!error.contains('\n'), "{text:?}: {error}");
        }
        assert!(parse(b"\xff\xfe").unwrap_err().contains("utf-8"));
    }

    #[test]
    fn small_texts_that_unfold_to_large_ones_are_refused() {
        let mut bomb = "cdiVersion: 0.5.0\nkind: k\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..20 {
            let before = level - 1;
            bomb += &format!(
                "a{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}, *a{before}]\n"
            );
        }
        bomb += "devices: *a19\n";
        assert!(parse(bomb.as_bytes()).is_err());
        assert!(parse("[".repeat(100_000).as_bytes()).is_err());
        assert!(parse("{\"a\":".repeat(100_000).as_bytes()).is_err());
    }

    mod hostile {
        use super::*;
        use proptest::prelude::*;

        proptest! {
            #[test]
            fn no_text_makes_it_panic(
                bytes in proptest::collection::vec(any::<u8>(), 0..200),
                cut in 0..YAML.len(),
            ) {
                let _ = parse(&bytes);
                let mut text = YAML.as_bytes()[..cut].to_vec();
                text.extend(bytes);
                let _ = parse(&text);
            }
        }
    }
}
