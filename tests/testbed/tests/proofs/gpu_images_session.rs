// SPDX-License-Identifier: Apache-2.0
//! A debugging session in a task with an image sees what the task sees and is told the same way to the driver, also when the
//! agent that launched the task is gone.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use testbed::image_probe::Sight;
use testbed::operator::LaunchContainer;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};

use crate::common;
use common::PATIENCE;
use common::images::{Cluster, PROBE, probe_image, resources};

fn look(cluster: &Cluster, task: &[String], name: &str) -> Sight {
    let path: Vec<&str> = task.iter().map(String::as_str).chain([name]).collect();
    let launch = LaunchContainer::new(&path, PROBE).arguments(&[PROBE]);
    let output = cluster.agent.operator().launch_nested_session(&launch);
    let output = output.unwrap_or_else(|error| panic!("{error}\n{}", cluster.agent.log()));
    let seen = Sight::from_output(&output.stdout);
    seen.unwrap_or_else(|error| panic!("{error}: {}", output.stderr))
}

#[test]
fn ROOT_CGROUPS_a_debugging_session_finds_the_driver_and_the_gpus_of_its_task_also_after_a_restart() {
    if common::lacking("sessions in images") {
        return;
    }
    let mut cluster = Cluster::with(&[probe_image("probe")], &[], |agent| {
        agent.image_backend("overlay")
    });
    let options = FrameworkOptions {
        checkpoint: true,
        ..FrameworkOptions::named("sessions")
    };
    let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
    let wanted: Vec<_> = resources(1).into_iter().chain([("disk", 32.0)]).collect();
    let offer = framework.offer_with(&wanted, PATIENCE).unwrap();
    let executor = ExecutorSpec::default_executor("executor");
    let task = Task::new("task", "sleep 1000")
        .image("probe")
        .resources(&resources(1));
    framework.launch_group(&offer, &executor, &[task]).unwrap();
    let running = framework.wait_state("task", "TASK_RUNNING", PATIENCE).unwrap();
    cluster.assert_has(&look(&cluster, &running.container, "before"), 1);

    cluster.agent.kill9().unwrap();
    cluster.agent.restart().unwrap();
    cluster.agent.wait_registered(PATIENCE).unwrap();
    cluster.assert_has(&look(&cluster, &running.container, "after"), 1);
}
