// SPDX-License-Identifier: Apache-2.0
//! The table of what each parameter changes.

use super::*;

#[test]
fn every_parameter_reaches_its_setting() {
    for (key, value, want) in [
        (
            "gpus",
            "0-3,!2",
            Config {
                gpus: Selection::parse("0-3,!2").unwrap(),
                ..default()
            },
        ),
        (
            "nvml_library",
            "/a/libnvidia-ml.so.1",
            Config {
                nvml_library: Some("/a/libnvidia-ml.so.1".into()),
                ..default()
            },
        ),
        (
            "nvml_timeout",
            "500ms",
            Config {
                nvml_timeout: Duration::from_millis(500),
                ..default()
            },
        ),
        (
            "nvml_timeout",
            "1.5secs",
            Config {
                nvml_timeout: Duration::from_millis(1500),
                ..default()
            },
        ),
        (
            "nvml_timeout",
            "250us",
            Config {
                nvml_timeout: Duration::from_micros(250),
                ..default()
            },
        ),
        (
            "nvml_timeout",
            "7ns",
            Config {
                nvml_timeout: Duration::from_nanos(7),
                ..default()
            },
        ),
        (
            "nvml_timeout",
            "1hrs",
            Config {
                nvml_timeout: Duration::from_secs(3600),
                ..default()
            },
        ),
        (
            "nvml_timeout",
            "0.01days",
            Config {
                nvml_timeout: Duration::from_secs(864),
                ..default()
            },
        ),
        (
            "discovery_wait",
            "2mins",
            Config {
                discovery_wait: Duration::from_secs(120),
                ..default()
            },
        ),
        (
            "discovery_wait",
            "0ns",
            Config {
                discovery_wait: Duration::ZERO,
                ..default()
            },
        ),
        (
            "proc_dir",
            "/p/",
            Config {
                proc_dir: "/p".into(),
                ..default()
            },
        ),
        (
            "dev_dir",
            "/d",
            Config {
                dev_dir: "/d".into(),
                ..default()
            },
        ),
        (
            "cgroups_root",
            "/a/b/",
            Config {
                cgroups_root: "a/b".into(),
                ..default()
            },
        ),
        (
            "cgroups_hierarchy",
            "/c",
            Config {
                cgroups_hierarchy: "/c".into(),
                ..default()
            },
        ),
        (
            "attributes",
            "driver,model",
            Config {
                attributes: AttributeChoice {
                    model: true,
                    memory: false,
                    driver: true,
                },
                ..default()
            },
        ),
        (
            "attributes",
            "memory",
            Config {
                attributes: AttributeChoice {
                    memory: true,
                    ..AttributeChoice::default()
                },
                ..default()
            },
        ),
    ] {
        assert_eq!(config(&[(key, value)], &[]).as_ref(), Ok(&want), "{key}={value}");
    }
}
