// SPDX-License-Identifier: Apache-2.0
//! What counts as idle, and how much of what is idle is offered.

use crate::domain::estimate::sample::Percent;
use std::time::Duration;

/// An amount of a GPU's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLimit {
    /// So many bytes.
    Bytes(u64),
    /// So much of all the memory that the GPU has.
    Share(Percent),
}

impl MemoryLimit {
    /// In bytes, of a GPU with so much memory.
    pub fn of(self, total: u64) -> u64 {
        match self {
            MemoryLimit::Bytes(bytes) => bytes,
            MemoryLimit::Share(share) => share.of(total),
        }
    }
}

/// What counts as idle, and how much of what is idle is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// How long a GPU must have been quiet before it counts as idle.
    pub window: Duration,
    /// How much its owner may compute and still be quiet.
    pub utilization: Percent,
    /// How much memory its owner may hold and still be quiet.
    pub memory: MemoryLimit,
    /// How long a GPU does not become idle again after its guests had to go, and after it became idle the last time.
    pub pause: Duration,
    /// How many of the held GPUs may have guests at a time.
    pub share: Percent,
    /// How many guests one GPU may have.
    pub guests_per_gpu: usize,
    /// How often the GPUs are looked at.
    pub interval: Duration,
}

const IDLE: Percent = Percent::fixed(5);
const ALL: Percent = Percent::fixed(100);

/// What holds unless it is set otherwise.
///
/// A bare CUDA context takes about half a GiB, whatever the GPU has (518 MiB on an H200), so the memory that still counts as
/// idle is an amount and not a share: a notebook that is left open is idle, a loaded model is not. A look takes the driver
/// some 7 ms a GPU, and what a process computed is told as the average since the look before: five seconds keep the driver
/// free and the wait of an owner short, and at 5 % show a quarter of a second's work.
impl Default for Thresholds {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(60),
            utilization: IDLE,
            memory: MemoryLimit::Bytes(1 << 30),
            pause: Duration::from_secs(300),
            share: ALL,
            guests_per_gpu: 1,
            interval: Duration::from_secs(5),
        }
    }
}

/// Of memory that is left, a GPU with guests must have this share, in percent: then an owner that wakes up can begin
/// while its guests are on their way out.
const RESERVE: u64 = 5;

impl Thresholds {
    /// The longest time between two samples in which nothing can have been missed: one sample may be lost or late.
    pub fn longest_gap(&self) -> Duration {
        self.interval * 3
    }

    /// How much of a GPU's memory must be free where guests are.
    pub fn reserve(&self, total: u64) -> u64 {
        total / 100 * RESERVE
    }
}
