// SPDX-License-Identifier: Apache-2.0
//! A master, and agents with either GPU support on the GPUs in question, all with the same image.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fake_nvml::{DriverFiles, DriverTree, Machine};

use super::host;
use super::options::Options;
use super::programs::{CUDA_CHECK, SIMULATED_CUDA};
use crate::bed::images::Image;
use crate::error::{Error, Tried};
use crate::scheduler::Framework;
use crate::{Agent, AgentBuilder, Master, Testbed};

pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// The image.
pub(super) const IMAGE: &str = "real-gpu";
/// What the driver's files in an image load, whose own needs the image must have, as any image of a distribution does.
const LOADED: [&str; 3] = [
    "libcuda.so.1",
    "libnvidia-ml.so.1",
    "libnvidia-ptxjitcompiler.so.1",
];

/// Which GPU support an agent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Support {
    None,
    BuiltIn,
    Ours,
}

impl Support {
    pub(super) const ALL: [Self; 3] = [Self::None, Self::BuiltIn, Self::Ours];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "no GPU support",
            Self::BuiltIn => "gpu/nvidia",
            Self::Ours => "mesos-gpu",
        }
    }
}

/// What all agents have in common.
pub(super) struct Cluster {
    pub(super) master: Master,
    /// The program that computes, on the host.
    pub(super) cuda_check: PathBuf,
    registry: PathBuf,
    pub(super) simulated: Option<(Machine, DriverFiles)>,
    pub(super) bed: Testbed,
}

impl Cluster {
    pub(super) fn start(options: &Options) -> Result<Self, Error> {
        let bed = Testbed::new()?;
        let cuda_check = CUDA_CHECK.write_to(&bed.folder().join("programs"))?;
        let simulated = match options.simulate {
            true => Some(simulated(&bed.folder().join("driver"))?),
            false => None,
        };
        let registry = bed.folder().join("images");
        image(&cuda_check, options.simulate)?.write_to(&registry)?;
        let mut master = bed.master().start()?;
        master.wait_ready(PATIENCE)?;
        Ok(Self {
            master,
            cuda_check,
            registry,
            simulated,
            bed,
        })
    }

    /// How many GPUs there are.
    pub(super) fn gpus(&self) -> usize {
        self.simulated
            .as_ref()
            .map_or_else(host::gpus, |(machine, _)| machine.gpus.len())
    }

    /// Where the driver has its programs on this machine.
    pub(super) fn driver_programs(&self) -> PathBuf {
        let smi = host::smi().and_then(|smi| Some(smi.parent()?.to_owned()));
        match &self.simulated {
            Some((_, driver)) => driver.bin(),
            None => smi.unwrap_or_else(|| host::PROGRAMS.into()),
        }
    }

    /// How to start an agent.
    pub(super) fn agent(&self, support: Support) -> AgentBuilder {
        self.agent_with(support, &[])
    }

    /// The same with parameters for this module.
    pub(super) fn agent_with(&self, support: Support, parameters: &[(&str, &str)]) -> AgentBuilder {
        let agent = self.bed.agent().images(&self.registry).image_backend("copy");
        let agent = match &self.simulated {
            Some((machine, driver)) => agent.machine(machine).driver(driver),
            // The built-in cannot read the loader's cache of a current C library.
            None if support == Support::BuiltIn => agent.own_loader_cache(),
            None => agent,
        };
        let base = "cgroups/devices,filesystem/linux,docker/runtime";
        match support {
            Support::None => agent.isolation(base),
            Support::BuiltIn => agent.isolation(&format!("{base},gpu/nvidia")),
            Support::Ours => {
                let root = self
                    .simulated
                    .as_ref()
                    .map(|(_, driver)| driver.folder().display().to_string());
                let root = root.iter().map(|root| ("driver_root", root.as_str()));
                let parameters: Vec<_> = parameters.iter().copied().chain(root).collect();
                agent
                    .isolation(&format!("{base},mesos_gpu_Isolator"))
                    .hooks("mesos_gpu_Hook")
                    .module("mesos_gpu_Isolator", &parameters)
                    .module("mesos_gpu_Hook", &[])
            }
        }
    }
}

/// A machine and its driver, with a libcuda that computes.
fn simulated(folder: &Path) -> Result<(Machine, DriverFiles), Error> {
    let tried = || format!("lay out a driver in {}", folder.display());
    let machine = Machine::with_gpus(2);
    let driver = DriverTree::new(folder)
        .version(&machine.driver_version)
        .lay_out()
        .tried(tried)?;
    let cuda = driver
        .lib64()
        .join(format!("libcuda.so.{}", machine.driver_version));
    std::fs::write(cuda, SIMULATED_CUDA).tried(tried)?;
    // As a distribution has it below its root.
    std::os::unix::fs::symlink(".", driver.folder().join("usr")).tried(tried)?;
    Ok((machine, driver))
}

/// An image with a shell, the probe and the program that computes. It asks for the driver, since the built-in gives it to no
/// other.
fn image(cuda_check: &Path, simulate: bool) -> Result<Image, Error> {
    let mut image = Image::new(IMAGE)
        .env("PATH=/bin")
        .env("NVIDIA_VISIBLE_DEVICES=all")
        .program_with_libraries(Path::new("/bin/sh"))
        .program_with_libraries(Path::new("/bin/date"))
        .program_with_libraries(&Testbed::image_probe()?)
        .program_with_libraries(cuda_check);
    if !simulate {
        for file in host::smi().into_iter().chain(host::libraries(&LOADED)?) {
            image = image.libraries_of(&file);
        }
    }
    Ok(image)
}

/// The sandbox of a command task's executor.
pub(super) fn sandbox(agent: &Agent, framework: &Framework, task: &str) -> Result<PathBuf, Error> {
    let id = agent
        .id()
        .ok_or_else(|| Error::new("find a sandbox", "the agent is not registered"))?;
    let frameworks = agent.work_dir().join("slaves").join(id).join("frameworks");
    let executors = frameworks.join(framework.id()).join("executors");
    Ok(executors.join(task).join("runs/latest"))
}
