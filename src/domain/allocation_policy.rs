// SPDX-License-Identifier: Apache-2.0
//! Which framework is offered what of an agent with GPUs: the rules as data, and what follows from them for one framework
//! and one role. What follows for one offer is [`cut`], when it is whose turn is [`turn`], who has how many is [`count`].

pub mod count;
pub mod cut;
pub mod piece;
pub mod turn;

use std::fmt;
use std::time::Duration;

/// What frameworks without the capability `GPU_RESOURCES` are offered of agents with GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Nothing, as Mesos by itself.
    Strict,
    /// All but GPUs, and but what the free GPUs need to be of use.
    Share,
    /// All.
    Open,
}

/// Whom a rule is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A role, and the roles below it.
    Role(String),
    /// All frameworks of a name, or the one with this id.
    Framework(String),
}

impl Subject {
    /// Whether this is a framework's role.
    pub fn covers(&self, id: &str, name: &str, role: &str) -> bool {
        match self {
            Self::Framework(own) => own == id || own == name,
            Self::Role(own) => role
                .strip_prefix(own.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        }
    }

    /// Of two rules for the same framework and role the one that says more exactly for whom it is counts: a framework
    /// before a role, its id before its name, a role before those above it.
    fn exactness(&self, id: &str) -> usize {
        match self {
            Self::Role(role) => role.len(),
            Self::Framework(own) => usize::MAX - usize::from(own != id),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Role(name) => write!(f, "role:{name}"),
            Self::Framework(name) => write!(f, "framework:{name}"),
        }
    }
}

/// A rule for some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule<T> {
    /// For whom.
    pub subject: Subject,
    /// What.
    pub value: T,
}

/// What each free GPU needs beside it, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headroom {
    /// Of `cpus`.
    pub cpus: u64,
    /// Of `mem`, in thousandths of a megabyte.
    pub mem: u64,
    /// Of `disk`, in thousandths of a megabyte.
    pub disk: u64,
}

impl Headroom {
    /// What so many GPUs need.
    pub fn of(self, gpus: u64) -> Self {
        Self {
            cpus: self.cpus.saturating_mul(gpus),
            mem: self.mem.saturating_mul(gpus),
            disk: self.disk.saturating_mul(gpus),
        }
    }
}

/// The rules of one master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// For whom nothing else is said.
    pub policy: Policy,
    /// For whom something else is said.
    pub overrides: Vec<Rule<Policy>>,
    /// The most GPUs that some may have together, offered and in use.
    pub caps: Vec<Rule<u64>>,
    /// What is kept for each free GPU from those who are not given it.
    pub headroom: Headroom,
    /// How long what was withheld is not offered again to the same framework.
    pub refuse_time: Duration,
}

impl Settings {
    /// Whether Mesos's own filter does all there is to do about the capability: it hides agents with GPUs before they cost
    /// anything, and from everyone alike.
    pub fn inner_filters(&self) -> bool {
        self.policy == Policy::Strict && self.overrides.iter().all(|rule| rule.value == Policy::Strict)
    }

    /// The policy for a framework's role.
    pub fn policy_for(&self, id: &str, name: &str, role: &str) -> Policy {
        self.overrides
            .iter()
            .filter(|rule| rule.subject.covers(id, name, role))
            .max_by_key(|rule| rule.subject.exactness(id))
            .map_or(self.policy, |rule| rule.value)
    }

    /// Which caps count what a framework's role has.
    pub fn caps_for(&self, id: &str, name: &str, role: &str) -> Vec<usize> {
        let covers = |at: &usize| self.caps[*at].subject.covers(id, name, role);
        (0..self.caps.len()).filter(covers).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str) -> Subject {
        Subject::Role(name.to_owned())
    }

    fn framework(name: &str) -> Subject {
        Subject::Framework(name.to_owned())
    }

    fn settings(policy: Policy, overrides: &[(Subject, Policy)], caps: &[(Subject, u64)]) -> Settings {
        let overrides = overrides.iter().cloned();
        let caps = caps.iter().cloned();
        Settings {
            policy,
            overrides: overrides
                .map(|(subject, value)| Rule { subject, value })
                .collect(),
            caps: caps.map(|(subject, value)| Rule { subject, value }).collect(),
            headroom: Headroom::default(),
            refuse_time: Duration::from_secs(5),
        }
    }

    #[test]
    fn the_most_exact_rule_counts_wherever_it_stands() {
        use Policy::{Open, Share, Strict};
        let mut rules = vec![
            (role("a"), Open),
            (role("a/b"), Share),
            (framework("spark"), Strict),
            (framework("id-2"), Open),
        ];
        for _ in 0..2 {
            let settings = settings(Share, &rules, &[]);
            for (id, name, role, want) in [
                ("id-1", "x", "a", Open),
                ("id-1", "x", "a/c", Open),
                ("id-1", "x", "a/b", Share),
                ("id-1", "x", "a/b/c", Share),
                ("id-1", "x", "ab", Share),
                ("id-1", "spark", "a", Strict),
                ("id-2", "spark", "a/b", Open),
                ("id-1", "x", "*", Share),
            ] {
                assert_eq!(settings.policy_for(id, name, role), want, "{id} {name} {role}");
            }
            rules.reverse();
        }
    }

    #[test]
    fn a_cap_on_a_role_counts_the_roles_below_it_and_no_other() {
        let settings = settings(
            Policy::Share,
            &[],
            &[(role("a"), 1), (role("a/b"), 2), (framework("spark"), 3)],
        );
        for (name, role, want) in [
            ("x", "a", vec![0]),
            ("x", "a/b", vec![0, 1]),
            ("x", "a/bc", vec![0]),
            ("spark", "c", vec![2]),
            ("spark", "a/b/c", vec![0, 1, 2]),
            ("x", "c", vec![]),
        ] {
            assert_eq!(settings.caps_for("id", name, role), want, "{name} {role}");
        }
    }

    #[test]
    fn mesos_filters_by_itself_only_where_everyone_is_strict() {
        use Policy::{Open, Share, Strict};
        for (policy, overrides, want) in [
            (Strict, vec![], true),
            (Strict, vec![(role("a"), Strict)], true),
            (Strict, vec![(role("a"), Open)], false),
            (Strict, vec![(framework("a"), Share)], false),
            (Share, vec![], false),
            (Open, vec![(role("a"), Strict)], false),
        ] {
            assert_eq!(
                settings(policy, &overrides, &[]).inner_filters(),
                want,
                "{policy:?} {overrides:?}"
            );
        }
    }
}
