// SPDX-License-Identifier: Apache-2.0
//! What a program in an image sees on an agent with Mesos's own `gpu/nvidia`, by each way of launching it: the ground on
//! which anything that replaces that isolator is compared. Where the built-in does badly, that is written down here too.

use std::fs;

use fake_nvml::DriverFiles;
use testbed::bed::images::Image;
use testbed::image_probe::Sight;
use testbed::operator::LaunchContainer;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};
use testbed::{AgentBuilder, Testbed};

use crate::cluster::{
    ONE_GPU, PATIENCE, PROBE, SMALL, cluster, probe_image, said, sandbox, seen, standalone,
};

const ALL_NODES: [&str; 5] = [
    "nvidia-uvm",
    "nvidia-uvm-tools",
    "nvidia0",
    "nvidia1",
    "nvidiactl",
];

fn with_built_in(agent: AgentBuilder) -> AgentBuilder {
    agent
        .isolation("cgroups/devices,filesystem/linux,docker/runtime,gpu/nvidia")
        .flag("nvidia_gpu_devices", "0,1")
        .resources("cpus:4;mem:4096;disk:4096;gpus:2")
}

/// What the built-in does for a container with one GPU, whoever launched it: every node is there, one GPU opens, and the
/// driver is found by the environment.
fn assert_built_in(seen: &Sight, driver: &DriverFiles) {
    let mut nodes = seen.nvidia_nodes();
    nodes.sort_unstable();
    assert_eq!(nodes, ALL_NODES, "the built-in shows every image every node");
    let gpus: Vec<_> = ["nvidia0", "nvidia1"]
        .iter()
        .filter(|name| seen.nodes[**name].is_open())
        .collect();
    assert_eq!(gpus.len(), 1, "{:?}", seen.nodes);
    assert!(seen.nodes["nvidiactl"].is_open());
    let smi = seen.smi.as_ref().unwrap();
    assert_eq!(smi.path, "/usr/local/nvidia/bin/nvidia-smi");
    assert!(smi.success && smi.output.contains(driver.version()), "{smi:?}");
    assert_eq!(smi.output.matches("GPU ").count(), 1, "{smi:?}");
    let cuda = format!("/usr/local/nvidia/lib64/libcuda.so.{}", driver.version());
    assert_eq!(seen.cuda.as_ref(), Ok(&cuda));
    let volume = seen.mount("/usr/local/nvidia").unwrap();
    assert!(volume.options.starts_with("ro"), "{volume:?}");
    // Its list of names is from 2016.
    let has = |stem: &str| {
        seen.driver_files
            .iter()
            .any(|file| file.starts_with(&format!("lib64/{stem}.so")))
    };
    assert!(
        has("libnvidia-ml") && has("libnvidia-ptxjitcompiler"),
        "{:?}",
        seen.driver_files
    );
    assert!(!has("libnvidia-nvvm") && !has("libnvidia-gpucomp") && !has("libnvidia-unheardof"));
    // It relies on LD_LIBRARY_PATH, which does not reach everyone.
    let bare = seen.bare.as_ref().unwrap();
    assert!(bare.cuda.is_err(), "{:?}", bare.cuda);
    assert!(!bare.smi.as_ref().unwrap().success);
}

#[test]
fn ROOT_CGROUPS_a_standalone_container_in_an_image_sees_the_built_ins_driver() {
    let images = [
        probe_image("probe"),
        Image::new("plain")
            .env("PATH=/bin")
            .program_with_libraries(&Testbed::image_probe().unwrap()),
    ];
    let Some(cluster) = cluster(&images, with_built_in) else {
        return;
    };
    let seen = standalone(&cluster.agent, "one", "probe".into(), &ONE_GPU);
    assert_built_in(&seen, &cluster.driver);
    assert!(
        seen.params.is_some(),
        "a simulated driver is in the container's own /proc"
    );
    // An image that does not ask gets no driver, though it has a GPU; and every node all the same.
    let plain = standalone(&cluster.agent, "two", "plain".into(), &ONE_GPU);
    assert!(plain.cuda.is_err() && plain.smi.is_none() && plain.driver_files.is_empty());
    assert_eq!(plain.nvidia_nodes().len(), ALL_NODES.len());
    // Without GPUs the driver is there for an image that asks, and the control nodes open.
    let none = standalone(&cluster.agent, "three", "probe".into(), &SMALL);
    assert!(none.cuda.is_ok());
    assert_eq!(none.open_nodes(), ["nvidia-uvm", "nvidia-uvm-tools", "nvidiactl"]);
}

#[test]
fn ROOT_CGROUPS_tasks_and_nested_containers_in_an_image_see_the_built_ins_driver() {
    let Some(cluster) = cluster(&[probe_image("probe")], with_built_in) else {
        return;
    };
    let (agent, driver) = (&cluster.agent, &cluster.driver);
    let framework = Framework::subscribe(cluster.master.address(), &FrameworkOptions::named("test")).unwrap();
    let probe = |id: &str| Task::new(id, PROBE).arguments(&[PROBE]).image("probe");
    let finished = |id: &str| {
        let update = framework.wait_terminal(id, PATIENCE).unwrap();
        assert_eq!(update.state, "TASK_FINISHED", "{update:?}\n{}", agent.log());
    };

    // A command task: the executor stays outside, the task does not.
    let offer = framework.offer_with(&ONE_GPU, PATIENCE).unwrap();
    framework
        .launch(&offer, &[probe("command").resources(&ONE_GPU)])
        .unwrap();
    finished("command");
    assert_built_in(&seen(&sandbox(agent, &framework, "command")), driver);

    // A task of the default executor, which is a nested container with a root of its own.
    let grouped = |id: &str, share: bool| {
        let executor = ExecutorSpec::default_executor(&format!("executor-of-{id}"));
        let offer = framework.offer_with(&ONE_GPU, PATIENCE).unwrap();
        let task = probe(id).resources(&ONE_GPU).share_cgroups(share);
        framework.launch_group(&offer, &executor, &[task]).unwrap();
        finished(id);
        let runs = sandbox(agent, &framework, &format!("executor-of-{id}")).join("containers");
        seen(&fs::read_dir(runs).unwrap().next().unwrap().unwrap().path())
    };
    assert_built_in(&grouped("sharing", true), driver);
    // In cgroups of its own it holds GPUs that it cannot open.
    let apart = grouped("apart", false);
    assert_eq!(apart.nvidia_nodes().len(), ALL_NODES.len());
    assert_eq!(apart.open_nodes(), Vec::<&str>::new());

    // A nested container of a standalone one, which has the GPU of its parent.
    let operator = agent.operator();
    let parent = LaunchContainer::new(&["parent"], "sleep 1000").resources(&ONE_GPU);
    operator.launch_container(&parent).unwrap();
    let nested = LaunchContainer::new(&["parent", "kid"], PROBE)
        .arguments(&[PROBE])
        .image("probe");
    operator.launch_nested_container(&nested).unwrap();
    let ended = operator.wait_container(&["parent", "kid"]).unwrap();
    let kid = agent.work_dir().join("containers/parent/containers/kid");
    assert_eq!(ended.code(), Some(0), "{ended:?}\n{}", said(&kid));
    assert_built_in(&seen(&kid), driver);
    assert!(cluster.bed.folder().is_dir());
}
