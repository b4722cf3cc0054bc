// SPDX-License-Identifier: Apache-2.0
//! Where the witnesses contradict each other.

use super::{
    ALL_GPUS_OPEN, CHECKPOINT_OF_EARLIER_BOOT, CHECKPOINT_UNUSABLE, FOREIGN_PROCESS, GRANTED_NOT_WRITTEN,
    HELD_GPU_GONE, HOLDER_GONE, KERNEL_UNKNOWN, Line, NO_CHECKPOINT, SHARED, TWO_HOLDERS,
    WRITTEN_NOT_GRANTED, Witnesses,
};
use crate::domain::container::ContainerId;
use crate::tool::finding::Finding;
use crate::tool::list::names;
use crate::tool::machine::holders::Written;

/// What contradicts, with what to do.
pub fn judge(witnesses: &Witnesses, checkpoint: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    of_the_checkpoint(witnesses, checkpoint, &mut findings);
    if let Err(why) = &witnesses.granted {
        let cure = "run this as root on the agent's machine, in its mount namespace";
        findings.push(Finding::of(KERNEL_UNKNOWN, why.clone(), cure));
    }
    for one in witnesses.granted.iter().flatten() {
        if let Some(rule) = one.opens_all {
            let what = format!(
                "container {} can open every GPU: its devices cgroup has \"{rule}\"",
                one.container
            );
            let cure = "find who wrote that rule (systemd, a device list with wildcards in --allowed_devices), and end the \
                        container";
            findings.push(Finding::of(ALL_GPUS_OPEN, what, cure));
        }
    }
    for line in witnesses.lines() {
        holders(witnesses, &line, &mut findings);
        processes(witnesses, &line, &mut findings);
    }
    findings
}

fn of_the_checkpoint(witnesses: &Witnesses, checkpoint: &str, findings: &mut Vec<Finding>) {
    findings.push(match &witnesses.written {
        Written::Record(_) => return,
        Written::Nothing => Finding::of(
            NO_CHECKPOINT,
            format!("there is no checkpoint at {checkpoint}"),
            "name the agent's folder with --work-dir or --checkpoint-dir; an agent that never had a container with GPUs has none",
        ),
        Written::Unusable(why) => Finding::of(
            CHECKPOINT_UNUSABLE,
            why.clone(),
            "keep a copy of it; the agent goes by the kernel's rules and writes it anew at its next change",
        ),
        Written::EarlierBoot => Finding::of(
            CHECKPOINT_OF_EARLIER_BOOT,
            format!("{checkpoint} was written in an earlier boot; what it lists is held by nobody"),
            "nothing: the agent writes it anew",
        ),
    });
}

fn holders(witnesses: &Witnesses, line: &Line, findings: &mut Vec<Finding>) {
    let id = &line.id;
    let written_down = matches!(witnesses.written, Written::Record(_));
    let on_it = with(&line.written, &line.guests);
    if !on_it.is_empty() && line.index.is_none() {
        findings.push(Finding::of(
            HELD_GPU_GONE,
            format!("{id} is {} and is not on this machine", whose(line)),
            "see nvidia-smi and the kernel's log; end the container where the GPU does not come back",
        ));
        return;
    }
    let unknown = without(&line.granted, &on_it);
    let claims = with(&line.written, &unknown);
    if claims.len() > 1 {
        findings.push(Finding::of(
            TWO_HOLDERS,
            format!("{id} belongs to {}", names(&claims)),
            "end one of the containers; the agent keeps the GPU back until both are gone",
        ));
    } else if written_down && !unknown.is_empty() {
        findings.push(Finding::of(
            GRANTED_NOT_WRITTEN,
            format!(
                "{} can open {id}, and the checkpoint does not name it there",
                names(&unknown)
            ),
            "restart the agent, which then books what the kernel grants",
        ));
    }
    if !line.guests.is_empty() {
        let text = format!("{id} is {}", whose(line));
        let cure = "nothing: a guest goes when the holder wants its GPU, or another container is to hold it";
        findings.push(Finding::of(SHARED, text, cure));
    }
    let Ok(granted) = &witnesses.granted else { return };
    for container in without(&on_it, &line.granted) {
        let role = if line.guests.contains(&container) {
            "is a guest on"
        } else {
            "holds"
        };
        findings.push(if granted.iter().any(|one| one.container == container) {
            Finding::of(
                WRITTEN_NOT_GRANTED,
                format!("container {container} {role} {id} by the checkpoint and cannot open it"),
                "a running agent puts the rule back at its next look (health_interval); where it does not, see its log",
            )
        } else {
            Finding::of(
                HOLDER_GONE,
                format!("container {container} {role} {id} by the checkpoint and has no devices cgroup"),
                "start the agent, which gives the GPU back; where it runs, check its --cgroups_root and see its log",
            )
        });
    }
}

fn without(all: &[ContainerId], others: &[ContainerId]) -> Vec<ContainerId> {
    all.iter().filter(|one| !others.contains(one)).cloned().collect()
}

fn with(all: &[ContainerId], others: &[ContainerId]) -> Vec<ContainerId> {
    all.iter().chain(&without(others, all)).cloned().collect()
}

/// Who is on a unit by the checkpoint.
fn whose(line: &Line) -> String {
    let held = match names(&line.written) {
        none if none.is_empty() => "held by nobody".to_owned(),
        some => format!("held by {some}"),
    };
    match &line.guests[..] {
        [] => held,
        [one] => format!("{held}, with the guest {one}"),
        some => format!("{held}, with the guests {}", names(some)),
    }
}

fn processes(witnesses: &Witnesses, line: &Line, findings: &mut Vec<Finding>) {
    for (pid, container) in &line.processes {
        let on_it = |one: &ContainerId| {
            [&line.granted, &line.written, &line.guests]
                .iter()
                .any(|all| all.contains(one))
        };
        if container.as_ref().is_some_and(on_it) || witnesses.granted.is_err() {
            continue;
        }
        let whose = container.as_ref().map_or_else(
            || "no container of this agent".to_owned(),
            |container| format!("container {container}, which does not hold it"),
        );
        findings.push(Finding::of(
            FOREIGN_PROCESS,
            format!("process {pid} computes on {} and belongs to {whose}", line.id),
            "end it, or leave its GPU to it with the parameter gpus; for an MPS server of the machine's own set \
             process_check to off",
        ));
    }
}
