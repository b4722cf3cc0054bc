// SPDX-License-Identifier: Apache-2.0
//! What the log says: once for each framework and reason, with the cure. That a framework gets nothing from some agents is
//! otherwise seen by nobody but its users.

use super::agents::Agent;
use super::frameworks::Framework;
use crate::domain::allocation_policy::Policy;
use crate::domain::allocation_policy::cut::{Case, Cut, Reason};
use std::time::Duration;

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether someone should do something about it.
    pub warns: bool,
    /// The line.
    pub text: String,
}

/// A framework that gets no offer of any agent with GPUs, such as this one, by Mesos's own filter.
pub fn hidden(framework: &Framework, hostname: &str) -> Notice {
    let text = format!(
        "nothing of agents with GPUs, such as {hostname}, is offered to framework {}: it has no capability GPU_RESOURCES \
         and the policy is strict; add the capability GPU_RESOURCES to the framework, or set policy=share",
        named(framework)
    );
    Notice { warns: true, text }
}

/// What is withheld of a framework for the first time.
pub fn first(framework: &Framework, agent: &Agent, cut: &Cut<'_>, case: &Case<'_>) -> Vec<Notice> {
    let new = cut
        .reasons
        .iter()
        .filter(|reason| framework.withheld[**reason as usize] == 0);
    new.filter_map(|reason| notice(*reason, framework, agent, case))
        .collect()
}

fn notice(reason: Reason, framework: &Framework, agent: &Agent, case: &Case<'_>) -> Option<Notice> {
    let (warns, what, why) = match reason {
        Reason::Capability if case.policy == Policy::Strict => (
            true,
            "all",
            "it has no capability GPU_RESOURCES and the policy for it is strict; add the capability GPU_RESOURCES to the \
             framework, or set policy=share",
        ),
        Reason::Capability => (
            true,
            "the gpus",
            "it has no capability GPU_RESOURCES; add the capability GPU_RESOURCES to the framework if its tasks are to \
             have GPUs",
        ),
        Reason::Headroom => (
            false,
            "some cpus and mem",
            "they are kept for free GPUs until these are in use; lower cpus_per_gpu and mem_per_gpu if that is too much",
        ),
        Reason::Turn => (
            false,
            "all but what is reserved",
            "another framework waits for the free GPUs and is offered the agent first; it is offered again by and by",
        ),
        Reason::Cap => (
            true,
            "gpus",
            "it, or its role, has as many as gpu_caps allows; raise gpu_caps, or wait until some come back",
        ),
        Reason::Fraction => (
            true,
            "part of a GPU",
            "only whole GPUs are of use; make the gpus of quotas and of the agent's resources whole numbers",
        ),
        Reason::Declined => return None,
    };
    let text = format!(
        "{what} of agent {} withheld from framework {}: {why}",
        agent.hostname,
        named(framework)
    );
    Some(Notice { warns, text })
}

/// A revival that waits, for the first time.
pub fn revives(framework: &Framework, wait: Duration) -> Notice {
    let text = format!(
        "framework {} revives its offers again within {} s, while another framework waits for the free GPUs of agents that \
         it was refused: what it revives so often comes that much later; let it revive when it has new work only",
        named(framework),
        wait.as_secs_f64().ceil()
    );
    Notice { warns: false, text }
}

/// Writes them.
pub fn log(notices: Vec<Notice>) {
    for notice in notices {
        match notice.warns {
            true => log::warn!("{}", notice.text),
            false => log::info!("{}", notice.text),
        }
    }
}

fn named(framework: &Framework) -> String {
    format!("{:?} ({})", framework.name, framework.id)
}
