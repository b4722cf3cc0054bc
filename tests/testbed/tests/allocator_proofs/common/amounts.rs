// SPDX-License-Identifier: Apache-2.0
//! Amounts of GPUs, cpus and mem that can be compared: sums of what Mesos writes are not exact by themselves.

use serde_json::Value;
use testbed::resources;

/// How much of each kind, reserved or not.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Amounts {
    pub gpus: f64,
    pub cpus: f64,
    pub mem: f64,
}

impl Amounts {
    pub const fn new(gpus: f64, cpus: f64, mem: f64) -> Self {
        Self { gpus, cpus, mem }
    }

    /// Of a list of regular resources.
    pub fn of(list: &[Value]) -> Self {
        let sum = |name: &str| rounded(resources::sum(list, name, false));
        Self::new(sum("gpus"), sum("cpus"), sum("mem"))
    }

    pub fn plus(self, other: Self) -> Self {
        Self::new(
            rounded(self.gpus + other.gpus),
            rounded(self.cpus + other.cpus),
            rounded(self.mem + other.mem),
        )
    }

    /// Whether a whole can have this much.
    pub fn fits(self, whole: Self) -> bool {
        let pairs = [
            (self.gpus, whole.gpus),
            (self.cpus, whole.cpus),
            (self.mem, whole.mem),
        ];
        pairs.iter().all(|(part, whole)| *part >= 0.0 && part <= whole)
    }
}

/// What stands under a name, together.
pub fn amounts_of(list: &[(String, Amounts)], name: &str) -> Amounts {
    let of_name = list.iter().filter(|(other, _)| other == name);
    of_name.fold(Amounts::default(), |sum, (_, amounts)| sum.plus(*amounts))
}

/// Mesos counts three decimal digits.
fn rounded(amount: f64) -> f64 {
    (amount * 1000.0).round() / 1000.0
}
