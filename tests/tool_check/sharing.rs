// SPDX-License-Identifier: Apache-2.0
//! Idle GPUs that are offered a second time need a switch, an estimator, a controller and the isolator: what is missing or
//! contradicts is found, in the words in which the modules tell it.

use super::setup::{Case, Setup, expect, seed};
use super::tool::has_devices;
use fake_nvml::Machine;
use mesos_gpu::config::{MesosFlags, rules};
use serde_json::json;

const ISOLATOR: &str = "mesos_gpu_Isolator";
const ESTIMATOR: &str = "mesos_gpu_ResourceEstimator";
const CONTROLLER: &str = "mesos_gpu_QoSController";

/// A good agent that shares idle GPUs.
fn sharing() -> Setup {
    let mut setup = Setup::agent();
    setup.load(ESTIMATOR);
    setup.load(CONTROLLER);
    setup.parameter("oversubscribe", "on");
    setup.flag("resource_estimator", ESTIMATOR);
    setup.flag("qos_controller", CONTROLLER);
    setup
}

/// Two GPUs, of which all but the first so many are cut.
fn cut(whole: usize) -> Machine {
    let mut machine = Machine::with_gpus(2);
    for gpu in &mut machine.gpus[whole..] {
        *gpu = gpu.clone().with_mig(&["3g.71gb"]);
    }
    machine
}

/// Takes the isolator and the hook away, and leaves their parameters to the next module.
fn without_isolator(setup: &mut Setup) {
    setup.flag("isolation", "cgroups/devices,filesystem/linux");
    setup.without("hooks");
    let modules = setup.file["libraries"][0]["modules"].as_array_mut().unwrap();
    let parameters = modules[0]["parameters"].take();
    modules.drain(..2);
    modules[0]["parameters"] = parameters;
}

#[test]
fn ROOT_CGROUPS_each_mistake_is_found_by_its_rule_with_the_cure() {
    if !has_devices() {
        return;
    }
    let cases: &[Case] = &[
        (
            "module-without-isolator",
            "error",
            "add mesos_gpu_Isolator to --isolation, or leave mesos_gpu_ResourceEstimator out",
            |s| {
                without_isolator(s);
                s.without("qos_controller");
            },
        ),
        (
            "module-without-isolator",
            "error",
            "add mesos_gpu_Isolator to --isolation, or leave mesos_gpu_QoSController out",
            |s| {
                let loaded = s.file["libraries"][0]["modules"].as_array_mut().unwrap();
                loaded.swap(2, 3);
                without_isolator(s);
                s.without("resource_estimator");
            },
        ),
        (
            "module-without-isolator",
            "error",
            "add mesos_gpu_Isolator to --isolation, or leave mesos_gpu_ResourceEstimator out",
            |s| {
                // Beside the built-in there is nothing to share either.
                without_isolator(s);
                s.flag("isolation", "cgroups/devices,filesystem/linux,gpu/nvidia");
                s.without("qos_controller");
            },
        ),
        ("isolation-built-in", "error", "remove gpu/nvidia", |s| {
            s.flag(
                "isolation",
                "cgroups/devices,filesystem/linux,gpu/nvidia,mesos_gpu_Isolator",
            );
        }),
        ("parameters-contradict", "error", "accepted form: off", |s| {
            s.flag(
                "isolation",
                "cgroups/devices,filesystem/linux,gpu/nvidia,mesos_gpu_Isolator",
            );
            s.parameter("mode", "observe");
            s.without("resource_estimator");
            s.without("qos_controller");
        }),
        (
            "oversubscribe-without-estimator",
            "warning",
            "--resource_estimator=",
            |s| {
                s.without("resource_estimator");
                s.without("qos_controller");
            },
        ),
        (
            "oversubscribe-without-estimator",
            "warning",
            "--resource_estimator=",
            |s| {
                s.flag("resource_estimator", "org_apache_mesos_FixedResourceEstimator");
                s.without("qos_controller");
            },
        ),
        ("estimator-off", "warning", "oversubscribe to on", |s| {
            s.parameter("oversubscribe", "off")
        }),
        ("estimator-without-controller", "note", "--qos_controller=", |s| {
            s.without("qos_controller")
        }),
        (
            "controller-without-estimator",
            "note",
            "--resource_estimator=",
            |s| {
                s.parameter("oversubscribe", "off");
                s.without("resource_estimator");
            },
        ),
        (
            "module-in-wrong-flag",
            "error",
            "move mesos_gpu_ResourceEstimator to --resource_estimator",
            |s| s.flag("qos_controller", ESTIMATOR),
        ),
        (
            "module-not-loaded",
            "error",
            "write mesos_gpu_QoSController",
            |s| s.flag("qos_controller", "mesos_gpu_QosController"),
        ),
        ("flag-misspelt", "error", "write --qos_controller", |s| {
            s.flag("qos_controler", "x");
        }),
        ("parameters-contradict", "error", "at least the interval", |s| {
            s.parameter("sample_interval", "5mins")
        }),
        ("parameter-wrong-value", "error", "from 0 to 50", |s| {
            s.parameter("idle_utilization", "60")
        }),
        (
            "parameters-without-effect",
            "warning",
            "set oversubscribe to on",
            |s| {
                s.parameter("oversubscribe", "off");
                s.parameter("idle_window", "30secs");
                s.without("resource_estimator");
                s.without("qos_controller");
            },
        ),
        (
            "parameters-too-late",
            "error",
            "give them to mesos_gpu_Isolator or mesos_gpu_Hook",
            |s| {
                s.module(0)["parameters"].as_array_mut().unwrap().pop();
                s.module(2)["parameters"] = json!([{ "key": "oversubscribe", "value": "on" }]);
            },
        ),
        (
            "parameters-too-late",
            "error",
            "give them to mesos_gpu_Isolator or mesos_gpu_Hook",
            |s| {
                s.module(3)["parameters"] = json!([
                    { "key": "idle_window", "value": "30secs" },
                    { "key": "oversubscribe", "value": "on" },
                    { "key": "sample_interval", "value": "5secs" }
                ]);
            },
        ),
        ("mig-not-shared", "warning", "undo the cut", |s| {
            s.world.simulation.update(&cut(0)).unwrap()
        }),
        ("mig-not-shared", "note", "undo the cut", |s| {
            s.world.simulation.update(&cut(1)).unwrap()
        }),
    ];
    seed(sharing, cases);
}

#[test]
fn ROOT_CGROUPS_nothing_is_said_of_good_agents_that_share() {
    if !has_devices() {
        return;
    }
    let good: [fn(&mut Setup); 4] = [
        |_| {},
        |s| {
            s.parameter("idle_window", "2mins");
            s.parameter("oversubscribe_share", "50");
            s.flag("oversubscribed_resources_interval", "5secs");
        },
        |s| s.module(2)["parameters"] = json!([{ "key": "oversubscribe", "value": "on" }]),
        |s| {
            // Cut ones that are not managed are nobody's business here.
            s.world.simulation.update(&cut(1)).unwrap();
            s.parameter("gpus", "0");
        },
    ];
    for (nth, change) in good.iter().enumerate() {
        let mut setup = sharing();
        change(&mut setup);
        assert_eq!(setup.check(), (0, vec![]), "good agent {nth}");
    }
}

#[test]
fn ROOT_CGROUPS_the_words_are_those_of_the_module_that_refuses() {
    if !has_devices() {
        return;
    }
    let mut setup = sharing();
    without_isolator(&mut setup);
    setup.without("qos_controller");
    let (status, findings) = setup.check();
    expect("module-without-isolator", "error", "", status, &findings);
    let flags = MesosFlags::parse(&setup.argv, &[], &|_| unreachable!());
    let refusal = rules::check_beside_isolator(&flags, ESTIMATOR, ISOLATOR).unwrap_err();
    let text = |field: &str| findings[0][field].as_str().unwrap().to_owned();
    assert_eq!(format!("{}; {}", text("what"), text("cure")), refusal.to_string());
}

#[test]
fn ROOT_CGROUPS_parameters_that_another_one_switches_off_are_told() {
    if !has_devices() {
        return;
    }
    let cases: &[Case] = &[
        (
            "parameters-without-effect",
            "warning",
            "set driver_files to gpus or asked",
            |s| {
                s.parameter("driver_files", "never");
                s.parameter("cuda_compat", "never");
            },
        ),
        (
            "parameters-without-effect",
            "warning",
            "leave one of them out",
            |s| {
                let edits = json!({ "mounts": [{ "hostPath": "/x" }] });
                let cdi = json!({ "cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "containerEdits": edits });
                let file = s.world.write("cdi.json", &cdi.to_string());
                s.parameter("cdi_spec", &file);
                s.parameter("driver_root", "/");
            },
        ),
    ];
    seed(Setup::agent, cases);
}
