// SPDX-License-Identifier: Apache-2.0
//! Tables of what the allocator's parameters mean and how each wrong one is refused.

use super::*;
use crate::domain::allocation_policy::{Policy, Rule, Subject};
use std::time::Duration;

fn config(parameters: &[(&str, &str)]) -> Result<AllocatorConfig, ConfigError> {
    let pairs: Vec<(String, String)> = parameters
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    AllocatorConfig::from_parts(&pairs)
}

fn default() -> AllocatorConfig {
    config(&[]).unwrap()
}

fn role<T>(name: &str, value: T) -> Rule<T> {
    Rule {
        subject: Subject::Role(name.to_owned()),
        value,
    }
}

fn framework<T>(name: &str, value: T) -> Rule<T> {
    Rule {
        subject: Subject::Framework(name.to_owned()),
        value,
    }
}

#[test]
fn without_parameters_everything_is_as_mesos_by_itself() {
    let want = AllocatorConfig {
        settings: Settings {
            policy: Policy::Strict,
            overrides: Vec::new(),
            caps: Vec::new(),
            headroom: Headroom {
                cpus: 1000,
                mem: 1_024_000,
                disk: 0,
            },
            refuse_time: Duration::from_secs(5),
        },
        role_sorter: "drf".to_owned(),
        framework_sorter: "drf".to_owned(),
        metrics_file: None,
    };
    assert_eq!(default(), want);
}

#[test]
fn the_defaults_that_the_table_prints_are_the_real_ones() {
    for key in ALLOCATOR_KEYS.iter().filter(|key| !key.default.starts_with('(')) {
        assert_eq!(
            config(&[(key.name, key.default)]).unwrap(),
            default(),
            "{}",
            key.name
        );
    }
    for (nth, key) in ALLOCATOR_KEYS.iter().enumerate() {
        let others = &ALLOCATOR_KEYS[..nth];
        assert!(others.iter().all(|other| other.name != key.name), "{}", key.name);
        for text in [key.name, key.form, key.default, key.meaning] {
            assert!(!text.is_empty() && !text.contains('\n'), "{}: {text:?}", key.name);
        }
    }
}

#[test]
fn every_parameter_reaches_its_setting() {
    let settings = |parameters: &[(&str, &str)]| config(parameters).unwrap().settings;
    for (text, want) in [
        ("strict", Policy::Strict),
        ("share", Policy::Share),
        ("open", Policy::Open),
    ] {
        assert_eq!(settings(&[("policy", text)]).policy, want);
    }
    let overrides = "role:a/b=open, framework:spark=1=strict,framework:role:x=share";
    assert_eq!(
        settings(&[("overrides", overrides)]).overrides,
        [
            role("a/b", Policy::Open),
            framework("spark=1", Policy::Strict),
            framework("role:x", Policy::Share)
        ]
    );
    assert_eq!(
        settings(&[("gpu_caps", "role:*=0,framework:s=12")]).caps,
        [role("*", 0), framework("s", 12)]
    );
    for (text, milli) in [("0", 0), ("2", 2000), ("0.5", 500), ("1.125", 1125)] {
        assert_eq!(settings(&[("cpus_per_gpu", text)]).headroom.cpus, milli);
    }
    for (text, megabytes) in [
        ("0", 0),
        ("4096", 4096),
        ("512MB", 512),
        ("4GB", 4096),
        ("1TB", 1_048_576),
    ] {
        assert_eq!(settings(&[("mem_per_gpu", text)]).headroom.mem, megabytes * 1000);
        assert_eq!(
            settings(&[("disk_per_gpu", text)]).headroom.disk,
            megabytes * 1000
        );
    }
    assert_eq!(
        settings(&[("refuse_time", "1mins")]).refuse_time,
        Duration::from_secs(60)
    );
    let random = config(&[("role_sorter", "random"), ("framework_sorter", "random")]).unwrap();
    assert_eq!(
        (random.role_sorter.as_str(), random.framework_sorter.as_str()),
        ("random", "random")
    );
    let file = config(&[("metrics_file", "/m/gpu.prom")]).unwrap().metrics_file;
    assert_eq!(file, Some("/m/gpu.prom".into()));
}

#[test]
fn a_wrong_value_is_refused_with_key_value_reason_and_the_accepted_form() {
    for (key, value, why) in [
        ("policy", "Share", "it is no such policy"),
        ("policy", "", "it is no such policy"),
        ("cpus_per_gpu", "-1", "it is negative"),
        ("cpus_per_gpu", "1e3", "it is no such number"),
        ("cpus_per_gpu", "NaN", "it is no such number"),
        ("cpus_per_gpu", ".5", "it is no such number"),
        ("cpus_per_gpu", "0.0005", "Mesos counts three decimal digits"),
        ("cpus_per_gpu", "1000000.5", "it is too large"),
        ("mem_per_gpu", "-4GB", "it is negative"),
        ("mem_per_gpu", "4gb", "it is no number with such a unit"),
        ("mem_per_gpu", "1.5GB", "it is no number with such a unit"),
        ("mem_per_gpu", "GB", "it is no number"),
        ("disk_per_gpu", "99999999999999999999", "it is too large"),
        ("disk_per_gpu", "18446744073709551615TB", "it is too large"),
        ("refuse_time", "0secs", "it is zero"),
        ("role_sorter", "DRF", "it is no such sorter"),
        ("framework_sorter", "fair", "it is no such sorter"),
        ("metrics_file", "gpu.prom", "it is no such path"),
        ("overrides", "", "\"\" has no value"),
        ("overrides", "role:a", "\"role:a\" has no value"),
        ("overrides", "role:=open", "\"role:=open\" has no name"),
        (
            "overrides",
            "a=open",
            "\"a=open\" is for neither role:NAME nor framework:NAME",
        ),
        (
            "overrides",
            "role:a=closed",
            "\"role:a=closed\" names no such policy",
        ),
        (
            "overrides",
            "role:a=open,role:a=open",
            "\"role:a=open\" repeats role:a",
        ),
        ("overrides", "role:a=open,", "\"\" has no value"),
        ("gpu_caps", "role:a=-1", "\"role:a=-1\" is negative"),
        (
            "gpu_caps",
            "role:a=1.5",
            "\"role:a=1.5\" is no whole number of GPUs",
        ),
        (
            "gpu_caps",
            "role:a=1.0",
            "\"role:a=1.0\" is no whole number of GPUs",
        ),
        ("gpu_caps", "role:a=two", "\"role:a=two\" is no number of GPUs"),
        ("gpu_caps", "role:a=", "\"role:a=\" is no number of GPUs"),
        ("gpu_caps", "role:a=1000001", "\"role:a=1000001\" is too large"),
        (
            "gpu_caps",
            "framework:f=1,framework:f=2",
            "\"framework:f=2\" repeats framework:f",
        ),
    ] {
        let form = ALLOCATOR_KEYS
            .iter()
            .find(|known| known.name == key)
            .unwrap()
            .form;
        let error = config(&[(key, value)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("parameter {key}={value:?}: {why}; accepted: {form}")
        );
        assert_eq!(error.kind(), ConfigErrorKind::WrongValue);
    }
}

#[test]
fn a_key_of_the_agents_modules_is_none_of_the_allocators() {
    let error = config(&[("gpus", "all")]).unwrap_err();
    let names: Vec<&str> = ALLOCATOR_KEYS.iter().map(|key| key.name).collect();
    assert_eq!(
        error.to_string(),
        format!(
            "parameter gpus=\"all\" does not exist; accepted: {}",
            names.join(", ")
        )
    );
    let error = config(&[("polcy", "open")]).unwrap_err();
    assert!(error.to_string().contains("(nearest: policy)"), "{error}");
    let error = config(&[("policy", "open"), ("policy", "open")]).unwrap_err();
    assert_eq!(error.kind(), ConfigErrorKind::DuplicateKey);
}

#[test]
fn two_sorters_that_differ_are_refused_as_mesos_refuses_them() {
    let error = config(&[("role_sorter", "random")]).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            ConfigErrorKind::Contradiction,
            "parameter role_sorter is \"random\" and framework_sorter is \"drf\"; Mesos sorts both in the same way, so \
             give both the same value"
        )
    );
}
