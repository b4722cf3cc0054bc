// SPDX-License-Identifier: Apache-2.0
//! The allocator's numbers, in the text form that Prometheus reads.

use super::metrics::escaped;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A framework's numbers. They end with the framework, so there are as many series as frameworks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld<'a> {
    /// The framework's id.
    pub framework: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Why.
    pub reason: &'a str,
    /// How often.
    pub times: u64,
}

/// What is counted of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Agents with GPUs.
    pub agents: usize,
    /// How often something was given back to the inner allocator.
    pub give_backs: u64,
}

/// The text; `roles` are the GPUs of each role, offered and in use, in thousandths, where they are counted.
pub fn text(withheld: &[Withheld<'_>], roles: &BTreeMap<&str, u64>, totals: Totals) -> String {
    let mut text = String::new();
    let mut family = |metric: &str, kind: &str, help: &str, samples: Vec<String>| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {metric} {help}\n# TYPE {metric} {kind}");
        for sample in samples {
            let _ = writeln!(text, "{metric}{sample}");
        }
    };
    family(
        "mesos_gpu_withheld_total",
        "counter",
        "How often something of an agent was withheld from a framework.",
        withheld
            .iter()
            .map(|one| {
                format!(
                    "{{framework=\"{}\",name=\"{}\",reason=\"{}\"}} {}",
                    escaped(one.framework),
                    escaped(one.name),
                    one.reason,
                    one.times
                )
            })
            .collect(),
    );
    family(
        "mesos_gpu_role_gpus",
        "gauge",
        "GPUs of a role, offered and in use.",
        roles
            .iter()
            .map(|(role, milli)| {
                format!(
                    "{{role=\"{}\"}} {}",
                    escaped(role),
                    super::allocation_policy::piece::amount(*milli)
                )
            })
            .collect(),
    );
    family(
        "mesos_gpu_agents",
        "gauge",
        "Agents with GPUs.",
        vec![format!(" {}", totals.agents)],
    );
    family(
        "mesos_gpu_give_backs_total",
        "counter",
        "How often something was given back to the inner allocator.",
        vec![format!(" {}", totals.give_backs)],
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_line_and_no_name_breaks_one() {
        let withheld = [Withheld {
            framework: "id-1",
            name: "a \"b\"\nc",
            reason: "cap",
            times: 7,
        }];
        let totals = Totals {
            agents: 3,
            give_backs: 9,
        };
        let text = text(&withheld, &BTreeMap::from([("*", 2000), ("a/b", 500)]), totals);
        for line in [
            r#"mesos_gpu_withheld_total{framework="id-1",name="a \"b\"\nc",reason="cap"} 7"#,
            r#"mesos_gpu_role_gpus{role="*"} 2"#,
            r#"mesos_gpu_role_gpus{role="a/b"} 0.5"#,
            "mesos_gpu_agents 3",
            "mesos_gpu_give_backs_total 9",
            "# TYPE mesos_gpu_withheld_total counter",
            "# TYPE mesos_gpu_role_gpus gauge",
        ] {
            assert!(text.lines().any(|is| is == line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with('\n'));
    }
}
