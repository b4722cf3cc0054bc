// SPDX-License-Identifier: Apache-2.0
//! The agents that are compared: the same Mesos with the same images on the same driver.

use crate::driver_volume::Scratch;
use crate::variant::Variant;
use fake_nvml::{DriverFiles, DriverTree, Gpu, Machine};
use std::path::{Path, PathBuf};
use testbed::bed::images::Image;
use testbed::{AgentBuilder, Error, Testbed};

/// The image.
pub const IMAGE: &str = "clock";
/// Where the built-in isolator has its volume, and this library, told so, its own.
pub const VOLUMES: &str = "/var/run/mesos";
/// The programs of this machine that are in it: what tells the time at which it runs, what tells its mounts, and what stays.
const PROGRAMS: [&str; 3] = ["/bin/date", "/bin/cat", "/bin/sleep"];

/// What all agents have in common.
#[derive(Clone)]
pub struct Setting {
    machine: Machine,
    /// The driver's files.
    pub driver: DriverFiles,
    /// The image that every container runs in.
    pub image: Image,
    registry: PathBuf,
}

impl Setting {
    /// Writes a driver of `size` bytes and the image.
    pub fn make(scratch: &Scratch, size: u64) -> Result<Self, Error> {
        let machine = Machine::with_gpus(8);
        let driver = DriverTree::new(&scratch.path("driver"))
            .version(&machine.driver_version)
            .total_bytes(size)
            .lay_out()
            .map_err(|e| Error::new("lay out a driver", e))?;
        let mut image = Image::new(IMAGE)
            .env("PATH=/bin")
            .env("NVIDIA_VISIBLE_DEVICES=all");
        for program in PROGRAMS {
            image = image.program_with_libraries(Path::new(program));
        }
        // As images have one, of the size that they have. What it names and is not there is not missed.
        if let Ok(cache) = std::fs::read("/etc/ld.so.cache") {
            image = image.file("etc/ld.so.cache", cache, 0o644);
        }
        let registry = scratch.path("images");
        image.write_to(&registry)?;
        // So that no round pays for the writing.
        nix::unistd::sync();
        Ok(Self {
            machine,
            driver,
            image,
            registry,
        })
    }

    /// The same with so many GPUs, which may be more than machines of this kind have.
    pub fn with_gpus(mut self, count: u32) -> Self {
        self.machine = crowd(count);
        self
    }

    /// How to start an agent.
    pub fn agent(&self, variant: Variant, bed: &Testbed) -> AgentBuilder {
        let agent = bed
            .agent()
            .machine(&self.machine)
            .driver(&self.driver)
            .images(&self.registry)
            .image_backend("overlay");
        match variant {
            Variant::None => agent.isolation("cgroups/devices,filesystem/linux,docker/runtime"),
            Variant::BuiltIn => agent.isolation("cgroups/devices,filesystem/linux,docker/runtime,gpu/nvidia"),
            Variant::Ours => {
                let root = self.driver.folder().display().to_string();
                let volumes = format!("{VOLUMES}/mesos-gpu");
                agent
                    .isolation("cgroups/devices,filesystem/linux,docker/runtime,mesos_gpu_Isolator")
                    .hooks("mesos_gpu_Hook")
                    .module(
                        "mesos_gpu_Isolator",
                        &[("driver_root", &root), ("image_dir", &volumes)],
                    )
                    .module("mesos_gpu_Hook", &[])
            }
        }
    }
}

/// A machine with so many GPUs, over as many PCI domains as they need.
fn crowd(count: u32) -> Machine {
    /// In one domain.
    const MOST: u32 = 28;
    let mut machine = Machine::with_gpus(0);
    machine.gpus = (0..count)
        .map(|index| {
            let mut gpu = Gpu::h200(index, count - 1 - index);
            gpu.pci = format!("{:04x}:{:02x}:00.0", index / MOST, 0x0f + 8 * (index % MOST));
            gpu
        })
        .collect();
    machine
}
