// SPDX-License-Identifier: Apache-2.0
//! A cluster whose agent runs images on a simulated machine with a driver, and what a program in an image saw there.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fake_nvml::{DriverFiles, DriverTree, Machine};
use testbed::bed::images::Image;
use testbed::image_name::ImageName;
use testbed::image_probe::Sight;
use testbed::operator::LaunchContainer;
use testbed::scheduler::Framework;
use testbed::{Agent, AgentBuilder, Master, Testbed, support};

pub(super) const PATIENCE: Duration = Duration::from_secs(60);
pub(super) const PROBE: &str = "/bin/image-probe";
pub(super) const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];
pub(super) const ONE_GPU: [(&str, f64); 3] = [("cpus", 0.1), ("mem", 32.0), ("gpus", 1.0)];

/// An image with the probe in it that asks for the driver.
pub(super) fn probe_image(name: &str) -> Image {
    Image::new(name)
        .env("PATH=/bin")
        .env("NVIDIA_VISIBLE_DEVICES=all")
        .program_with_libraries(&Testbed::image_probe().unwrap())
}

/// A cluster with images and a simulated machine of two GPUs.
pub(super) struct Cluster {
    pub(super) agent: Agent,
    pub(super) master: Master,
    pub(super) driver: DriverFiles,
    pub(super) bed: Testbed,
}

/// Starts a cluster whose agent is set up further by `set_up`; `None` where it cannot run.
pub(super) fn cluster(
    images: &[Image],
    set_up: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> Option<Cluster> {
    if let Some(lacking) = support::lacking_for_cgroups() {
        support::skip(&format!("images on a simulated machine: {lacking}"));
        return None;
    }
    let bed = Testbed::new().unwrap();
    let registry = bed.folder().join("images");
    for image in images {
        image.write_to(&registry).unwrap();
    }
    let machine = Machine::with_gpus(2);
    let driver = DriverTree::new(&bed.folder().join("driver"))
        .version(&machine.driver_version)
        .lay_out()
        .unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let agent = bed.agent().images(&registry).machine(&machine).driver(&driver);
    let mut agent = set_up(agent).start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    Some(Cluster {
        agent,
        master,
        driver,
        bed,
    })
}

/// Runs the probe in a standalone container, and says what it saw.
pub(super) fn standalone(agent: &Agent, id: &str, image: ImageName, resources: &[(&str, f64)]) -> Sight {
    let launch = LaunchContainer::new(&[id], PROBE)
        .arguments(&[PROBE])
        .image(image)
        .resources(resources);
    agent.operator().launch_container(&launch).unwrap();
    let ended = agent.operator().wait_container(&[id]).unwrap();
    let sandbox = agent.work_dir().join("containers").join(id);
    assert_eq!(ended.code(), Some(0), "{ended:?}\n{}", said(&sandbox));
    seen(&sandbox)
}

pub(super) fn said(sandbox: &Path) -> String {
    let read = |name: &str| fs::read_to_string(sandbox.join(name)).unwrap_or_default();
    format!("{}{}", read("stdout"), read("stderr"))
}

pub(super) fn seen(sandbox: &Path) -> Sight {
    Sight::from_output(&fs::read_to_string(sandbox.join("stdout")).unwrap()).unwrap()
}

/// The sandbox of an executor's run.
pub(super) fn sandbox(agent: &Agent, framework: &Framework, executor: &str) -> PathBuf {
    let slave = agent.work_dir().join("slaves").join(agent.id().unwrap());
    let executors = slave.join("frameworks").join(framework.id()).join("executors");
    executors.join(executor).join("runs/latest")
}
