// SPDX-License-Identifier: Apache-2.0
//! Agents: what their flags, parameters and files say against each other and against the machine.

use super::setup::{Case, Setup, seed};
use super::tool::has_devices;

const ISOLATION: &str = "cgroups/devices,filesystem/linux,mesos_gpu_Isolator";

#[test]
fn ROOT_CGROUPS_nothing_is_said_of_good_agents() {
    if !has_devices() {
        return;
    }
    let good: [fn(&mut Setup); 6] = [
        |_| {},
        |s| {
            s.flag("isolation", &format!("{ISOLATION},docker/runtime"));
            s.flag("image_providers", "docker");
            s.flag("image_provisioner_backend", "overlay");
        },
        |s| {
            s.parameter("mode", "observe");
            s.flag("isolation", &format!("{ISOLATION},gpu/nvidia"));
            s.flag("nvidia_gpu_devices", "0,1");
            s.flag("resources", "cpus:4;gpus:2");
        },
        |s| {
            s.load("mesos_gpu_ResourceEstimator");
            s.load("mesos_gpu_QoSController");
            s.parameter("oversubscribe", "on");
            s.flag("resource_estimator", "mesos_gpu_ResourceEstimator");
            s.flag("qos_controller", "mesos_gpu_QoSController");
        },
        |s| {
            s.parameter("gpus", "1");
            s.parameter_of(1, "gpus", "1");
            s.flag("resources", "gpus(a):1;cpus:1");
            s.parameter("metrics_file", &s.world.text("work/gpus.prom"));
            s.load("mesos_gpu_Allocator");
        },
        |s| {
            s.without("isolation");
            s.env.push(("MESOS_ISOLATION".to_owned(), ISOLATION.to_owned()));
            s.env.push(("MESOS_CGROUPS_ROOT".to_owned(), "mesos".to_owned()));
            s.parameter("cgroups_root", "mesos");
        },
    ];
    for (nth, change) in good.iter().enumerate() {
        let mut setup = Setup::agent();
        change(&mut setup);
        assert_eq!(setup.check(), (0, vec![]), "good agent {nth}");
    }
}

#[test]
fn ROOT_CGROUPS_each_mistake_in_flags_is_found_by_its_rule_with_the_cure() {
    if !has_devices() {
        return;
    }
    let cases: &[Case] = &[
        (
            "module-not-loaded",
            "error",
            "add {\"name\": \"mesos_gpu_QoSController\"}",
            |s| {
                s.load("mesos_gpu_ResourceEstimator");
                s.parameter("oversubscribe", "on");
                s.flag("resource_estimator", "mesos_gpu_ResourceEstimator");
                s.flag("qos_controller", "mesos_gpu_QoSController");
            },
        ),
        (
            "module-in-wrong-flag",
            "error",
            "move mesos_gpu_Hook to --hooks",
            |s| {
                s.flag("isolation", &format!("{ISOLATION},mesos_gpu_Hook"));
            },
        ),
        (
            "modules-not-used",
            "warning",
            "add mesos_gpu_Isolator to --isolation",
            |s| {
                s.flag("isolation", "cgroups/devices,filesystem/linux");
                s.without("hooks");
            },
        ),
        ("hook-without-isolator", "error", "add mesos_gpu_Isolator", |s| {
            s.flag("isolation", "cgroups/devices,filesystem/linux");
            s.file["libraries"][0]["modules"]
                .as_array_mut()
                .unwrap()
                .remove(0);
            let parameters = s.world.parameters();
            for (key, value) in parameters {
                s.module(0)["parameters"] = serde_json::json!([]);
                s.parameter(&key, &value);
            }
            s.parameter(
                "proc_dir",
                s.world.simulation.proc_driver().join("nvidia").to_str().unwrap(),
            );
            s.parameter("dev_dir", s.world.simulation.dev().to_str().unwrap());
            s.parameter("nvml_library", s.world.simulation.library().to_str().unwrap());
        }),
        (
            "isolator-without-hook",
            "warning",
            "--hooks=mesos_gpu_Hook",
            |s| s.without("hooks"),
        ),
        ("isolator-without-hook", "note", "--hooks=mesos_gpu_Hook", |s| {
            s.without("hooks");
            s.flag("resources", "gpus:2");
        }),
        ("flag-misspelt", "error", "write --resource_estimator", |s| {
            s.argv.push("--resource-estimator=x".to_owned());
        }),
        ("flag-misspelt", "warning", "write MESOS_HOOKS", |s| {
            s.env.push(("MESOS_HOOK".to_owned(), "x".to_owned()));
        }),
        ("flag-of-the-other", "error", "to the master", |s| {
            s.flag("allocator", "mesos_gpu_Allocator")
        }),
        ("flag-unreadable", "error", "let the agent read the file", |s| {
            s.flag("resources", "file:///none")
        }),
        ("list-with-spaces", "error", "take the spaces out", |s| {
            s.flag("isolation", &format!("{ISOLATION}, docker/runtime"));
        }),
        ("list-repeats", "error", "name filesystem/linux once", |s| {
            s.flag("isolation", &format!("{ISOLATION},filesystem/linux"));
        }),
        ("isolation-built-in", "error", "remove gpu/nvidia", |s| {
            s.flag("isolation", &format!("{ISOLATION},gpu/nvidia"));
        }),
        ("isolation-observes-nothing", "error", "add gpu/nvidia", |s| {
            s.parameter("mode", "observe")
        }),
        ("isolation-without-devices", "error", "add cgroups/devices", |s| {
            s.flag("isolation", "cgroups/cpu,filesystem/linux,mesos_gpu_Isolator");
        }),
        (
            "isolation-without-filesystem",
            "warning",
            "add filesystem/linux",
            |s| {
                s.flag("isolation", "cgroups/all,mesos_gpu_Isolator");
            },
        ),
        ("images-without-runtime", "warning", "add docker/runtime", |s| {
            s.flag("image_providers", "APPC,docker")
        }),
        ("launcher-posix", "error", "--launcher=linux", |s| {
            s.flag("launcher", "posix")
        }),
        ("nvidia-gpu-devices", "error", "the parameter gpus", |s| {
            s.flag("nvidia_gpu_devices", "0,1")
        }),
        ("resources-gpus-differ", "error", "make it gpus:2", |s| {
            s.flag("resources", "cpus:1;gpus:4")
        }),
        ("resources-gpus-not-whole", "error", "write it as gpus:2", |s| {
            s.flag("resources", "gpus:1.5")
        }),
        ("checkpoint-nowhere", "error", "give --work_dir", |s| {
            s.without("work_dir")
        }),
    ];
    seed(Setup::agent, cases);
}

#[test]
fn ROOT_CGROUPS_several_mistakes_are_all_found_at_once() {
    if !has_devices() {
        return;
    }
    let mut setup = Setup::agent();
    setup.parameter("gpu", "0");
    setup.parameter("driver_files", "all");
    setup.parameter("cgroups_root", "a");
    setup.parameter("cgroups_hierarchy", "/b");
    setup.flag("cgroups_root", "mesos");
    setup.flag("cgroups_hierarchy", "/sys/fs/cgroup");
    setup.flag("isolation", "gpu/nvidia,mesos_gpu_Isolator");
    let (status, findings) = setup.check();
    let mut rules: Vec<&str> = findings.iter().map(|one| one["rule"].as_str().unwrap()).collect();
    rules.sort();
    let want = [
        "isolation-built-in",
        "isolation-without-devices",
        "isolation-without-filesystem",
        "parameter-unknown",
        "parameter-wrong-value",
        "parameters-contradict",
        "parameters-contradict",
    ];
    assert_eq!((status, rules), (2, want.to_vec()), "{findings:#?}");
}
