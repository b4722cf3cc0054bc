// SPDX-License-Identifier: Apache-2.0
//! Which GPUs the demo uses: the machine's own where there are any, else simulated ones.

use std::fmt;

use fake_nvml::Machine;
use mesos_gpu::ports::driver_proc::DriverProc;
use mesos_gpu::system::driver_proc::ProcDriver;

const SIMULATED: u32 = 4;

/// The GPUs of the demo.
pub(super) enum Gpus {
    /// The machine's own.
    Real { count: u32, driver: String },
    /// Simulated ones.
    Simulated(Box<Machine>),
}

impl Gpus {
    pub(super) fn of_this_machine() -> Self {
        let report = ProcDriver::new("/proc/driver/nvidia".into()).read();
        match u32::try_from(report.gpus.len()) {
            Ok(count) if count > 0 => Self::Real {
                count,
                driver: report
                    .driver_version
                    .unwrap_or_else(|| "of unknown version".to_owned()),
            },
            _ => Self::Simulated(Box::new(Machine::with_gpus(SIMULATED))),
        }
    }

    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Real { count, .. } => *count,
            Self::Simulated(_) => SIMULATED,
        }
    }

    pub(super) fn simulated(&self) -> Option<&Machine> {
        match self {
            Self::Real { .. } => None,
            Self::Simulated(machine) => Some(machine),
        }
    }
}

impl fmt::Display for Gpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real { count, driver } => write!(f, "Real GPUs: {count}, driver {driver}."),
            Self::Simulated(_) => write!(
                f,
                "Simulated GPUs: this machine has none, so {SIMULATED} are simulated. The device rules and the kernel that \
                 keeps them are real."
            ),
        }
    }
}
