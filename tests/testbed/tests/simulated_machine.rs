// SPDX-License-Identifier: Apache-2.0
//! An agent on a simulated NVIDIA machine: what the kernel allows its containers is real.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

use std::path::Path;
use std::time::Duration;

use testbed::operator::LaunchContainer;
use testbed::{Testbed, support};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn ROOT_CGROUPS_mesos_own_gpu_isolator_runs_on_a_simulated_machine() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&format!("an agent on a simulated machine: {lacking}"));
    }
    let scratch = tempfile::tempdir().unwrap();
    // Mesos's own isolator cannot read the loader cache of today's glibc.
    if let Err(error) = fake_nvml::trimmed_loader_cache(&scratch.path().join("ld.so.cache")) {
        return support::skip(&format!("Mesos's own GPU isolator: {error}"));
    }
    let bed = Testbed::new().unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let agent = bed
        .agent()
        .machine(&fake_nvml::Machine::with_gpus(2))
        .loader_cache()
        .isolation("cgroups/devices,filesystem/linux,gpu/nvidia")
        .flag("nvidia_gpu_devices", "0,1")
        .resources("cpus:4;mem:4096;disk:4096;gpus:2");
    let mut agent = agent.start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    assert!(agent.simulation().is_some_and(|machine| machine.has_nodes()));
    let launch =
        LaunchContainer::new(&["c"], "sleep 1000").resources(&[("cpus", 0.1), ("mem", 32.0), ("gpus", 1.0)]);
    agent.operator().launch_container(&launch).unwrap();
    let rules = agent.device_rules().unwrap();
    let granted = rules[Path::new("c")]
        .iter()
        .filter(|rule| matches!(rule.as_str(), "c 195:0 rwm" | "c 195:1 rwm"));
    assert_eq!(granted.count(), 1, "{rules:?}");
    let host = std::fs::read_dir("/dev").unwrap().flatten();
    assert!(
        !host.into_iter().any(|node| node.file_name() == "nvidia0"),
        "the host's /dev is untouched"
    );
}

#[test]
fn ROOT_CGROUPS_an_agent_with_a_loader_cache_of_its_own_sees_it_alone() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&format!("an agent with a loader cache of its own: {lacking}"));
    }
    let scratch = tempfile::tempdir().unwrap();
    let cache = scratch.path().join("ld.so.cache");
    if let Err(error) = fake_nvml::trimmed_loader_cache(&cache) {
        return support::skip(&format!("an agent with a loader cache of its own: {error}"));
    }
    let (trimmed, whole) = (std::fs::read(&cache), std::fs::read("/etc/ld.so.cache"));
    assert_ne!(trimmed.as_ref().unwrap(), whole.as_ref().unwrap());
    let bed = Testbed::new().unwrap();
    let mut agent = bed.agent().own_loader_cache().start().unwrap();
    agent.wait_ready(PATIENCE).unwrap();
    let operator = agent.operator();
    let launch = LaunchContainer::new(&["c"], "cp /etc/ld.so.cache seen; cp -r /var/run/mesos volumes");
    operator.launch_container(&launch).unwrap();
    assert_eq!(operator.wait_container(&["c"]).unwrap().code(), Some(0));
    let sandbox = agent.work_dir().join("containers/c");
    assert_eq!(std::fs::read(sandbox.join("seen")).unwrap(), trimmed.unwrap());
    let volumes = std::fs::read_dir(sandbox.join("volumes")).unwrap();
    assert_eq!(volumes.count(), 0, "what the machine has there is not seen");
    assert_eq!(
        std::fs::read("/etc/ld.so.cache").unwrap(),
        whole.unwrap(),
        "the machine's is as it was"
    );
}
