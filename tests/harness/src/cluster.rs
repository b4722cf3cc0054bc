// SPDX-License-Identifier: Apache-2.0
//! The real master and agent of a test that launches tasks. Which test needs what is told here, because processes are
//! started here and only spoken to by the tests.

use std::path::Path;
use std::time::Duration;

use fake_nvml::{DriverTree, Machine};
use testbed::bed::images::Image;
use testbed::{Agent, AgentBuilder, Error, Master, Testbed};

use crate::world::{GPUS, World};

const PATIENCE: Duration = Duration::from_secs(60);
const ISOLATION: &str = "filesystem/linux,cgroups/devices,mesos_gpu_Isolator";

/// A master and an agent; they go with this.
#[derive(Debug)]
pub struct Cluster {
    agent: Agent,
    _master: Master,
    _bed: Testbed,
}

impl Cluster {
    /// What the agent said.
    pub fn log(&self) -> String {
        format!("\nthe agent:\n{}", self.agent.log())
    }
}

/// What an agent has besides GPUs.
enum Agents {
    /// Nothing: modules.json as it is shipped.
    Plain,
    /// One of its GPUs to hand out, and images.
    Images,
}

/// The cluster for a test, which the world's variables then name; none for one that launches no tasks.
///
/// # Errors
/// It could not be started.
pub fn of(name: &str, world: &mut World) -> Result<Option<Cluster>, Error> {
    let kind = match name.rsplit('_').next().unwrap_or_default() {
        "VerifyDeviceAccess" | "FractionalResources" | "DefaultExecutorVerifyDeviceAccess" => Agents::Plain,
        "NvidiaDockerImage" | "TensorflowGpuImage" => Agents::Images,
        _ => return Ok(None),
    };
    let bed = Testbed::new()?;
    let mut master = bed.master().start()?;
    master.wait_ready(PATIENCE)?;
    let machine = Machine::with_gpus(GPUS);
    let driver = DriverTree::new(&bed.folder().join("driver"))
        .version(&machine.driver_version)
        .lay_out()
        .map_err(|error| Error::new("lay out a driver", error))?;
    let agent = bed
        .agent()
        .hooks("mesos_gpu_Hook")
        .machine(&machine)
        .driver(&driver);
    let agent = match kind {
        Agents::Plain => agent.isolation(ISOLATION).repository_modules(),
        Agents::Images => with_images(agent, &bed, driver.folder())?,
    };
    let mut agent = agent.start()?;
    agent.wait_registered(PATIENCE)?;
    world.set("HARNESS_MASTER", master.address());
    world.set("HARNESS_DRIVER", driver.folder().display().to_string());
    Ok(Some(Cluster {
        agent,
        _master: master,
        _bed: bed,
    }))
}

fn with_images(agent: AgentBuilder, bed: &Testbed, driver: &Path) -> Result<AgentBuilder, Error> {
    let registry = bed.folder().join("images");
    // What Docker's own images of those names say of themselves, as far as it matters here.
    let cuda = image("nvidia/cuda")?.label("com.nvidia.volumes.needed", "nvidia_driver");
    let tensorflow = image("tensorflow/tensorflow")?.tag("latest-gpu");
    for image in [cuda, tensorflow.env("NVIDIA_VISIBLE_DEVICES=all")] {
        image.write_to(&registry)?;
    }
    // As a distribution has it below its root.
    std::os::unix::fs::symlink(".", driver.join("usr"))
        .map_err(|error| Error::new("lay out a driver", error))?;
    let root = driver.display().to_string();
    Ok(agent
        .isolation(&format!("docker/runtime,{ISOLATION}"))
        .images(&registry)
        .module("mesos_gpu_Isolator", &[("gpus", "0"), ("driver_root", &root)])
        .module("mesos_gpu_Hook", &[]))
}

/// An image with what the tests' commands are made of. The probe also brings what the simulated driver is linked against.
fn image(name: &str) -> Result<Image, Error> {
    let probe = Testbed::image_probe()?;
    let programs = [Path::new("/bin/sh"), Path::new("/bin/grep"), &probe];
    let empty = Image::new(name).env("PATH=/bin");
    Ok(programs.into_iter().fold(empty, Image::program_with_libraries))
}
