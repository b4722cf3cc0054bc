// SPDX-License-Identifier: Apache-2.0
//! Images on a simulated machine with a driver, and what a program in one sees there. The probe's own words are compared
//! with the machine, not with what we believe to have mounted.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

mod sight;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use fake_nvml::{DriverFiles, DriverTree, Machine};
use nix::errno::Errno;
use testbed::bed::images::Image;
use testbed::image_name::ImageName;
use testbed::image_probe::Sight;
use testbed::operator::LaunchContainer;
use testbed::scheduler::{Framework, FrameworkOptions, Task};
use testbed::{Agent, AgentBuilder, Master, Testbed};

use super::{PATIENCE, gpu_agent_with};

pub use sight::{assert_driver, assert_no_driver, assert_no_nodes, assert_nodes};

/// The probe in an image.
pub const PROBE: &str = "/bin/image-probe";

/// Where the driver is in an image.
pub const DRIVER: &str = "/usr/local/nvidia";

/// A driver's version that no simulated machine starts with.
pub const NEXT_VERSION: &str = "590.48.01";

/// What a container here asks for.
pub fn resources(gpus: u32) -> Vec<(&'static str, f64)> {
    let mut all = vec![("cpus", 0.1), ("mem", 32.0)];
    if gpus > 0 {
        all.push(("gpus", gpus.into()));
    }
    all
}

/// An image with the probe in it, and a shell for what has to wait. It says nothing of GPUs.
pub fn plain_image(name: &str) -> Image {
    [Path::new("/bin/sh"), Path::new("/bin/sleep")]
        .into_iter()
        .fold(Image::new(name).env("PATH=/bin"), Image::program_with_libraries)
        .program_with_libraries(&stripped(&Testbed::image_probe().unwrap()))
}

/// The program without what only a debugger reads, so that images are small; as it is where nothing can strip it. The copy
/// stays beside it for the next run.
pub fn stripped(program: &Path) -> PathBuf {
    let folder = program.with_file_name("stripped");
    let (small, part) = (
        folder.join(program.file_name().unwrap()),
        folder.join(super::fresh_id(&format!("part{}-", std::process::id()))),
    );
    let time = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    if time(&small) > time(program) {
        return small;
    }
    fs::create_dir_all(&folder).unwrap();
    let strip = Command::new("strip").arg("-o").arg(&part).arg(program).status();
    if !strip.is_ok_and(|status| status.success()) {
        return program.to_owned();
    }
    fs::rename(&part, &small).unwrap();
    small
}

/// The same, asking for the driver.
pub fn probe_image(name: &str) -> Image {
    plain_image(name).env("NVIDIA_VISIBLE_DEVICES=all")
}

/// A driver's files in a folder that can be a `driver_root`, as a distribution has them below its root.
pub fn lay_out_driver(folder: &Path, version: &str) -> DriverFiles {
    lay_out_root(&DriverTree::new(folder).version(version))
}

/// The same for a driver of one's own.
pub fn lay_out_root(tree: &DriverTree) -> DriverFiles {
    let driver = tree.lay_out().unwrap();
    let usr = driver.folder().join("usr");
    if usr.symlink_metadata().is_err() {
        symlink(".", usr).unwrap();
    }
    driver
}

/// A master and an agent that has images, GPUs and a driver.
pub struct Cluster {
    pub agent: Agent,
    pub master: Master,
    pub machine: Machine,
    pub driver: DriverFiles,
    pub bed: Testbed,
}

impl Cluster {
    /// Starts them on a machine of two GPUs.
    pub fn start(images: &[Image]) -> Self {
        Self::with(images, &[], |agent| agent)
    }

    /// The same with parameters for the isolator and an agent of one's own.
    pub fn with(
        images: &[Image],
        parameters: &[(&str, &str)],
        set_up: impl FnOnce(AgentBuilder) -> AgentBuilder,
    ) -> Self {
        let bed = Testbed::new().unwrap();
        let machine = Machine::with_gpus(2);
        let driver = lay_out_driver(&bed.folder().join("driver"), &machine.driver_version);
        let mut master = bed.master().start().unwrap();
        master.wait_ready(PATIENCE).unwrap();
        let mut agent = set_up(agent(&bed, images, &driver, parameters).machine(&machine))
            .start()
            .unwrap();
        agent.wait_registered(PATIENCE).unwrap();
        Self {
            agent,
            master,
            machine,
            driver,
            bed,
        }
    }

    /// A framework of this cluster.
    pub fn framework(&self) -> Framework {
        Framework::subscribe(self.master.address(), &FrameworkOptions::named("images")).unwrap()
    }

    /// What the probe sees in a standalone container.
    pub fn look(&self, id: &str, image: impl Into<ImageName>, gpus: u32) -> Sight {
        let launch = probe(&[id], image).resources(&resources(gpus));
        self.agent.operator().launch_container(&launch).unwrap();
        ended(&self.agent, &[id])
    }

    /// Asserts that a sight is that of a container with `gpus` GPUs and the driver.
    pub fn assert_has(&self, seen: &Sight, gpus: usize) {
        assert_nodes(seen, &self.machine, gpus);
        assert_driver(seen, &self.driver);
    }
}

/// An agent with images from a folder of the bed, and our isolator on this driver.
pub fn agent(
    bed: &Testbed,
    images: &[Image],
    driver: &DriverFiles,
    parameters: &[(&str, &str)],
) -> AgentBuilder {
    let registry = bed.folder().join("images");
    fs::create_dir_all(&registry).unwrap();
    for image in images {
        image.write_to(&registry).unwrap();
    }
    let root = driver.folder().display().to_string();
    let parameters = [parameters, &[("driver_root", root.as_str())]].concat();
    gpu_agent_with(bed, &parameters).images(&registry)
}

/// A container that is the probe.
pub fn probe(id: &[&str], image: impl Into<ImageName>) -> LaunchContainer {
    LaunchContainer::new(id, PROBE).arguments(&[PROBE]).image(image)
}

/// A task that is the probe.
pub fn probe_task(id: &str, image: impl Into<ImageName>, gpus: u32) -> Task {
    Task::new(id, PROBE)
        .arguments(&[PROBE])
        .image(image)
        .resources(&resources(gpus))
}

/// Waits for the probe in a container without executor, and says what it saw.
pub fn ended(agent: &Agent, id: &[&str]) -> Sight {
    let ended = agent.operator().wait_container(id).unwrap();
    let sandbox = agent.work_dir().join("containers").join(id.join("/containers/"));
    assert_eq!(
        ended.code(),
        Some(0),
        "{ended:?}\n{}\n{}",
        said(&sandbox),
        agent.log()
    );
    seen(&sandbox)
}

/// Why a launch fails or a container ends otherwise than well; none where it ends well.
pub fn refused(agent: &Agent, launch: &LaunchContainer) -> Option<String> {
    let operator = agent.operator();
    if let Err(error) = operator.launch_container(launch) {
        return Some(error.to_string());
    }
    let ended = operator.wait_container(&launch.id).unwrap();
    let sandbox = agent.work_dir().join("containers").join(&launch.id[0]);
    (ended.code() != Some(0)).then(|| format!("{ended:?}: {}", said(&sandbox)))
}

/// What a container printed.
pub fn said(sandbox: &Path) -> String {
    let read = |name: &str| fs::read_to_string(sandbox.join(name)).unwrap_or_default();
    format!("{}{}", read("stdout"), read("stderr"))
}

/// What the probe saw.
pub fn seen(sandbox: &Path) -> Sight {
    Sight::from_output(&said(sandbox)).unwrap()
}

/// The sandbox of an executor's run.
pub fn sandbox(agent: &Agent, framework: &Framework, executor: &str) -> PathBuf {
    let slave = agent.work_dir().join("slaves").join(agent.id().unwrap());
    let executors = slave.join("frameworks").join(framework.id()).join("executors");
    executors.join(executor).join("runs/latest")
}
