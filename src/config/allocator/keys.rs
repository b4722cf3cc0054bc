// SPDX-License-Identifier: Apache-2.0
//! The allocator's parameters, as a table.

use crate::config::keys::{Key, PATH, TIME_LIMIT};

/// The form of a policy.
pub(super) const POLICY: &str = "strict, share or open";
/// The form of an amount.
pub(super) const NUMBER: &str =
    "a number from 0 to 1000000 with up to three decimal digits, for example 1 or 0.5";
/// The form of an amount of memory or disk.
pub(super) const MEGABYTES: &str =
    "a whole number of megabytes, for example 4096, or one with a unit: 512MB, 4GB, 1TB";
/// The form of the overrides.
pub(super) const OVERRIDES: &str = "a comma list of role:NAME=POLICY and framework:NAME=POLICY, each NAME once, POLICY being strict, share or open";
/// The form of the caps.
pub(super) const CAPS: &str = "a comma list of role:NAME=N and framework:NAME=N, each NAME once, N being a whole number from 0 to 1000000";
/// The form of a sorter.
pub(super) const SORTER: &str = "drf or random";

/// Every parameter of the allocator.
pub const ALLOCATOR_KEYS: &[Key] = &[
    Key {
        name: "policy",
        form: POLICY,
        default: "strict",
        meaning: "what frameworks without GPU_RESOURCES are offered of agents with GPUs",
    },
    Key {
        name: "overrides",
        form: OVERRIDES,
        default: "(none)",
        meaning: "other policies for some roles, with the roles below them, and for some frameworks, by name or id",
    },
    Key {
        name: "gpu_caps",
        form: CAPS,
        default: "(none)",
        meaning: "the most GPUs that roles, with the roles below them, and frameworks, by name or id, may have",
    },
    Key {
        name: "cpus_per_gpu",
        form: NUMBER,
        default: "1",
        meaning: "the cpus that are kept for each free GPU from those who are not offered it",
    },
    Key {
        name: "mem_per_gpu",
        form: MEGABYTES,
        default: "1GB",
        meaning: "the mem that is kept for each free GPU from those who are not offered it",
    },
    Key {
        name: "disk_per_gpu",
        form: MEGABYTES,
        default: "0",
        meaning: "the disk that is kept for each free GPU from those who are not offered it",
    },
    Key {
        name: "refuse_time",
        form: TIME_LIMIT,
        default: "5secs",
        meaning: "how long what was withheld of a framework is not offered to it again",
    },
    Key {
        name: "role_sorter",
        form: SORTER,
        default: "drf",
        meaning: "the order of roles, since Mesos does not hand --role_sorter to a module",
    },
    Key {
        name: "framework_sorter",
        form: SORTER,
        default: "drf",
        meaning: "the order of a role's frameworks, since Mesos does not hand --framework_sorter to a module",
    },
    Key {
        name: "metrics_file",
        form: PATH,
        default: "(none is written)",
        meaning: "a file for Prometheus's textfile collector, in a folder that is there",
    },
];
