// SPDX-License-Identifier: Apache-2.0
//! The agent's GPUs as numbers, in the text form that Prometheus reads.

use crate::domain::gpu::UnitId;
use crate::domain::ledger::Phase;
use std::fmt::Write;

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

/// The text for the advertised units with their phases, how many GPUs launches and growths wait for, and how many containers
/// are guests.
pub fn text(units: &[(UnitId, Phase)], waited_for: usize, guests: usize) -> String {
    let mut text = String::new();
    let mut family = |metric: &str, help: &str, samples: &[(String, usize)]| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {metric} {help}\n# TYPE {metric} gauge");
        for (labels, value) in samples {
            let _ = writeln!(text, "{metric}{labels} {value}");
        }
    };
    family(
        "mesos_gpu_advertised",
        "GPUs that the agent advertises.",
        &[(String::new(), units.len())],
    );
    let phases = PHASES.map(|phase| {
        let count = units.iter().filter(|(_, is)| name(is) == phase).count();
        (format!("{{phase=\"{phase}\"}}"), count)
    });
    family(
        "mesos_gpu_gpus",
        "Advertised GPUs by what may be done with them.",
        &phases,
    );
    let set_aside: Vec<(String, usize)> = units
        .iter()
        .filter(|(_, phase)| matches!(phase, Phase::Sick(_)))
        .map(|(unit, _)| (format!("{{uuid=\"{}\"}}", escaped(unit.as_str())), 1))
        .collect();
    family(
        "mesos_gpu_set_aside",
        "GPUs that are held back; the agent's log has the reason.",
        &set_aside,
    );
    family(
        "mesos_gpu_waited_for",
        "GPUs that launches and growths wait for.",
        &[(String::new(), waited_for)],
    );
    family(
        "mesos_gpu_guests",
        "Containers that are on GPUs which they do not hold.",
        &[(String::new(), guests)],
    );
    text
}

/// A value as a label takes it.
pub(super) fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_is_counted_also_those_that_no_gpu_is_in() {
        let unit = |name: &str, phase| (UnitId::new(name), phase);
        let units = [
            unit("GPU-1", Phase::Held),
            unit("GPU-2", Phase::Sick("lost".to_owned())),
            unit("GPU-\"3", Phase::Sick("lost".to_owned())),
        ];
        let text = text(&units, 2, 3);
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
