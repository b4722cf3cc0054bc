// SPDX-License-Identifier: Apache-2.0
//! A running container with an image that gets a further GPU sees and opens its node, although nothing can be mounted in it
//! any more.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::fs;

use testbed::Testbed;
use testbed::image_probe::Sight;
use testbed::scheduler::{ExecutorSpec, Task};

use crate::common;
use common::images::{Cluster, probe_image, resources, said, sandbox, stripped};
use common::{PATIENCE, assert_all_free, eventually};

/// Where the tasks write what they see; the executor's own sandbox.
const SANDBOX: &str = "/mnt/mesos/sandbox";

/// The GPUs' nodes that can be opened, and all nodes of NVIDIA's.
fn nodes(seen: &Sight) -> (Vec<&str>, usize) {
    let mut open = seen.open_nodes();
    open.retain(|name| name["nvidia".len()..].parse::<u32>().is_ok());
    (open, seen.nvidia_nodes().len())
}

#[test]
fn ROOT_CGROUPS_a_container_with_an_image_that_grows_sees_and_opens_the_new_gpu() {
    if common::lacking("images that grow") {
        return;
    }
    let image = probe_image("executor")
        .program_with_libraries(&stripped(&Testbed::program().unwrap()))
        .link("bin/mesos-executor", "testbed");
    let cluster = Cluster::with(std::slice::from_ref(&image), &[], |agent| {
        agent.image_backend("overlay")
    });
    let framework = cluster.framework();
    let executor = ExecutorSpec::custom("grows", "exec /bin/mesos-executor --stay")
        .image("executor")
        .resources(&resources(0));
    let look = |id: &str, gpus: u32| -> Sight {
        let command = format!("image-probe >{SANDBOX}/{id}; echo >{SANDBOX}/{id}.done; sleep 1000");
        let offer = framework.offer_with(&resources(gpus), PATIENCE).unwrap();
        let task = Task::new(id, &command)
            .resources(&resources(gpus))
            .executor(&executor);
        framework.launch(&offer, &[task]).unwrap();
        let running = framework.wait_state(id, "TASK_RUNNING", PATIENCE);
        let folder = sandbox(&cluster.agent, &framework, "grows");
        assert!(
            running.is_ok(),
            "{running:?}\n{}\n{}",
            said(&folder),
            cluster.agent.log()
        );
        eventually("the probe to look", || {
            folder.join(format!("{id}.done")).exists().then_some(())
        });
        Sight::from_output(&fs::read_to_string(folder.join(id)).unwrap()).unwrap()
    };
    let first = look("first", 1);
    let (open, all) = nodes(&first);
    assert_eq!((open.len(), all), (1, 4), "{:?}", first.nodes);
    let second = look("second", 1);
    let (now, all) = nodes(&second);
    assert_eq!(
        (now.as_slice(), all),
        (["nvidia0", "nvidia1"].as_slice(), 5),
        "{:?}",
        second.nodes
    );
    for gpu in &cluster.machine.gpus {
        let node = &second.nodes[&format!("nvidia{}", gpu.minor)];
        assert_eq!((node.major, node.minor), (195, gpu.minor.into()));
        assert_eq!((node.mode, node.user, node.group), (0o666, 0, 0), "{node:?}");
    }
    framework.teardown().unwrap();
    eventually("the executor to go", || {
        cluster
            .agent
            .operator()
            .containers()
            .unwrap()
            .is_empty()
            .then_some(())
    });
    assert_all_free(&cluster.agent, &cluster.machine);
}
