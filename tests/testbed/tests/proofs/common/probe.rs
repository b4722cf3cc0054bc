// SPDX-License-Identifier: Apache-2.0
//! A look at the GPUs from inside a container: it tries to open every node and writes down what the kernel said. The
//! simulated nodes have no device behind them, so ENXIO is "allowed" and EPERM is "refused", and nothing else may come.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fake_nvml::Machine;

/// What a container saw.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The nodes it may open, by name.
    pub allowed: BTreeSet<String>,
    /// The nodes it may not open.
    pub refused: BTreeSet<String>,
    /// Its environment.
    pub env: BTreeMap<String, String>,
}

/// A shell command that looks and writes what it sees to `out`, all at once.
pub fn command(out: &Path) -> String {
    let out = out.display();
    format!(
        "for node in /dev/nvidia*; do test -c $node || continue; \
         why=$( (: <>$node) 2>&1 ) && why=opened; echo \"node $node $why\"; done >{out}.part; \
         env | sed 's/^/env /' >>{out}.part; mv {out}.part {out}"
    )
}

/// Reads what [`command`] wrote.
pub fn read(out: &Path) -> Seen {
    let text = std::fs::read_to_string(out).unwrap();
    let mut seen = Seen::default();
    for line in text.lines() {
        if let Some((name, value)) = line.strip_prefix("env ").and_then(|rest| rest.split_once('=')) {
            seen.env.insert(name.to_owned(), value.to_owned());
        } else if let Some((node, why)) = line
            .strip_prefix("node /dev/")
            .and_then(|rest| rest.split_once(' '))
        {
            let nodes = if why.ends_with("No such device or address") {
                &mut seen.allowed
            } else if why.ends_with("Operation not permitted") {
                &mut seen.refused
            } else {
                panic!("opening {node} gave neither ENXIO nor EPERM: {why}")
            };
            nodes.insert(node.to_owned());
        }
    }
    seen
}

impl Seen {
    /// The minors of the GPUs it may open.
    pub fn minors(&self) -> BTreeSet<u32> {
        self.allowed.iter().filter_map(|node| minor(node)).collect()
    }

    /// Asserts that it may use exactly `count` of the machine's GPUs, and that nodes and environment agree.
    pub fn assert_has(&self, machine: &Machine, count: usize) {
        let refused: BTreeSet<u32> = self.refused.iter().filter_map(|node| minor(node)).collect();
        let all: BTreeSet<u32> = machine.gpus.iter().map(|gpu| gpu.minor).collect();
        let minors = self.minors();
        assert_eq!(minors.len(), count, "{self:?}");
        assert_eq!(&minors | &refused, all, "every node was tried: {self:?}");

        let control: BTreeSet<&str> = BTreeSet::from(["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"]);
        let (allowed, order) = if count == 0 {
            (BTreeSet::new(), None)
        } else {
            (control, Some("PCI_BUS_ID"))
        };
        let others = self.allowed.iter().filter(|node| minor(node).is_none());
        assert_eq!(
            others.map(String::as_str).collect::<BTreeSet<_>>(),
            allowed,
            "{self:?}"
        );

        let granted = machine.gpus.iter().filter(|gpu| minors.contains(&gpu.minor));
        let granted: BTreeSet<&str> = granted.map(|gpu| gpu.uuid.as_str()).collect();
        let named = self.env.get("NVIDIA_VISIBLE_DEVICES").map(String::as_str);
        match count {
            0 => assert_eq!(named, Some("void"), "{self:?}"),
            _ => assert_eq!(
                named.map(|list| list.split(',').collect()),
                Some(granted),
                "{self:?}"
            ),
        }
        assert_eq!(
            self.env.get("CUDA_DEVICE_ORDER").map(String::as_str),
            order,
            "{self:?}"
        );
    }
}

/// The minor of a GPU's node; none for the control nodes.
fn minor(node: &str) -> Option<u32> {
    node.strip_prefix("nvidia")?.parse().ok()
}
