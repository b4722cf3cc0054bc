// SPDX-License-Identifier: Apache-2.0
//! What is measured: each policy of the module, and the bare allocator that does the same work.

use serde_json::json;
use testbed::{Error, Testbed};

/// A policy of the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Leaves the filtering to Mesos's own allocator.
    Strict,
    /// Shares agents with GPUs.
    Share,
    /// Offers everything to everyone.
    Open,
}

impl Variant {
    /// All, in the order of the tables.
    pub const ALL: [Variant; 3] = [Variant::Strict, Variant::Share, Variant::Open];

    /// Its name in tables, in `--variants` and in the module's `policy`.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Strict => "strict",
            Variant::Share => "share",
            Variant::Open => "open",
        }
    }

    /// Whether the bare allocator that does the same work has its GPU filter on, as it has by default.
    fn beside_filters(self) -> bool {
        self == Variant::Strict
    }

    /// The name of that allocator in tables.
    pub fn beside(self) -> &'static str {
        match self.beside_filters() {
            true => "inner",
            false => "inner-unfiltered",
        }
    }

    /// The most that its cycle should take beside that.
    pub fn goal(self) -> Option<f64> {
        match self {
            Variant::Strict => Some(1.02),
            Variant::Share => Some(1.10),
            Variant::Open => None,
        }
    }

    /// The flags that say so to `testbed allocator-bench`.
    pub fn flags(self) -> Result<Vec<String>, Error> {
        let policy = json!([{"key": "policy", "value": self.name()}]);
        let module = json!([{"name": "mesos_gpu_Allocator", "parameters": policy}]);
        let manifest = json!({"libraries": [{"file": Testbed::module_library()?, "modules": module}]});
        Ok(vec![
            // The master's default: the module decides what becomes of it.
            "--filter_gpu_resources=true".to_owned(),
            "--allocator=mesos_gpu_Allocator".to_owned(),
            format!("--modules={manifest}"),
            format!("--beside_filter_gpu_resources={}", self.beside_filters()),
        ])
    }
}
