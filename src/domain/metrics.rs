// SPDX-License-Identifier: Apache-2.0
//! The agent's numbers, in the text form that Prometheus reads. What is not known has no line: a false 0 would be taken for
//! an idle GPU. Every line belongs to a GPU of the agent, to a container that has one or waits for one, or to a call of the
//! module, so there are as many as these, and the lines of a container end with it.

mod calls;
pub mod families;
mod numbers;
mod text;

pub use calls::{BOUNDS, CallNumbers, LatencySum, REASONS};
pub use numbers::{
    GpuNumbers, GpuTold, NVML_REASONS, Named, NvmlNumbers, Snapshot, UnitNumbers, UseNumbers, Who,
};
pub(super) use text::escaped;

use crate::domain::estimate::Percent;
use crate::domain::ledger::Phase;
use std::time::Duration;
use text::{Labels, Text};

/// The phases in the order in which they are written.
const PHASES: [&str; 5] = ["free", "held", "releasing", "set_aside", "foreign"];

fn name(phase: &Phase) -> &'static str {
    match phase {
        Phase::Free => PHASES[0],
        Phase::Held => PHASES[1],
        Phase::Releasing => PHASES[2],
        Phase::Sick(_) => PHASES[3],
        Phase::Foreign(_) => PHASES[4],
    }
}

/// The text.
pub fn text(numbers: &Snapshot) -> String {
    let mut text = Text::default();
    module(&mut text, numbers);
    units(&mut text, &numbers.units);
    gpus(&mut text, &numbers.gpus);
    uses(&mut text, numbers);
    calls(&mut text, &numbers.calls);
    text.finish()
}

fn module(text: &mut Text, numbers: &Snapshot) {
    let mut build = Labels::of("version", numbers.version);
    build.maybe("driver", numbers.driver.as_deref());
    text.add(&families::BUILD_INFO, [(build, 1_usize)]);
    text.add(&families::SOUND, [(Labels::none(), usize::from(numbers.sound))]);
    text.add(&families::ADVERTISED, [(Labels::none(), numbers.units.len())]);
    text.add(
        &families::GPUS,
        PHASES.map(|phase| {
            let count = numbers.units.iter().filter(|unit| name(&unit.phase) == phase);
            (Labels::of("phase", phase), count.count())
        }),
    );
    let waited_for: usize = numbers.waiting.iter().map(|(_, gpus)| gpus).sum();
    text.add(&families::WAITED_FOR, [(Labels::none(), waited_for)]);
    text.add(&families::WAITING, [(Labels::none(), numbers.waiting.len())]);
    text.add(&families::HOLDERS, [(Labels::none(), numbers.holders)]);
    text.add(&families::GUESTS, [(Labels::none(), numbers.guests)]);
    let Some(nvml) = &numbers.nvml else { return };
    let up = nvml.up.map(|up| (Labels::none(), usize::from(up)));
    text.add(&families::NVML_UP, up);
    text.add(
        &families::NVML_FAILURES,
        NVML_REASONS
            .iter()
            .zip(nvml.failures)
            .map(|(reason, times)| (Labels::of("reason", reason), times)),
    );
}

fn units(text: &mut Text, units: &[UnitNumbers]) {
    let set_aside = units.iter().filter(|unit| matches!(unit.phase, Phase::Sick(_)));
    text.add(
        &families::SET_ASIDE,
        set_aside.map(|unit| (Labels::of("uuid", &unit.named.gpu), 1_usize)),
    );
    text.add(
        &families::INFO,
        units.iter().map(|unit| {
            let mut labels = unit.named.labels();
            labels.maybe("index", unit.index.map(|index| index.to_string()).as_deref());
            labels.maybe("pci", unit.pci.as_deref());
            labels.maybe("model", unit.model.as_deref());
            labels.maybe("parent", unit.parent.as_deref());
            (labels, 1_usize)
        }),
    );
    let mut state = |family, is: fn(&UnitNumbers) -> bool| {
        text.add(
            family,
            units
                .iter()
                .map(|unit| (unit.named.labels(), usize::from(is(unit)))),
        );
    };
    state(&families::HELD, |unit| unit.phase == Phase::Held);
    state(&families::RELEASING, |unit| unit.phase == Phase::Releasing);
    state(&families::SICK, |unit| unit.sick);
    state(&families::FOREIGN, |unit| matches!(unit.phase, Phase::Foreign(_)));
}

fn gpus(text: &mut Text, gpus: &[GpuNumbers]) {
    let told = || {
        gpus.iter()
            .filter_map(|gpu| Some((gpu.named.labels(), gpu.told?)))
    };
    text.add(
        &families::UTILIZATION,
        told().filter_map(|(labels, told)| Some((labels, ratio(told.utilization?)))),
    );
    text.add(
        &families::MEMORY_USED,
        told().filter_map(|(labels, told)| Some((labels, told.memory?.used()))),
    );
    text.add(
        &families::MEMORY_TOTAL,
        told().filter_map(|(labels, told)| Some((labels, told.memory?.total()))),
    );
    text.add(
        &families::POWER,
        told().filter_map(|(labels, told)| Some((labels, f64::from(told.power?.milliwatts()) / 1000.0))),
    );
    text.add(
        &families::TEMPERATURE,
        told().filter_map(|(labels, told)| Some((labels, told.temperature?.celsius()))),
    );
    text.add(
        &families::SAMPLE_AGE,
        gpus.iter().map(|gpu| (gpu.named.labels(), thousandths(gpu.age))),
    );
}

fn uses(text: &mut Text, numbers: &Snapshot) {
    let on = |one: &UseNumbers| {
        let mut labels = one.who.labels();
        labels.add_named(&one.named);
        labels
    };
    text.add(
        &families::CONTAINER_GPU,
        numbers.uses.iter().map(|one| {
            let mut labels = on(one);
            labels.maybe("use", Some(if one.guest { "guest" } else { "held" }));
            (labels, 1_usize)
        }),
    );
    text.add(
        &families::CONTAINER_WAITING,
        numbers.waiting.iter().map(|(who, gpus)| (who.labels(), *gpus)),
    );
    text.add(
        &families::CONTAINER_UTILIZATION,
        numbers
            .uses
            .iter()
            .filter_map(|one| Some((on(one), ratio(one.utilization?)))),
    );
    text.add(
        &families::CONTAINER_MEMORY,
        numbers.uses.iter().filter_map(|one| Some((on(one), one.memory?))),
    );
}

fn calls(text: &mut Text, calls: &[(&'static str, CallNumbers)]) {
    let label = |name: &str| Labels::of("call", name);
    text.add(
        &families::CALLS,
        calls.iter().map(|(name, numbers)| (label(name), numbers.calls)),
    );
    let failures = calls.iter().flat_map(|(name, numbers)| {
        REASONS.iter().zip(numbers.failures).map(move |(reason, times)| {
            let mut labels = label(name);
            labels.maybe("reason", Some(reason));
            (labels, times)
        })
    });
    text.add(&families::CALL_FAILURES, failures);
    let timed = calls
        .iter()
        .filter_map(|(name, numbers)| Some((label(name), numbers.latency.as_ref()?)));
    text.add_histogram(&families::CALL_DURATION, timed);
}

fn ratio(share: Percent) -> f64 {
    f64::from(share.get()) / 100.0
}

/// Seconds, to the thousandth: nobody reads more of an age.
fn thousandths(time: Duration) -> f64 {
    let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    f64::from(millis) / 1000.0
}

impl Named {
    fn labels(&self) -> Labels {
        let mut labels = Labels::none();
        labels.add_named(self);
        labels
    }
}

impl Who {
    fn labels(&self) -> Labels {
        let mut labels = Labels::of("container", &self.container);
        if let Some((framework, executor)) = &self.executor {
            labels.maybe("framework", Some(framework));
            labels.maybe("executor", Some(executor));
        }
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_is_counted_also_those_that_no_gpu_is_in() {
        let unit = |gpu: &str, phase| UnitNumbers {
            named: Named {
                gpu: gpu.to_owned(),
                minor: None,
            },
            index: None,
            pci: None,
            model: None,
            parent: None,
            sick: phase != Phase::Held,
            phase,
        };
        let numbers = Snapshot {
            units: vec![
                unit("GPU-1", Phase::Held),
                unit("GPU-2", Phase::Sick("lost".to_owned())),
                unit("GPU-\"3", Phase::Sick("lost".to_owned())),
            ],
            waiting: vec![(Who::default(), 2)],
            guests: 3,
            ..Snapshot::default()
        };
        let text = text(&numbers);
        for line in [
            "mesos_gpu_advertised 3",
            "mesos_gpu_gpus{phase=\"free\"} 0",
            "mesos_gpu_gpus{phase=\"held\"} 1",
            "mesos_gpu_gpus{phase=\"set_aside\"} 2",
            "mesos_gpu_set_aside{uuid=\"GPU-2\"} 1",
            "mesos_gpu_set_aside{uuid=\"GPU-\\\"3\"} 1",
            "mesos_gpu_waited_for 2",
            "mesos_gpu_guests 3",
            "# TYPE mesos_gpu_gpus gauge",
        ] {
            assert!(text.lines().any(|is| is == line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with('\n'));
    }
}
