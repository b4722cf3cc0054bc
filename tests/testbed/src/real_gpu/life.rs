// SPDX-License-Identifier: Apache-2.0
//! A container that computes while its agent is killed: it keeps its GPU, nobody else gets it, and it is free soon after the
//! end, which only NVML's own list of processes can tell.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::cluster::{Cluster, PATIENCE};
use super::findings::Findings;
use crate::Agent;
use crate::error::{Error, Tried};
use crate::operator::{ApiError, LaunchContainer};

/// A container id that was not used before.
pub(super) fn fresh_id() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("gpu{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn launch(agent: &Agent, id: &str, gpus: usize, command: &str) -> Result<(), ApiError> {
    #[allow(clippy::cast_precision_loss, reason = "no machine has that many")]
    let resources = [("cpus", 0.1), ("mem", 32.0), ("gpus", gpus as f64)];
    let launch = LaunchContainer::new(&[id], command).resources(&resources);
    agent.operator().launch_container(&launch)
}

/// Tells it.
pub(super) fn tell(cluster: &Cluster, agent: &mut Agent, findings: &mut Findings) -> Result<(), Error> {
    let gpus = cluster.gpus();
    let tried = || "let a container compute".to_owned();
    let program = cluster.cuda_check.display();
    launch(
        agent,
        "computes",
        gpus,
        &format!("CUDA_CACHE_DISABLE=1 exec {program} busy 60"),
    )
    .tried(tried)?;
    until_busy(&agent.work_dir().join("containers/computes/stdout"))?;
    let rules = agent.device_rules()?;
    let granted = rules.get(&PathBuf::from("computes")).cloned().unwrap_or_default();
    findings.note("device rules of a container with all GPUs", granted.join(", "));
    let of_gpus = |rule: &&String| rule.starts_with("c 195:") && !rule.starts_with("c 195:255 ");
    findings.check(
        "its rules open every GPU",
        granted.iter().filter(of_gpus).count() == gpus,
        format!("{granted:?}"),
    );

    let before = agent.container_processes()?;
    agent.kill9()?;
    let began = Instant::now();
    agent.restart()?;
    agent.wait_registered(PATIENCE)?;
    findings.figure(
        "agent registered again after kill -9",
        began.elapsed().as_secs_f64() * 1e3,
        "ms",
    );
    let known = agent
        .operator()
        .containers()
        .tried(|| "list the containers".to_owned())?;
    findings.check(
        "the new agent knows the container",
        known.iter().any(|container| container.id == ["computes"]),
        format!("{known:?}"),
    );
    let after = agent.container_processes()?;
    findings.check(
        "which computes on",
        !before.is_empty() && before.iter().all(|process| after.contains(process)),
        format!("{before:?}, then {after:?}"),
    );
    let refused = launch(agent, "second", 1, "true");
    findings.check(
        "nobody else gets its GPU",
        refused
            .as_ref()
            .is_err_and(|error| error.to_string().contains(&format!("0 of {gpus} free"))),
        format!("{refused:?}"),
    );

    let operator = agent.operator();
    operator.kill_container(&["computes"], None).tried(tried)?;
    match operator.wait_container(&["computes"]) {
        Err(error) if error.is_gone() => {}
        ended => drop(ended.tried(tried)?),
    }
    let began = Instant::now();
    let next = launch(agent, "next", gpus, "true");
    findings.figure(
        "from its end to the next launch's answer",
        began.elapsed().as_secs_f64() * 1e3,
        "ms",
    );
    findings.check("the next container gets it", next.is_ok(), format!("{next:?}"));
    Ok(())
}

/// Waits until the program that computes has said in this file that it does.
pub(super) fn until_busy(file: &Path) -> Result<(), Error> {
    let until = Instant::now() + PATIENCE;
    loop {
        let said = std::fs::read_to_string(file).unwrap_or_default();
        if said.contains("cuda busy") {
            return Ok(());
        }
        if said.contains("cuda failed") || said.contains("cuda missing") || Instant::now() > until {
            return Err(Error::new("see a program compute", said));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
