// SPDX-License-Identifier: Apache-2.0
//! What is compared: the bare allocator with both settings of its GPU filter, and each policy on top of it.

use serde_json::json;
use testbed::{Error, Testbed};

/// An allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Mesos's own with its GPU filter, the default.
    Inner,
    /// The module, which leaves the filtering to Mesos's own.
    Strict,
    /// Mesos's own without its GPU filter.
    InnerUnfiltered,
    /// The module, which shares GPU agents.
    Share,
    /// The module, which offers everything to everyone.
    Open,
}

impl Variant {
    /// All, in the order of the tables.
    pub const ALL: [Variant; 5] = [
        Variant::Inner,
        Variant::Strict,
        Variant::InnerUnfiltered,
        Variant::Share,
        Variant::Open,
    ];

    /// Its name in tables and in `--variants`.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Inner => "inner",
            Variant::Strict => "strict",
            Variant::InnerUnfiltered => "inner-unfiltered",
            Variant::Share => "share",
            Variant::Open => "open",
        }
    }

    /// The bare allocator that does the same work.
    pub fn beside(self) -> Variant {
        match self {
            Variant::Inner | Variant::Strict => Variant::Inner,
            Variant::InnerUnfiltered | Variant::Share | Variant::Open => Variant::InnerUnfiltered,
        }
    }

    /// The most that its cycle should take beside that.
    pub fn goal(self) -> Option<f64> {
        match self {
            Variant::Strict => Some(1.02),
            Variant::Share => Some(1.10),
            Variant::Inner | Variant::InnerUnfiltered | Variant::Open => None,
        }
    }

    /// The flags that say so to `testbed allocator-bench`.
    pub fn flags(self) -> Result<Vec<String>, Error> {
        let filter = |on: bool| vec![format!("--filter_gpu_resources={on}")];
        match self {
            Variant::Inner => Ok(filter(true)),
            Variant::InnerUnfiltered => Ok(filter(false)),
            // The master's default: the module decides what becomes of it.
            Variant::Strict | Variant::Share | Variant::Open => {
                let mut flags = filter(true);
                let policy = json!([{"key": "policy", "value": self.name()}]);
                let module = json!([{"name": "mesos_gpu_Allocator", "parameters": policy}]);
                let manifest =
                    json!({"libraries": [{"file": Testbed::module_library()?, "modules": module}]});
                flags.extend([
                    "--allocator=mesos_gpu_Allocator".to_owned(),
                    format!("--modules={manifest}"),
                ]);
                Ok(flags)
            }
        }
    }
}
