// SPDX-License-Identifier: Apache-2.0
//! Whether the master's flags do what one thinks beside the allocator.

use super::{FILTER_OFF, GPUS_IN_FAIR_SHARE, SORTER_NOT_READ};
use crate::tool::check::Case;
use crate::tool::finding::Finding;
use crate::tool::modules::ALLOCATOR;

pub(crate) fn check(case: Case<'_>, findings: &mut Vec<Finding>) {
    let (Some(master), Some(config)) = (case.subject.master(), &case.settings.allocator) else {
        return;
    };
    if !master.names(ALLOCATOR) {
        return;
    }
    if config.settings.inner_filters() && master.is_off("filter_gpu_resources") {
        findings.push(Finding::of(
            FILTER_OFF,
            "policy is strict, which leaves the filter to Mesos, and --filter_gpu_resources is off: GPUs are offered to \
             everybody",
            "leave --filter_gpu_resources out, or set policy to open to say that it is meant",
        ));
    }
    let sorters = [
        ("role_sorter", &config.role_sorter),
        ("framework_sorter", &config.framework_sorter),
    ];
    for (name, used) in sorters {
        if let Some(flag) = master.flags.get(name).filter(|flag| flag != used) {
            findings.push(Finding::of(
                SORTER_NOT_READ,
                format!("--{name}={flag} is not handed to a module; the parameter {name} is {used}"),
                format!("set the parameter {name} of mesos_gpu_Allocator to {flag}"),
            ));
        }
    }
    if !master.has("fair_sharing_excluded_resource_names", "gpus") {
        findings.push(Finding::of(
            GPUS_IN_FAIR_SHARE,
            "gpus count in Mesos's fair shares, so a role with the only GPU counts as one with the whole cluster",
            "give --fair_sharing_excluded_resource_names=gpus",
        ));
    }
}
