// SPDX-License-Identifier: Apache-2.0
//! Ready-made machines, because a test should name only what it is about. They look like an H200 server, except that
//! minors run against the indices: code that takes one for the other must fail.

use crate::machine::{
    Fault, Gpu, KernelModule, Level, Link, Machine, Majors, Memory, Mig, MigInstance, Utilization,
};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// What an H200 with the driver 580 reports.
const H200_TOTAL: u64 = 143_771 * MIB;

impl Default for Machine {
    fn default() -> Self {
        Self {
            driver_version: "580.159.04".to_owned(),
            cuda_version: 13_000,
            kernel_module: KernelModule::Open,
            driver_loaded: true,
            majors: Majors::default(),
            gpus: Vec::new(),
            faults: Vec::new(),
            call_log: None,
        }
    }
}

impl Default for Majors {
    fn default() -> Self {
        Self { uvm: 511, caps: 509 }
    }
}

impl Machine {
    /// `count` idle H200s, at most 28. Minors run against the indices, two NUMA nodes share the GPUs, pairs sit behind one switch.
    pub fn with_gpus(count: u32) -> Self {
        let gpus = (0..count)
            .map(|index| {
                let mut gpu = Gpu::h200(index, count - 1 - index);
                gpu.numa_node = Some(u32::from(index >= count.div_ceil(2)));
                let partner = index ^ 1;
                if partner < count {
                    gpu.topology.push(Link {
                        gpu: partner,
                        level: Level::Single,
                    });
                }
                gpu
            })
            .collect();
        Self {
            gpus,
            ..Self::default()
        }
    }

    /// The same machine with one more thing wrong.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }
}

impl Gpu {
    /// An idle H200 whose UUID and PCI address follow from its index.
    pub fn h200(index: u32, minor: u32) -> Self {
        Self {
            index,
            minor,
            uuid: format!("GPU-{}", uuid(u64::from(index))),
            pci: format!("0000:{:02x}:00.0", 0x0f + 8 * u64::from(index)),
            name: "NVIDIA H200".to_owned(),
            brand: Some(14),
            compute_capability: Some((9, 0)),
            numa_node: None,
            memory: Some(Memory {
                total: H200_TOTAL,
                used: 0,
                free: H200_TOTAL,
            }),
            utilization: Some(Utilization { gpu: 0, memory: 0 }),
            power_mw: Some(76_540),
            temperature_c: Some(31),
            processes: Vec::new(),
            sampled_at: None,
            no_process_samples: false,
            mig: Some(Mig::default()),
            topology: Vec::new(),
            events: Vec::new(),
            excluded: false,
            information: None,
        }
    }

    /// The same GPU with MIG on and one instance for each profile, for example `1g.18gb`. The memory is what the
    /// profile's name says.
    #[must_use]
    pub fn with_mig(mut self, profiles: &[&str]) -> Self {
        let instances = (1u32..).zip(profiles).map(|(number, profile)| {
            let total = profile_gigabytes(profile) * GIB;
            MigInstance {
                gpu_instance: number,
                compute_instance: 0,
                uuid: format!("MIG-{}", uuid(u64::from(self.index) << 32 | u64::from(number))),
                profile: (*profile).to_owned(),
                memory: Memory {
                    total,
                    used: 0,
                    free: total,
                },
            }
        });
        self.mig = Some(Mig {
            enabled: true,
            instances: instances.collect(),
        });
        self
    }
}

impl Fault {
    fn new(function: &str) -> Self {
        Self {
            function: function.to_owned(),
            gpu: None,
            code: 0,
            delay_ms: 0,
            hang: false,
        }
    }

    /// `function` fails with NVML's `code`.
    pub fn code(function: &str, code: u32) -> Self {
        Self {
            code,
            ..Self::new(function)
        }
    }

    /// `function` takes `milliseconds` longer, and then works.
    pub fn delay(function: &str, milliseconds: u64) -> Self {
        Self {
            delay_ms: milliseconds,
            ..Self::new(function)
        }
    }

    /// `function` does not return until the fault is gone.
    pub fn hang(function: &str) -> Self {
        Self {
            hang: true,
            ..Self::new(function)
        }
    }

    /// The same fault on the GPU with this NVML index only.
    #[must_use]
    pub fn on_gpu(mut self, index: u32) -> Self {
        self.gpu = Some(index);
        self
    }
}

/// The gigabytes in `1g.18gb`; 0 when the name has none.
fn profile_gigabytes(profile: &str) -> u64 {
    let digits = profile.split('.').find_map(|part| part.strip_suffix("gb"));
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Text of a UUID that looks random and is the same in every run.
fn uuid(seed: u64) -> String {
    let (high, low) = (mixed(2 * seed + 1), mixed(2 * seed + 2));
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// The finishing steps of the splitmix64 generator: neighbouring seeds give unlike numbers.
fn mixed(seed: u64) -> u64 {
    let a = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ a >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ b >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    c ^ c >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn with_gpus_gives_distinct_identities_and_minors_against_the_indices() {
        let machine = Machine::with_gpus(8);
        let uuids: BTreeSet<_> = machine.gpus.iter().map(|gpu| &gpu.uuid).collect();
        let addresses: Vec<_> = machine.gpus.iter().map(|gpu| &gpu.pci).collect();
        assert_eq!(uuids.len(), 8);
        assert!(addresses.is_sorted());
        assert!(
            machine
                .gpus
                .iter()
                .all(|gpu| gpu.uuid.len() == 40 && gpu.minor == 7 - gpu.index)
        );
    }

    #[test]
    fn with_mig_takes_the_memory_from_the_profile() {
        let gpu = Gpu::h200(0, 0).with_mig(&["1g.18gb", "3g.71gb"]);
        let mig = gpu.mig.unwrap();
        assert!(mig.enabled);
        assert_eq!(mig.instances[1].memory.total, 71 * GIB);
        assert_ne!(mig.instances[0].uuid, mig.instances[1].uuid);
    }
}
