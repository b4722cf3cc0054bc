// SPDX-License-Identifier: Apache-2.0
//! Tables of what parameters mean and how each wrong one is refused.

use super::*;
use crate::domain::estimate::{MemoryLimit, Percent, Thresholds};

mod oversubscription;
mod settings;

fn pairs(parameters: &[(&str, &str)]) -> Vec<(String, String)> {
    parameters
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn flags(argv: &[&str]) -> MesosFlags {
    let argv: Vec<String> = std::iter::once("mesos-agent")
        .chain(argv.iter().copied())
        .map(str::to_owned)
        .collect();
    MesosFlags::parse(&argv, &[], &|_| Err(std::io::ErrorKind::NotFound.into()))
}

fn config(parameters: &[(&str, &str)], argv: &[&str]) -> Result<Config, ConfigError> {
    Config::from_parts(&pairs(parameters), &flags(argv))
}

fn default() -> Config {
    config(&[], &[]).unwrap()
}

#[test]
fn without_parameters_everything_has_its_default() {
    let want = Config {
        gpus: Selection::all(),
        nvml_library: None,
        nvml_timeout: Duration::from_secs(30),
        discovery_wait: Duration::from_secs(5),
        proc_dir: "/proc/driver/nvidia".into(),
        dev_dir: "/dev".into(),
        cgroups_root: "mesos".into(),
        cgroups_hierarchy: "/sys/fs/cgroup".into(),
        attributes: AttributeChoice::default(),
        mode: Mode::Exclusive,
        checkpoint_dir: None,
        metrics_file: None,
        dcgm_job_dir: None,
        release_wait: Duration::from_secs(30),
        release_limit: Duration::from_secs(30),
        health_interval: Duration::from_secs(10),
        process_check: true,
        control_nodes_for_all: false,
        driver_files: DriverFilesPolicy::Asked,
        driver_root: "/".into(),
        cdi_spec: None,
        cuda_compat: true,
        image_dir: "/var/run/mesos/mesos-gpu".into(),
        sandbox_directory: "/mnt/mesos/sandbox".to_owned(),
        nvidia_requirements: true,
        oversubscription: Oversubscription {
            on: false,
            thresholds: Thresholds::default(),
        },
    };
    assert_eq!(default(), want);
}

#[test]
fn the_defaults_that_the_table_prints_are_the_real_ones() {
    for key in KEYS.iter().filter(|key| !key.default.starts_with('(')) {
        assert_eq!(
            config(&[(key.name, key.default)], &[]).unwrap(),
            default(),
            "{}",
            key.name
        );
    }
    for (key, value) in [("cgroups_root", "mesos"), ("cgroups_hierarchy", "/sys/fs/cgroup")] {
        let printed = KEYS.iter().find(|known| known.name == key).unwrap().default;
        assert!(printed.ends_with(&format!("else {value})")), "{printed}");
        assert_eq!(config(&[(key, value)], &[]).unwrap(), default());
    }
}

#[test]
fn a_wrong_value_is_refused_with_key_value_and_accepted_form() {
    for (key, value) in [
        ("gpus", ""),
        ("gpus", "3-0"),
        ("gpus", "1,1"),
        ("nvml_library", "libnvidia-ml.so.1"),
        ("nvml_library", ""),
        ("nvml_timeout", "0secs"),
        ("nvml_timeout", "0.0000000001ns"),
        ("nvml_timeout", "5"),
        ("nvml_timeout", "5s"),
        ("nvml_timeout", "5 secs"),
        ("nvml_timeout", "-5secs"),
        ("nvml_timeout", "secs"),
        ("nvml_timeout", "1.2.3secs"),
        ("nvml_timeout", "1e2secs"),
        ("nvml_timeout", "infsecs"),
        ("nvml_timeout", "2hrs"),
        ("nvml_timeout", "99999999999999999999999weeks"),
        ("discovery_wait", ""),
        ("discovery_wait", "1days"),
        ("proc_dir", "proc"),
        ("proc_dir", "/proc/../etc"),
        ("dev_dir", "/dev\0"),
        ("cgroups_root", "/"),
        ("cgroups_root", "a/../b"),
        ("cgroups_root", "a//b"),
        ("cgroups_hierarchy", "cgroup"),
        ("attributes", ""),
        ("attributes", "model, memory"),
        ("attributes", "Model"),
        ("attributes", "model,model"),
        ("attributes", "none,model"),
        ("driver_files", ""),
        ("driver_files", "all"),
        ("driver_files", "Asked"),
        ("driver_root", "run/driver"),
        ("driver_root", "/run/../"),
        ("dcgm_job_dir", "jobs"),
        ("dcgm_job_dir", "/run/../jobs"),
        ("cdi_spec", "nvidia.yaml"),
        ("cdi_spec", ""),
        ("cuda_compat", "on"),
        ("cuda_compat", "always"),
        ("image_dir", "images"),
        ("nvidia_requirements", "true"),
    ] {
        refused(key, value);
    }
}

/// That the value is refused with what was given and the accepted form; the text, and that form.
fn refused(key: &str, value: &str) -> (String, &'static str) {
    let error = config(&[(key, value)], &[]).unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), ConfigErrorKind::WrongValue, "{key}={value}");
    assert!(
        text.starts_with(&format!("parameter {key}={value:?}: ")),
        "{text}"
    );
    let form = KEYS.iter().find(|known| known.name == key).unwrap().form;
    assert_eq!(text.matches(&format!("accepted: {form}")).count(), 1, "{text}");
    assert!(!text.contains('\n'), "{text}");
    (text, form)
}

#[test]
fn cgroup_settings_follow_the_agents_flags_and_may_not_contradict_them() {
    let agent = ["--cgroups_root=/tb/", "--cgroups_hierarchy=/h"];
    let want = Config {
        cgroups_root: "tb".into(),
        cgroups_hierarchy: "/h".into(),
        ..default()
    };
    assert_eq!(config(&[], &agent), Ok(want.clone()));
    assert_eq!(
        config(&[("cgroups_root", "tb"), ("cgroups_hierarchy", "/h/")], &agent),
        Ok(want)
    );
    for (key, value, flag) in [
        ("cgroups_root", "mesos", "/tb/"),
        ("cgroups_hierarchy", "/sys/fs/cgroup", "/h"),
    ] {
        let error = config(&[(key, value)], &agent).unwrap_err();
        let want = format!(
            "parameter {key}={value:?} contradicts the agent's --{key}={flag:?}; leave the parameter out"
        );
        assert_eq!(
            (error.kind(), error.to_string()),
            (ConfigErrorKind::Contradiction, want)
        );
    }
    let error = config(&[], &["--cgroups_hierarchy=here"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--cgroups_hierarchy=\"here\" cannot be used; accepted: an absolute path without .."
    );
}

#[test]
fn images_are_fitted_below_the_agents_runtime_dir() {
    for (parameters, argv, want) in [
        (&[][..], &[][..], "/var/run/mesos/mesos-gpu"),
        (&[], &["--runtime_dir=/r/"], "/r/mesos-gpu"),
        (&[("image_dir", "/i")], &["--runtime_dir=/r"], "/i"),
        (&[("image_dir", "/i")], &["--runtime_dir=r"], "/i"),
    ] {
        assert_eq!(
            config(parameters, argv).unwrap().image_dir,
            PathBuf::from(want),
            "{argv:?}"
        );
    }
    let error = config(&[], &["--runtime_dir=r"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--runtime_dir=\"r\" cannot be used; accepted: an absolute path without .."
    );
}
