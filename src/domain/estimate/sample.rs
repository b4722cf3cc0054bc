// SPDX-License-Identifier: Apache-2.0
//! What the driver told of each GPU's use at one moment. A figure that cannot be is no figure: it cannot be made here, so
//! nobody further on can take it for one.

use crate::domain::gpu::UnitId;
use std::fmt;

/// A share from 0 to 100 percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percent(u8);

impl Percent {
    /// The share that was told; none where no share can be so large, which a driver that does not know says too.
    pub fn told(value: u32) -> Option<Self> {
        u8::try_from(value).ok().filter(|value| *value <= 100).map(Self)
    }

    /// A share that is known to be one.
    pub(super) const fn fixed(share: u8) -> Self {
        assert!(share <= 100);
        Self(share)
    }

    /// As a number.
    pub fn get(self) -> u32 {
        self.0.into()
    }

    /// So much of it, rounded down.
    pub fn of(self, whole: u64) -> u64 {
        whole / 100 * u64::from(self.0) + whole % 100 * u64::from(self.0) / 100
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}

/// The memory of a GPU, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    used: u64,
    total: u64,
}

impl MemoryUse {
    /// What was told; none where it cannot be.
    pub fn told(used: u64, total: u64) -> Option<Self> {
        (total > 0 && total < u64::MAX && used <= total).then_some(Self { used, total })
    }

    /// What is in use, by whomever.
    pub fn used(self) -> u64 {
        self.used
    }

    /// All there is.
    pub fn total(self) -> u64 {
        self.total
    }

    /// What is left.
    pub fn free(self) -> u64 {
        self.total - self.used
    }
}

/// What a GPU draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Power(u32);

/// No GPU draws ten kilowatts.
const MOST_MILLIWATTS: u32 = 10_000_000;

impl Power {
    /// What was told, in milliwatts; none where it cannot be. A GPU that answers draws something.
    pub fn told(milliwatts: u32) -> Option<Self> {
        (1..=MOST_MILLIWATTS)
            .contains(&milliwatts)
            .then_some(Self(milliwatts))
    }

    /// In milliwatts.
    pub fn milliwatts(self) -> u32 {
        self.0
    }
}

/// How warm a GPU is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Temperature(u32);

/// Long before that it switches itself off.
const MOST_CELSIUS: u32 = 200;

impl Temperature {
    /// What was told, in degrees Celsius; none where it cannot be.
    pub fn told(celsius: u32) -> Option<Self> {
        (celsius <= MOST_CELSIUS).then_some(Self(celsius))
    }

    /// In degrees Celsius.
    pub fn celsius(self) -> u32 {
        self.0
    }
}

/// What one process does on a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessUse {
    /// Its id, as the host counts.
    pub pid: u32,
    /// How much of the time since the sample before it computed; none when not told.
    pub utilization: Option<Percent>,
    /// The memory it holds, in bytes; none when not told.
    pub memory: Option<u64>,
}

/// What was told of one GPU. What is none was not told, or told as what cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuSample {
    /// Which GPU.
    pub uuid: UnitId,
    /// How much of the last moment anybody computed on it.
    pub utilization: Option<Percent>,
    /// Its memory.
    pub memory: Option<MemoryUse>,
    /// The processes on it.
    pub processes: Option<Vec<ProcessUse>>,
    /// What it draws.
    pub power: Option<Power>,
    /// How warm it is.
    pub temperature: Option<Temperature>,
}

/// What was told of all GPUs. A GPU that is not listed was not heard of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sample {
    /// One entry a GPU.
    pub gpus: Vec<GpuSample>,
}

impl Sample {
    /// What was told of this GPU; none also where two claim to be it.
    pub fn of(&self, gpu: &UnitId) -> Option<&GpuSample> {
        let mut found = self.gpus.iter().filter(|sample| &sample.uuid == gpu);
        found.next().filter(|_| found.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentinel_values_and_values_above_100_are_not_told() {
        for (told, want) in [
            (0, Some(0)),
            (100, Some(100)),
            (101, None),
            (255, None),
            (256, None),
            (u32::MAX, None),
        ] {
            assert_eq!(Percent::told(told).map(Percent::get), want, "{told}");
        }
        for (used, total, known) in [
            (0, 1, true),
            (1, 1, true),
            (2, 1, false),
            (0, 0, false),
            (u64::MAX, 1, false),
            (0, u64::MAX, false),
            (u64::MAX, u64::MAX, false),
        ] {
            assert_eq!(MemoryUse::told(used, total).is_some(), known, "{used} of {total}");
        }
    }

    #[test]
    fn a_power_and_a_temperature_that_no_gpu_has_are_not_told() {
        for (told, known) in [(0, false), (1, true), (700_000, true), (u32::MAX, false)] {
            assert_eq!(Power::told(told).is_some(), known, "{told} mW");
        }
        for (told, known) in [
            (0, true),
            (31, true),
            (200, true),
            (255, false),
            (u32::MAX, false),
        ] {
            assert_eq!(Temperature::told(told).is_some(), known, "{told} °C");
        }
    }

    #[test]
    fn a_share_of_memory_is_exact_and_does_not_overflow() {
        assert_eq!(Percent(1).of(150_754_820_096), 1_507_548_200);
        assert_eq!(Percent(100).of(u64::MAX), u64::MAX);
        assert_eq!(Percent(0).of(u64::MAX), 0);
    }

    #[test]
    fn a_gpu_that_two_claim_to_be_was_not_heard_of() {
        let gpu = |uuid| GpuSample {
            uuid: UnitId::new(uuid),
            utilization: None,
            memory: None,
            processes: None,
            power: None,
            temperature: None,
        };
        let sample = Sample {
            gpus: vec![gpu("GPU-a"), gpu("GPU-b"), gpu("GPU-b")],
        };
        assert!(sample.of(&UnitId::new("GPU-a")).is_some());
        assert!(sample.of(&UnitId::new("GPU-b")).is_none());
        assert!(sample.of(&UnitId::new("GPU-c")).is_none());
    }
}
