// SPDX-License-Identifier: Apache-2.0
//! Whether the process and the kernel are what the isolator needs.

use super::{DEVICES_NOT_MOUNTED, NOT_ROOT, OTHER_MOUNTS};
use crate::tool::check::Case;
use crate::tool::finding::Finding;
use crate::tool::modules::ISOLATOR;

pub(crate) fn check(case: Case<'_>, findings: &mut Vec<Finding>) {
    let Some(mesos) = &case.subject.mesos else { return };
    if let Some(running) = mesos.running.filter(|running| running.other_mounts) {
        findings.push(Finding::of(
            OTHER_MOUNTS,
            format!(
                "process {} sees other mounts than this program, so files may differ",
                running.pid
            ),
            format!("run nsenter --target {} --mount mesos-gpu check …", running.pid),
        ));
    }
    if !mesos.names(ISOLATOR) {
        return;
    }
    let uid = mesos.running.and_then(|running| running.uid);
    if let Some(uid) = uid.filter(|uid| *uid != 0) {
        findings.push(Finding::of(
            NOT_ROOT,
            format!("the agent runs as user {uid}, and device control needs root"),
            "start the agent as root",
        ));
    }
    if let Some(Err(why)) = &case.facts.devices_hierarchy {
        let what = if case.facts.only_cgroup_v2 {
            format!("{why}: this host uses cgroup v2 alone, and Mesos 1.11 controls devices with v1")
        } else {
            why.clone()
        };
        findings.push(Finding::of(
            DEVICES_NOT_MOUNTED,
            what,
            "mount the v1 controllers devices and freezer each in a folder of its own below one folder \
             (mount -t cgroup -o devices none FOLDER/devices) and give that as --cgroups_hierarchy, or boot with \
             systemd.unified_cgroup_hierarchy=0",
        ));
    }
}
