// SPDX-License-Identifier: Apache-2.0
//! What an operator or a framework gets wrong is refused with one line that says what it was and how to mend it, and
//! costs nothing else.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use common::{Cluster, ISOLATION, PATIENCE, assert_all_free, gpu_agent_with, launch, log_lines};
use fake_nvml::Machine;
use testbed::scheduler::{Framework, FrameworkOptions, Task};
use testbed::{AgentBuilder, Testbed, support};

/// Parameters, and what the refusal must say.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

/// Starts an agent that must end by itself, with exactly one line of ours that has all of these texts.
fn refuses(agent: AgentBuilder, texts: &[&str]) {
    let mut agent = agent.start().unwrap();
    let error = agent.wait_ready(PATIENCE).unwrap_err().to_string();
    assert!(
        error.contains("it ended with exit status: 1"),
        "{texts:?}: {error}"
    );
    let log = agent.log();
    let lines = log_lines(&log, &["mesos_gpu: cannot create the module: "]);
    assert_eq!(lines.len(), 1, "{texts:?}: {log}");
    for text in texts {
        assert!(lines[0].contains(text), "{text:?} is not in: {}", lines[0]);
    }
}

#[test]
fn ROOT_CGROUPS_wrong_parameters_keep_the_agent_from_starting_and_one_line_says_why() {
    if common::lacking("wrong parameters") {
        return;
    }
    let (bed, machine) = (Testbed::new().unwrap(), Machine::with_gpus(2));
    let cases: [Case<'_>; 6] = [
        (
            &[("gpu", "all")],
            &[
                "parameter gpu=\"all\" does not exist (nearest: gpus)",
                "; accepted: gpus, nvml_library, ",
            ],
        ),
        (
            &[("nvml_timeout", "soon")],
            &[
                "parameter nvml_timeout=\"soon\": it is no number with a unit",
                "; accepted: a duration above 0",
            ],
        ),
        (
            &[("gpus", "2-1")],
            &[
                "parameter gpus=\"2-1\": ",
                "the range is reversed",
                "accepted: all, or a comma list of",
            ],
        ),
        (
            &[("gpus", "0"), ("gpus", "1")],
            &["parameter gpus of mesos_gpu_Isolator is given twice, as \"0\" and as \"1\"; give it once"],
        ),
        (
            &[("gpus", "0,7")],
            &[
                "parameter gpus: \"7\" does not exist; there are 0 = GPU-",
                ", 1 = GPU-",
            ],
        ),
        (
            &[("gpus", "GPU-00000000-0000-0000-0000-000000000000")],
            &[
                "parameter gpus: \"GPU-00000000-0000-0000-0000-000000000000\" does not exist; there are 0 = GPU-",
            ],
        ),
    ];
    for (parameters, texts) in cases {
        refuses(gpu_agent_with(&bed, parameters).machine(&machine), texts);
    }
}

#[test]
fn ROOT_CGROUPS_modules_and_flags_that_contradict_each_other_keep_the_agent_from_starting() {
    if common::lacking("contradictions") {
        return;
    }
    let (bed, machine) = (Testbed::new().unwrap(), Machine::with_gpus(2));
    let modules_differ = bed
        .agent()
        .machine(&machine)
        .isolation(ISOLATION)
        .hooks("mesos_gpu_Hook")
        .module("mesos_gpu_Isolator", &[("gpus", "0")])
        .module("mesos_gpu_Hook", &[("gpus", "all")]);
    refuses(
        modules_differ,
        &[
            "parameter gpus is \"all\" for mesos_gpu_Hook and \"0\" for mesos_gpu_Isolator, which share it; give it \
             to one module, or the same value to both",
        ],
    );
    refuses(
        gpu_agent_with(&bed, &[])
            .machine(&machine)
            .isolation("filesystem/linux,mesos_gpu_Isolator"),
        &[
            "--isolation=\"filesystem/linux,mesos_gpu_Isolator\" names neither cgroups/devices nor cgroups/all",
            "; add cgroups/devices to --isolation",
        ],
    );
    refuses(
        gpu_agent_with(&bed, &[])
            .machine(&machine)
            .resources("cpus:4;mem:4096;disk:4096;gpus:3"),
        &[
            "--resources=\"cpus:4;mem:4096;disk:4096;gpus:3\": it advertises 3 gpus and 2 are managed; make it gpus:2",
            ", or leave gpus out of --resources",
        ],
    );
}

#[test]
fn ROOT_CGROUPS_the_built_in_gpu_isolator_beside_ours_keeps_the_agent_from_starting() {
    let scratch = tempfile::tempdir().unwrap();
    // The built-in is made first, so it must work, and it cannot read the loader cache of today's glibc.
    if let Err(error) = fake_nvml::trimmed_loader_cache(&scratch.path().join("ld.so.cache")) {
        return support::skip(&format!("the built-in GPU isolator beside ours: {error}"));
    }
    if common::lacking("the built-in GPU isolator beside ours") {
        return;
    }
    let bed = Testbed::new().unwrap();
    let agent = gpu_agent_with(&bed, &[])
        .machine(&Machine::with_gpus(2))
        .loader_cache()
        .isolation("cgroups/devices,filesystem/linux,gpu/nvidia,mesos_gpu_Isolator")
        .flag("nvidia_gpu_devices", "0,1")
        .resources("cpus:4;mem:4096;disk:4096;gpus:2");
    refuses(
        agent,
        &[
            "names gpu/nvidia and mesos_gpu_Isolator, which would both hand out the same GPUs; remove gpu/nvidia from \
             --isolation",
        ],
    );
}

#[test]
fn ROOT_CGROUPS_a_number_of_gpus_that_cannot_be_given_fails_the_launch_with_the_numbers_and_loses_nothing() {
    if common::lacking("numbers of GPUs that cannot be given") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let cluster = Cluster::start(&machine);
    let agent = &cluster.agent;
    launch(agent, "holder", 1.0, "sleep 1000").unwrap();
    for (gpus, says) in [
        // These two do not get past Mesos's own check of the call.
        (0.5, "The 'gpus' resource must be an unsigned integer"),
        (-1.0, "Resource 'gpus:-1' is invalid"),
        // That check takes this for 1.
        (1.001, "mesos_gpu: gpus must be whole numbers: asked for 1.001"),
        (4.0, "4 more wanted, 3 of 4 free"),
        (5.0, "5 more wanted, 3 of 4 free"),
        (2e6, "mesos_gpu: gpus must be at most 1000000: asked for 2000000"),
    ] {
        let error = launch(agent, &common::fresh_id("bad"), gpus, "true").unwrap_err();
        assert!(error.body().contains(says), "{gpus}: {error}");
    }
    let says = "mesos_gpu: gpus must be whole numbers: asked for 1.001";
    let message = message_of_failed_task(&cluster, 1.001);
    assert!(message.contains(says), "{message}");
    assert_eq!(common::grants(agent).keys().collect::<Vec<_>>(), ["holder"]);
    // Mesos books three digits, so this is 3.
    launch(agent, "rounded", 3.0004, "sleep 1000").unwrap();
    assert_eq!(common::grants(agent)["rounded"].len(), 3);
    for id in ["rounded", "holder"] {
        common::end(agent, id);
    }
    assert_all_free(agent, &machine);
}

/// What a framework is told of a task with so many GPUs, which must fail.
fn message_of_failed_task(cluster: &Cluster, gpus: f64) -> String {
    let options = FrameworkOptions::named("gpu-bad-input");
    let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
    let offer = framework.offer_with(&[("gpus", gpus)], PATIENCE).unwrap();
    let task = Task::new("bad", "true").resources(&[("cpus", 0.1), ("mem", 32.0), ("gpus", gpus)]);
    framework.launch(&offer, &[task]).unwrap();
    let ended = framework.wait_terminal("bad", PATIENCE).unwrap();
    assert_eq!(ended.state, "TASK_FAILED", "{ended}");
    ended.message.unwrap_or_default()
}
