// SPDX-License-Identifier: Apache-2.0
//! What Mesos's documentation of GPUs has its readers type works here, with our module's name for the built-in's.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use fake_nvml::Machine;
use testbed::{Testbed, support};

const PATIENCE: Duration = Duration::from_secs(60);

fn execute(bed: &Testbed, flags: &[&str]) -> Output {
    let master = format!("--master={}", bed.master_address());
    Command::new(Testbed::program().unwrap())
        .arg("execute")
        .arg(master)
        .args(flags)
        .output()
        .unwrap()
}

/// Kills its process when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn ROOT_CGROUPS_the_command_of_the_gpu_documentation_runs_a_task_on_a_gpu() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&lacking);
    }
    let bed = Testbed::new().unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let mut agent = bed
        .agent()
        .repository_modules()
        .isolation("filesystem/linux,cgroups/devices,mesos_gpu_Isolator")
        .hooks("mesos_gpu_Hook")
        .machine(&Machine::with_gpus(2))
        .start()
        .unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    let output = execute(
        &bed,
        &[
            "--name=gpu-test",
            "--command=echo $NVIDIA_VISIBLE_DEVICES | grep '^GPU-'",
            "--framework_capabilities=GPU_RESOURCES",
            "--resources=gpus:1",
        ],
    );
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.status.success() && said.contains("TASK_FINISHED"),
        "{said}\n{}",
        agent.log()
    );
}

#[test]
fn an_agent_needs_no_more_flags_than_the_documentation_names() {
    let bed = Testbed::new().unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let work_dir = bed.folder().join("by-hand");
    std::fs::create_dir(&work_dir).unwrap();
    // Without cgroups, so that it works for everybody; port 0 is any that is free.
    let agent = Command::new(Testbed::program().unwrap())
        .args([
            "agent",
            "--ip=127.0.0.1",
            "--port=0",
            "--launcher=posix",
            "--isolation=filesystem/posix",
        ])
        .args(["--no-switch_user", "--resources=cpus:1;mem:128"])
        .arg(format!("--master={}", bed.master_address()))
        .arg(format!("--work_dir={}", work_dir.display()))
        .arg(format!("--runtime_dir={}", work_dir.join("run").display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _agent = Running(agent);
    let output = execute(
        &bed,
        &["--name=by-hand", "--command=true", "--resources=cpus:0.1;mem:32"],
    );
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.status.success() && said.contains("TASK_FINISHED"),
        "{said}"
    );
}
