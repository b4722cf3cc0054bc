// SPDX-License-Identifier: Apache-2.0
//! Masters: the allocator and the flags beside it. Needs no GPU, no root and no cgroups.

use super::setup::{Case, Setup, seed};

#[test]
fn nothing_is_said_of_good_masters() {
    let good: [fn(&mut Setup); 3] = [
        |_| {},
        |s| {
            s.parameter("policy", "share");
            s.parameter("gpu_caps", "role:research=8");
            s.flag("filter_gpu_resources", "false");
        },
        |s| {
            s.parameter("role_sorter", "random");
            s.parameter("framework_sorter", "random");
            s.flag("role_sorter", "random");
            s.flag("framework_sorter", "random");
        },
    ];
    for (nth, change) in good.iter().enumerate() {
        let mut setup = Setup::master();
        setup.module(0)["parameters"] = serde_json::json!([]);
        change(&mut setup);
        assert_eq!(setup.check(), (0, vec![]), "good master {nth}");
    }
}

#[test]
fn each_mistake_is_found_by_its_rule_with_the_cure() {
    let cases: &[Case] = &[
        ("parameter-wrong-value", "error", "strict, share or open", |s| {
            s.parameter("policy", "fair")
        }),
        ("parameter-wrong-value", "error", "from 0 to 1000000", |s| {
            s.parameter("gpu_caps", "role:a=-1")
        }),
        (
            "parameters-contradict",
            "error",
            "give both the same value",
            |s| s.parameter("role_sorter", "random"),
        ),
        (
            "module-not-loaded",
            "error",
            "add {\"name\": \"mesos_gpu_Allocator\"}",
            |s| {
                s.module(0)["name"] = "mesos_gpu_Hook".into();
            },
        ),
        ("module-not-loaded", "error", "write mesos_gpu_Allocator", |s| {
            s.flag("allocator", "mesos_gpu_allocator")
        }),
        (
            "modules-not-used",
            "warning",
            "--allocator=mesos_gpu_Allocator",
            |s| s.without("allocator"),
        ),
        ("filter-off", "warning", "set policy to open", |s| {
            s.flag("filter_gpu_resources", "false")
        }),
        ("filter-off", "warning", "set policy to open", |s| {
            s.argv.push("--no-filter_gpu_resources".to_owned())
        }),
        (
            "sorter-not-read",
            "warning",
            "set the parameter role_sorter",
            |s| s.flag("role_sorter", "random"),
        ),
        (
            "gpus-in-fair-share",
            "note",
            "excluded_resource_names=gpus",
            |s| {
                s.flag("fair_sharing_excluded_resource_names", "disk");
            },
        ),
        ("hook-in-master", "warning", "take mesos_gpu_Hook out", |s| {
            s.load("mesos_gpu_Hook");
            s.flag("hooks", "mesos_gpu_Hook");
        }),
        ("flag-of-the-other", "error", "to the agent", |s| {
            s.flag("isolation", "cgroups/devices")
        }),
        ("metrics-folder", "warning", "make the folder", |s| {
            s.parameter("metrics_file", "/none/gpus.prom")
        }),
    ];
    seed(Setup::master, cases);
}
