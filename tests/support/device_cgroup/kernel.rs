// SPDX-License-Identifier: Apache-2.0
//! The kernel's rules for exceptions: how they add up, and what a parent lets its child make.

use mesos_gpu::domain::device_rules::{Access, DeviceRule, NodeKind, Number};

/// One cgroup.
#[derive(Debug, Clone)]
pub(super) struct Cgroup {
    /// Whether it denies all but its exceptions, or allows all but them.
    pub denies: bool,
    /// Its exceptions.
    pub exceptions: Vec<DeviceRule>,
}

/// The root cgroup's behaviour: everything is allowed.
pub(super) const ROOT: Cgroup = Cgroup {
    denies: false,
    exceptions: Vec::new(),
};

/// The rule that changes what a cgroup does by default.
pub(super) const EVERYTHING: DeviceRule = DeviceRule {
    kind: NodeKind::All,
    major: Number::Any,
    minor: Number::Any,
    access: Access::ALL,
};

/// How the kernel says that a parent does not allow it.
pub(super) const EPERM: &str = "Operation not permitted (os error 1)";

/// Whether a child, which denies by default or not, may make this exception.
pub(super) fn permits(parent: &Cgroup, rule: DeviceRule, child_denies: bool) -> bool {
    if parent.denies {
        parent.exceptions.iter().any(|exception| {
            exception.kind == rule.kind
                && exception.major.covers(rule.major)
                && exception.minor.covers(rule.minor)
                && exception.access.covers(rule.access)
        })
    } else {
        !child_denies || !touches(&parent.exceptions, rule)
    }
}

/// Whether any exception has anything in common with the rule.
pub(super) fn touches(exceptions: &[DeviceRule], rule: DeviceRule) -> bool {
    let meets = |one: Number, other: Number| one.covers(other) || other.covers(one);
    exceptions.iter().any(|exception| {
        let common = without(rule.access, without(rule.access, exception.access));
        exception.kind == rule.kind
            && meets(exception.major, rule.major)
            && meets(exception.minor, rule.minor)
            && common != Access::default()
    })
}

pub(super) fn names_same(one: &DeviceRule, other: &DeviceRule) -> bool {
    (one.kind, one.major, one.minor) == (other.kind, other.major, other.minor)
}

/// Adds an exception; the accesses of one that names the same numbers are merged.
pub(super) fn add(exceptions: &mut Vec<DeviceRule>, rule: DeviceRule) {
    match exceptions
        .iter_mut()
        .find(|exception| names_same(exception, &rule))
    {
        Some(exception) => {
            exception.access.read |= rule.access.read;
            exception.access.write |= rule.access.write;
            exception.access.mknod |= rule.access.mknod;
        }
        None => exceptions.push(rule),
    }
}

/// Takes the accesses from the exception that names exactly these numbers; a wildcard reaches no other.
pub(super) fn take(exceptions: &mut Vec<DeviceRule>, rule: DeviceRule) {
    for exception in exceptions
        .iter_mut()
        .filter(|exception| names_same(exception, &rule))
    {
        exception.access = without(exception.access, rule.access);
    }
    exceptions.retain(|exception| exception.access != Access::default());
}

pub(super) fn without(access: Access, taken: Access) -> Access {
    Access {
        read: access.read && !taken.read,
        write: access.write && !taken.write,
        mknod: access.mknod && !taken.mknod,
    }
}
