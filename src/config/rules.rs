// SPDX-License-Identifier: Apache-2.0
//! What the agent's own flags must say so that GPUs are handed out once and the rest is denied. An agent that breaks one of
//! these rules must not start: nothing at run time would notice.

use super::error::{ConfigError, ConfigErrorKind, quoted};
use super::flags::MesosFlags;
use super::resources_flag;
use super::{Config, Mode};
use crate::domain::request::gpus_wanted;

/// Mesos's own GPU isolator.
const BUILT_IN: &str = "gpu/nvidia";
/// The isolators that put each container into a devices cgroup of its own.
const DEVICE_CONTROL: [&str; 2] = ["cgroups/devices", "cgroups/all"];

/// Checks `--isolation`: no second isolator hands out the same GPUs, and each container has a devices cgroup.
/// An agent that only observes needs the built-in that it observes.
pub fn check_isolation(flags: &MesosFlags, own_name: &str, mode: Mode) -> Result<(), ConfigError> {
    let refused = |text| Err(ConfigError::new(ConfigErrorKind::Isolation, text));
    let flag = flags.read("isolation")?;
    let shown = flag.map_or("--isolation is not given and so".to_owned(), |flag| {
        format!("--isolation={}", quoted(flag))
    });
    // Mesos splits at commas and trims nothing.
    let named = |name: &str| flag.is_some_and(|flag| flag.split(',').any(|word| word == name));
    if mode == Mode::Observe && !named(BUILT_IN) {
        return refused(format!(
            "{shown} does not name {BUILT_IN}, which mode=observe is for; add {BUILT_IN} to --isolation, or remove the \
             parameter mode"
        ));
    }
    if mode == Mode::Exclusive && named(BUILT_IN) {
        return refused(format!(
            "{shown} names {BUILT_IN} and {own_name}, which would both hand out the same GPUs; \
             remove {BUILT_IN} from --isolation"
        ));
    }
    if !DEVICE_CONTROL.iter().any(|name| named(name)) {
        return refused(format!(
            "{shown} names neither {} nor {}, so nothing would keep containers from each other's GPUs; \
             add {} to --isolation",
            DEVICE_CONTROL[0], DEVICE_CONTROL[1], DEVICE_CONTROL[0]
        ));
    }
    Ok(())
}

/// Checks `--isolation` for a module that is nothing without the isolator.
pub fn check_beside_isolator(flags: &MesosFlags, module: &str, isolator: &str) -> Result<(), ConfigError> {
    let flag = flags.read("isolation")?;
    if flag.is_some_and(|flag| flag.split(',').any(|word| word == isolator)) {
        return Ok(());
    }
    let shown = flag.map_or("--isolation is not given".to_owned(), |flag| {
        format!("--isolation={} does not name {isolator}", quoted(flag))
    });
    let text = format!(
        "{shown}, without which {module} has no GPUs to share; add {isolator} to --isolation, or leave {module} out"
    );
    Err(ConfigError::new(ConfigErrorKind::Isolation, text))
}

/// What is to be said when idle GPUs are to be offered and nobody is there who would.
pub fn no_estimator(flags: &MesosFlags, estimator: &str) -> Result<Option<String>, ConfigError> {
    if flags.read("resource_estimator")? == Some(estimator) {
        return Ok(None);
    }
    Ok(Some(format!(
        "oversubscribe is on, but --resource_estimator does not name {estimator}, so no idle GPU is offered"
    )))
}

/// What is to be said when the estimator is there and has nothing to do; `on` is the parameter `oversubscribe`.
pub fn estimator_off(on: bool) -> Option<&'static str> {
    (!on).then_some("oversubscribe is off, so no GPU is offered a second time")
}

/// Refuses parameters of a module that Mesos creates when the agent thread runs already; `before` and `after` are the
/// settings without and with them.
pub fn check_in_time(
    before: &Config,
    after: &Config,
    module: &str,
    early: [&str; 2],
) -> Result<(), ConfigError> {
    if before == after {
        return Ok(());
    }
    let text = format!(
        "the parameters of {module} come too late, because the agent thread runs already; give them to {} or {}",
        early[0], early[1]
    );
    Err(ConfigError::new(ConfigErrorKind::Contradiction, text))
}

/// Checks `--resources`: when it names `gpus` it must name as many as are managed.
pub fn check_resources(flags: &MesosFlags, managed: usize) -> Result<(), ConfigError> {
    let Some(text) = flags.read("resources")? else {
        return Ok(());
    };
    let refused = |what: String| {
        let text = format!(
            "--resources={}: {what}, or leave gpus out of --resources",
            quoted(text)
        );
        ConfigError::new(ConfigErrorKind::Resources, text)
    };
    let readable = |what: String| refused(format!("{what}; write it as gpus:{managed}"));
    let Some(shares) = resources_flag::gpus(text).map_err(readable)? else {
        return Ok(());
    };
    let advertised = gpus_wanted(&shares).map_err(|error| readable(error.to_string()))?;
    if usize::try_from(advertised).ok() == Some(managed) {
        return Ok(());
    }
    Err(refused(format!(
        "it advertises {advertised} gpus and {managed} are managed; make it gpus:{managed}, change the parameter gpus"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(name: &str, value: Option<&str>) -> MesosFlags {
        let mut argv = vec!["mesos-agent".to_owned()];
        argv.extend(value.map(|value| format!("--{name}={value}")));
        MesosFlags::parse(&argv, &[], &|_| Err(std::io::ErrorKind::NotFound.into()))
    }

    fn isolation(value: Option<&str>) -> Result<(), (ConfigErrorKind, String)> {
        let result = check_isolation(&flags("isolation", value), "mesos_gpu_Isolator", Mode::Exclusive);
        result.map_err(|error| (error.kind(), error.to_string()))
    }

    fn resources(value: &str, managed: usize) -> Result<(), (ConfigErrorKind, String)> {
        let result = check_resources(&flags("resources", Some(value)), managed);
        result.map_err(|error| (error.kind(), error.to_string()))
    }

    #[test]
    fn an_isolation_with_device_control_is_accepted() {
        for value in [
            "cgroups/devices,mesos_gpu_Isolator",
            "filesystem/linux,cgroups/all,mesos_gpu_Isolator",
            "mesos_gpu_Isolator,,cgroups/devices",
            "cgroups/devices,gpu/nvidia2,mesos_gpu_Isolator",
        ] {
            assert_eq!(isolation(Some(value)), Ok(()), "{value}");
        }
    }

    #[test]
    fn an_isolation_with_the_built_in_is_refused_with_the_cure() {
        let value = "cgroups/devices,gpu/nvidia,mesos_gpu_Isolator";
        let want = "--isolation=\"cgroups/devices,gpu/nvidia,mesos_gpu_Isolator\" names gpu/nvidia and \
                    mesos_gpu_Isolator, which would both hand out the same GPUs; remove gpu/nvidia from --isolation";
        assert_eq!(
            isolation(Some(value)),
            Err((ConfigErrorKind::Isolation, want.to_owned()))
        );
    }

    #[test]
    fn oversubscription_without_the_estimator_is_told() {
        let told =
            |value| no_estimator(&flags("resource_estimator", value), "mesos_gpu_ResourceEstimator").unwrap();
        assert_eq!(told(Some("mesos_gpu_ResourceEstimator")), None);
        for other in [None, Some("org_apache_mesos_FixedResourceEstimator")] {
            let told = told(other).unwrap();
            assert!(
                told.ends_with("mesos_gpu_ResourceEstimator, so no idle GPU is offered"),
                "{told}"
            );
        }
    }

    #[test]
    fn a_module_beside_no_isolator_is_refused_with_the_cure() {
        let check = |value| {
            let flags = flags("isolation", value);
            check_beside_isolator(&flags, "mesos_gpu_QoSController", "mesos_gpu_Isolator")
        };
        assert_eq!(check(Some("cgroups/devices,mesos_gpu_Isolator")), Ok(()));
        for (value, shown) in [
            (None, "--isolation is not given"),
            (
                Some("mesos_gpu_Isolator2"),
                "--isolation=\"mesos_gpu_Isolator2\" does not name mesos_gpu_Isolator",
            ),
        ] {
            let error = check(value).unwrap_err();
            let want = format!(
                "{shown}, without which mesos_gpu_QoSController has no GPUs to share; add mesos_gpu_Isolator to --isolation, \
                 or leave mesos_gpu_QoSController out"
            );
            assert_eq!(
                (error.kind(), error.to_string()),
                (ConfigErrorKind::Isolation, want)
            );
        }
    }

    #[test]
    fn an_isolation_without_device_control_is_refused_with_the_cure() {
        for (value, shown) in [
            (None, "--isolation is not given and so"),
            (
                Some("posix/cpu,mesos_gpu_Isolator"),
                "--isolation=\"posix/cpu,mesos_gpu_Isolator\"",
            ),
            (
                Some("cgroups/cpu, cgroups/devices"),
                "--isolation=\"cgroups/cpu, cgroups/devices\"",
            ),
            (Some("cgroups/devices2"), "--isolation=\"cgroups/devices2\""),
        ] {
            let want = format!(
                "{shown} names neither cgroups/devices nor cgroups/all, so nothing would keep containers from each \
                 other's GPUs; add cgroups/devices to --isolation"
            );
            assert_eq!(
                isolation(value),
                Err((ConfigErrorKind::Isolation, want)),
                "{value:?}"
            );
        }
        assert_eq!(
            isolation(Some("file:///x")).unwrap_err().0,
            ConfigErrorKind::WrongValue
        );
    }

    #[test]
    fn resources_that_agree_or_do_not_name_gpus_are_accepted() {
        assert_eq!(check_resources(&flags("resources", None), 3), Ok(()));
        for (value, managed) in [
            ("cpus:4;mem:1024", 2),
            ("vgpus:4", 2),
            ("gpus:2", 2),
            ("gpus:0", 0),
            ("gpus(a):1;gpus(b):1;vgpus:7", 2),
            (r#"[{"name":"gpus","type":"SCALAR","scalar":{"value":2}}]"#, 2),
        ] {
            assert_eq!(resources(value, managed), Ok(()), "{value}");
        }
    }

    #[test]
    fn resources_that_disagree_are_refused_with_both_numbers() {
        for (value, advertised, managed) in [
            ("cpus:4;gpus:3", 3, 2),
            ("gpus(a):1;gpus(b):1", 2, 4),
            ("gpus:0", 0, 2),
            ("gpus:1", 1, 0),
            (r#"[{"name":"gpus","type":"SCALAR","scalar":{"value":1}}]"#, 1, 2),
        ] {
            let want = format!(
                "--resources={value:?}: it advertises {advertised} gpus and {managed} are managed; make it \
                 gpus:{managed}, change the parameter gpus, or leave gpus out of --resources"
            );
            assert_eq!(
                resources(value, managed),
                Err((ConfigErrorKind::Resources, want)),
                "{value}"
            );
        }
    }

    #[test]
    fn gpus_that_are_no_whole_number_are_refused_although_their_sum_is_one() {
        let want = "--resources=\"gpus(a):0.5;gpus(b):1.5\": gpus must be whole numbers: asked for 0.5 + 1.5; \
                    write it as gpus:2, or leave gpus out of --resources";
        assert_eq!(
            resources("gpus(a):0.5;gpus(b):1.5", 2),
            Err((ConfigErrorKind::Resources, want.to_owned()))
        );
        let want = "--resources=\"gpus:x\": cannot read a number of gpus in \"gpus:x\"; write it as gpus:2, \
                    or leave gpus out of --resources";
        assert_eq!(
            resources("gpus:x", 2),
            Err((ConfigErrorKind::Resources, want.to_owned()))
        );
    }
}
