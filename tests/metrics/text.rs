// SPDX-License-Identifier: Apache-2.0
//! The text itself: every family, each with its labels and no other, whatever the names in it are.

use crate::support::exposition::{self, read};
use mesos_gpu::domain::estimate::{MemoryUse, Percent, Power, Temperature};
use mesos_gpu::domain::ledger::Phase;
use mesos_gpu::domain::metrics::families::FAMILIES;
use mesos_gpu::domain::metrics::{
    CallNumbers, GpuNumbers, GpuTold, LatencySum, Named, NvmlNumbers, Snapshot, UnitNumbers, UseNumbers, Who,
    text,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What a framework may call its executor.
const HOSTILE: &str = "a \"b\"\\n,c=\"\n} 1\n# HELP x y";

/// Everything is known.
pub fn full() -> Snapshot {
    let named = Named {
        gpu: "GPU-1".to_owned(),
        minor: Some(3),
    };
    let who = Who {
        container: "c".to_owned(),
        executor: Some(("fw-1".to_owned(), HOSTILE.to_owned())),
    };
    let mut latency = LatencySum::default();
    for micros in [10, 100, 101, 900, 40_000_000] {
        latency.add(Duration::from_micros(micros));
    }
    Snapshot {
        version: "0.1.0",
        driver: Some("580.159.04".to_owned()),
        sound: true,
        units: vec![UnitNumbers {
            named: named.clone(),
            index: Some(0),
            pci: Some("0000:3b:00.0".to_owned()),
            model: Some("NVIDIA H200".to_owned()),
            parent: Some("GPU-0".to_owned()),
            phase: Phase::Sick("lost".to_owned()),
            sick: true,
        }],
        waiting: vec![(who.clone(), 2)],
        holders: 1,
        guests: 1,
        gpus: vec![GpuNumbers {
            named: named.clone(),
            age: Duration::from_millis(2500),
            told: Some(GpuTold {
                utilization: Percent::told(37),
                memory: MemoryUse::told(1 << 30, 141 << 30),
                power: Power::told(76_540),
                temperature: Temperature::told(31),
            }),
        }],
        uses: vec![UseNumbers {
            who,
            named,
            guest: true,
            utilization: Percent::told(100),
            memory: Some(5),
        }],
        nvml: Some(NvmlNumbers {
            up: Some(true),
            failures: [1, 2, 3, 4, 5],
        }),
        calls: vec![(
            "prepare",
            CallNumbers {
                calls: 6,
                failures: [1, 0, 0, 0],
                latency: Some(latency),
            },
        )],
    }
}

#[test]
fn every_family_of_the_table_is_written_with_its_kind_its_help_and_its_labels_and_no_other() {
    let families = read(&text(&full()));
    let written: BTreeMap<_, _> = families
        .iter()
        .map(|family| (family.name.as_str(), family))
        .collect();
    assert_eq!(
        written.keys().copied().collect::<BTreeSet<_>>(),
        FAMILIES.iter().map(|family| family.name).collect::<BTreeSet<_>>()
    );
    for family in FAMILIES {
        let is = written[family.name];
        assert_eq!(
            (is.kind.clone(), is.help.as_str()),
            (family.kind.to_string(), family.help)
        );
        let labels: BTreeSet<&str> = is
            .samples
            .iter()
            .flat_map(|sample| sample.labels.keys())
            .map(String::as_str)
            .filter(|label| *label != "le")
            .collect();
        assert_eq!(labels, family.labels.iter().copied().collect(), "{}", family.name);
    }
}

#[test]
fn names_follow_the_conventions() {
    for family in FAMILIES {
        assert!(family.name.starts_with("mesos_gpu_"), "{}", family.name);
        let counts = family.name.ends_with("_total");
        assert_eq!(counts, family.kind.to_string() == "counter", "{}", family.name);
        assert!(
            family.help.ends_with('.') && !family.help.contains(['\n', '\\']),
            "{}",
            family.help
        );
        assert!(!family.absent.is_empty());
    }
}

#[test]
fn values_are_in_base_units_and_no_name_breaks_a_line() {
    let text = text(&full());
    let value = |name: &str| exposition::value(&text, name, &[]).unwrap();
    assert_eq!(value("mesos_gpu_utilization_ratio"), 0.37);
    assert_eq!(value("mesos_gpu_power_watts"), 76.54);
    assert_eq!(value("mesos_gpu_memory_total_bytes"), 151_397_597_184.0);
    assert_eq!(value("mesos_gpu_sample_age_seconds"), 2.5);
    let hostile = [("executor", HOSTILE), ("framework", "fw-1"), ("container", "c")];
    assert_eq!(
        exposition::value(&text, "mesos_gpu_container_waiting", &hostile),
        Some(2.0)
    );
}

#[test]
fn latencies_add_up_over_their_bounds() {
    let text = text(&full());
    let below = |bound: &str| {
        exposition::value(&text, "mesos_gpu_call_duration_seconds_bucket", &[("le", bound)]).unwrap()
    };
    let bounds = ["0.0001", "0.00025", "0.001", "0.25", "30", "+Inf"];
    assert_eq!(bounds.map(below), [2.0, 3.0, 4.0, 4.0, 4.0, 5.0]);
    let sum = exposition::value(&text, "mesos_gpu_call_duration_seconds_sum", &[]);
    assert_eq!(sum, Some(40.001111));
}

#[test]
fn what_is_not_known_has_no_line() {
    let mut numbers = full();
    numbers.gpus[0].told = None;
    (numbers.uses[0].utilization, numbers.uses[0].memory) = (None, None);
    numbers.nvml = None;
    let families = read(&text(&numbers));
    for gone in [
        "mesos_gpu_utilization_ratio",
        "mesos_gpu_memory_used_bytes",
        "mesos_gpu_memory_total_bytes",
        "mesos_gpu_power_watts",
        "mesos_gpu_temperature_celsius",
        "mesos_gpu_container_utilization_ratio",
        "mesos_gpu_container_memory_used_bytes",
        "mesos_gpu_nvml_up",
        "mesos_gpu_nvml_failures_total",
    ] {
        assert!(families.iter().all(|family| family.name != gone), "{gone}");
    }
    assert_eq!(families.len(), FAMILIES.len() - 9);
}
