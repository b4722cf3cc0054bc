// SPDX-License-Identifier: Apache-2.0
//! Tasks that follow each other on the same GPUs without a pause, while the driver needs a moment to let go of the one
//! before: none fails.
//!
//! `MESOS_GPU_ROUNDS` says how often, `MESOS_GPU_SEED` from which seed the moments are drawn.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use common::random::{Random, setting};
use common::{Cluster, PATIENCE, assert_all_free, eventually, grants, launch};
use fake_nvml::{Fault, Machine, Process, Simulation};
use testbed::scheduler::{Framework, FrameworkOptions, Task};

const GPUS: u32 = 4;
/// Within this the driver lets go.
const MOMENTS: u64 = 300;

/// A driver that lists a process on every GPU.
struct Driver<'a> {
    simulation: &'a Simulation,
    idle: Machine,
}

impl Driver<'_> {
    fn busy(&self) {
        let mut machine = self.idle.clone();
        for gpu in &mut machine.gpus {
            gpu.processes = vec![Process {
                pid: 4_000_000,
                used_memory: None,
                sm_util: 0,
                mem_util: 0,
                gpu_instance: None,
                compute_instance: None,
            }];
        }
        self.simulation.update(&machine).unwrap();
    }

    fn idle(&self) {
        self.simulation.update(&self.idle).unwrap();
    }
}

/// A command that runs until the file is there.
fn until(file: &Path) -> String {
    format!("until test -e {}; do sleep 0.02; done", file.display())
}

#[test]
fn ROOT_CGROUPS_no_task_fails_that_follows_another_on_gpus_which_the_driver_is_slow_to_let_go() {
    if common::lacking("tasks that follow each other") {
        return;
    }
    let rounds = setting("MESOS_GPU_ROUNDS", 15);
    let mut random = Random::new(setting("MESOS_GPU_SEED", 0x5eed));
    // NVML itself takes its time too.
    let machine = Machine::with_gpus(GPUS).fault(Fault::delay("nvmlDeviceGetComputeRunningProcesses", 5));
    let cluster = Cluster::start(&machine);
    let options = FrameworkOptions::named("gpu-back-to-back");
    let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
    let (agent, operator) = (&cluster.agent, cluster.agent.operator());
    let driver = Driver {
        simulation: agent.simulation().unwrap(),
        idle: machine.clone(),
    };
    let mut longest = Duration::ZERO;
    for round in 0..rounds {
        let (task, container) = (format!("t{round}"), format!("c{round}"));
        let [task_ends, container_ends] =
            [&task, &container].map(|name| cluster.bed.folder().join(format!("{name}-ends")));

        let since = Instant::now();
        let offer = framework.offer_with(&[("gpus", GPUS.into())], PATIENCE).unwrap();
        let info = Task::new(&task, &until(&task_ends)).resources(&[
            ("cpus", 0.1),
            ("mem", 32.0),
            ("gpus", GPUS.into()),
        ]);
        framework.launch(&offer, &[info]).unwrap();
        let running = framework.wait_state(&task, "TASK_RUNNING", PATIENCE);
        if let Err(why) = running {
            panic!("round {round}: {why}\n{}", agent.log());
        }
        longest = longest.max(since.elapsed());
        driver.busy();
        std::fs::write(&task_ends, "").unwrap();
        let ended = framework.wait_terminal(&task, PATIENCE).unwrap();
        assert_eq!(
            ended.state,
            "TASK_FINISHED",
            "round {round}: {ended}\n{}",
            agent.log()
        );

        // The next one is there before the driver let go.
        let moment = random.moment(MOMENTS);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(moment);
                driver.idle();
            });
            if let Err(refusal) = launch(agent, &container, GPUS.into(), &until(&container_ends)) {
                panic!("round {round}: {refusal}\n{}", agent.log());
            }
        });
        let held = grants(agent)[&container].len();
        assert_eq!(held, usize::try_from(GPUS).unwrap(), "round {round}");
        driver.busy();
        std::fs::write(&container_ends, "").unwrap();
        let ended = operator.wait_container(&[&container]).unwrap();
        assert_eq!(ended.code(), Some(0), "round {round}: {ended:?}");

        let moment = random.moment(MOMENTS);
        thread::sleep(moment);
        driver.idle();
    }
    println!("the longest launch of {rounds} took {longest:?}");
    eventually("the last executor to go", || {
        operator.containers().unwrap().is_empty().then_some(())
    });
    assert_all_free(agent, &machine);
}
