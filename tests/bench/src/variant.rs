// SPDX-License-Identifier: Apache-2.0
//! What is compared: the same Mesos on the same simulated driver, with different GPU support.

use testbed::{AgentBuilder, Testbed};

/// One kind of GPU support. The first is what the others are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// None.
    None,
    /// Mesos's own `gpu/nvidia`.
    BuiltIn,
    /// This library.
    Ours,
}

impl Variant {
    /// All, in the order of the tables.
    pub const ALL: [Variant; 3] = [Variant::None, Variant::BuiltIn, Variant::Ours];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Variant::None => "no GPU support",
            Variant::BuiltIn => "gpu/nvidia",
            Variant::Ours => "mesos-gpu",
        }
    }

    /// An agent with it on a machine with eight simulated GPUs.
    pub fn agent(self, bed: &Testbed) -> AgentBuilder {
        // The built-in cannot read the loader cache of a current glibc, so all run with one that it can.
        let agent = bed
            .agent()
            .machine(&fake_nvml::Machine::with_gpus(8))
            .loader_cache();
        match self {
            Variant::None => agent.isolation("cgroups/devices,filesystem/linux"),
            Variant::BuiltIn => agent.isolation("cgroups/devices,filesystem/linux,gpu/nvidia"),
            Variant::Ours => agent
                .isolation("cgroups/devices,filesystem/linux,mesos_gpu_Isolator")
                .module("mesos_gpu_Isolator", &[])
                .module("mesos_gpu_Hook", &[])
                .hooks("mesos_gpu_Hook"),
        }
    }
}
