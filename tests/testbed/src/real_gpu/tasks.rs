// SPDX-License-Identifier: Apache-2.0
//! The chapters of what tasks can do: with a GPU and without, on the host's file system and in an image. Of this module it is
//! demanded; of the built-in it is written down.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use super::cluster::{Cluster, IMAGE, PATIENCE, Support, sandbox};
use super::findings::Findings;
use super::options::Options;
use super::{figures, life};
use crate::error::{Error, Tried};
use crate::image_probe::Sight;
use crate::scheduler::{Framework, FrameworkOptions, Task};
use crate::{Agent, Testbed};

/// What a task does: it tries every node, lists the GPUs with the driver's own program, and computes.
const SCRIPT: &str = "for node in /dev/nvidia*; do test -c $node || continue; \
    if why=$( (: <>$node) 2>&1 ); then why=opened; fi; echo \"node $node $why\"; done; \
    echo \"visible $NVIDIA_VISIBLE_DEVICES\"; export CUDA_CACHE_DISABLE=1; nvidia-smi -L 2>&1; echo \"smi ended $?\"; ";

/// This module: all of it.
pub(super) fn ours(options: &Options, findings: &mut Findings) -> Result<(), Error> {
    let cluster = Cluster::start(options)?;
    let began = Instant::now();
    let mut agent = cluster.agent(Support::Ours).start()?;
    agent.wait_registered(PATIENCE)?;
    let told = (|| {
        findings.figure("agent registered", began.elapsed().as_secs_f64() * 1e3, "ms");
        tell(&cluster, &agent, Support::Ours, findings)?;
        life::tell(&cluster, &mut agent, findings)
    })();
    let log = agent.log();
    options.write_log("mesos-gpu-agent", &log)?;
    let lines: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split_once("mesos_gpu: ").map(|(_, rest)| rest))
        .collect();
    findings.note("what the module said in the agent's log", lines.join("\n"));
    told
}

/// Mesos's own.
pub(super) fn built_in(options: &Options, findings: &mut Findings) -> Result<(), Error> {
    let cluster = Cluster::start(options)?;
    let began = Instant::now();
    let mut agent = cluster.agent(Support::BuiltIn).start()?;
    let told = agent.wait_registered(PATIENCE).and_then(|_| {
        findings.figure("agent registered", began.elapsed().as_secs_f64() * 1e3, "ms");
        tell(&cluster, &agent, Support::BuiltIn, findings)
    });
    options.write_log("gpu-nvidia-agent", &agent.log())?;
    told
}

fn tell(cluster: &Cluster, agent: &Agent, support: Support, findings: &mut Findings) -> Result<(), Error> {
    let framework = Framework::subscribe(cluster.master.address(), &FrameworkOptions::named("real-gpu"))
        .tried(|| "subscribe the framework".to_owned())?;
    let host_program = cluster.cuda_check.display().to_string();
    let host_path = cluster.driver_programs().display().to_string();
    // Tasks on the host have no driver on their path unless they put it there; in an image it is there.
    for (place, image, program, path) in [
        ("host", false, host_program.as_str(), host_path.as_str()),
        ("image", true, "/bin/cuda-check", ""),
    ] {
        for gpus in [1, 0] {
            let id = format!("{place}-{gpus}");
            let command = format!("PATH=$PATH:{path}; {SCRIPT} {program} 2>&1; echo \"cuda ended $?\"");
            let began = Instant::now();
            let said = run(agent, &framework, &id, &command, image, gpus)?;
            let title = format!("task with {gpus} GPUs, {place}");
            findings.figure(
                &format!("{title}: from offer to end"),
                began.elapsed().as_secs_f64() * 1e3,
                "ms",
            );
            findings.note(&title, &said);
            Seen::read(&said).judge(&title, gpus, image, support, findings);
        }
    }
    probe(agent, &framework, findings)?;
    let written = figures::written(agent)?;
    findings.figure("written by the agent so far", written, "MB");
    framework
        .teardown()
        .tried(|| "take the framework down".to_owned())
}

/// What a program in the image sees when it clears its environment, which only the image probe tells.
fn probe(agent: &Agent, framework: &Framework, findings: &mut Findings) -> Result<(), Error> {
    let program = Testbed::image_probe()?;
    let program = format!("/bin/{}", program.file_name().unwrap_or_default().display());
    let said = run(agent, framework, "probe", &format!("exec {program}"), true, 1)?;
    let seen = Sight::from_output(&said)?;
    findings.note("in the image, libcuda", format!("{:?}", seen.cuda));
    findings.note("in the image, libnvidia-ml", format!("{:?}", seen.nvml));
    if let Some(bare) = &seen.bare {
        let smi = bare.smi.as_ref().map(|smi| smi.success);
        let text = format!("libcuda {:?}, nvidia-smi succeeds: {smi:?}", bare.cuda);
        findings.note("in the image, with an empty environment", text);
    }
    findings.note("in the image, driver's files", seen.driver_files.len());
    // Those of files below it are as many as the driver has files.
    let mounts = seen.mounts.iter().filter(|mount| {
        ["/usr/local/nvidia", "/dev"].contains(&mount.point.as_str())
            || mount.point.starts_with("/dev/nvidia")
    });
    let shown = mounts.map(|mount| format!("{} {} {}", mount.point, mount.kind, mount.options));
    findings.note("in the image, mounts", shown.collect::<Vec<_>>().join("\n"));
    findings.note("in the image, mounts altogether", seen.mounts.len());
    Ok(())
}

/// Runs a shell command as a task, and gives back what it printed.
fn run(
    agent: &Agent,
    framework: &Framework,
    id: &str,
    command: &str,
    image: bool,
    gpus: u32,
) -> Result<String, Error> {
    let tried = || format!("run the task {id}");
    let mut resources = vec![("cpus", 0.1), ("mem", 32.0)];
    if gpus > 0 {
        resources.push(("gpus", gpus.into()));
    }
    let offer = framework.offer_with(&resources, PATIENCE).tried(tried)?;
    let mut task = Task::new(id, command).resources(&resources);
    if image {
        task = task.image(IMAGE);
    }
    framework.launch(&offer, &[task]).tried(tried)?;
    let end = framework.wait_terminal(id, PATIENCE).tried(tried)?;
    let folder: PathBuf = sandbox(agent, framework, id)?;
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    match end.state.as_str() {
        "TASK_FINISHED" => Ok(read("stdout")),
        _ => {
            let said = format!("{end}\n{}{}", read("stdout"), read("stderr"));
            Err(Error::new(tried(), said))
        }
    }
}

/// What a task printed.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    /// What opening each node gave: `opened`, or the shell's words.
    nodes: BTreeMap<String, String>,
    visible: String,
    /// The GPUs that `nvidia-smi` listed.
    listed: usize,
    smi_ended: Option<i32>,
    /// What the program that computes told, by key.
    cuda: BTreeMap<String, String>,
    cuda_ended: Option<i32>,
}

impl Seen {
    fn read(text: &str) -> Self {
        let mut seen = Self::default();
        for line in text.lines() {
            let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
            let (key, value) = rest.split_once(' ').unwrap_or((rest, ""));
            match (first, key) {
                ("node", node) => {
                    seen.nodes.insert(node.to_owned(), value.to_owned());
                }
                ("visible", _) => rest.clone_into(&mut seen.visible),
                ("GPU", _) => seen.listed += 1,
                ("smi", "ended") => seen.smi_ended = value.parse().ok(),
                ("cuda", "ended") => seen.cuda_ended = value.parse().ok(),
                ("cuda", key) => {
                    seen.cuda.insert(key.to_owned(), value.to_owned());
                }
                _ => {}
            }
        }
        seen
    }

    /// Nodes that device control lets through. A simulated one has no device behind it.
    fn open(&self, wanted: impl Fn(&str) -> bool) -> usize {
        let open = |why: &str| why == "opened" || why.contains("No such device or address");
        let nodes = self.nodes.iter();
        nodes
            .filter(|(node, why)| wanted(node.trim_start_matches("/dev/nvidia")) && open(why))
            .count()
    }

    fn judge(&self, title: &str, gpus: u32, image: bool, support: Support, findings: &mut Findings) {
        let is_gpu = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        let wanted = gpus as usize;
        let ours = support == Support::Ours;
        let mut say = |what: &str, holds: bool| {
            let what = format!("{title}: {what}");
            if ours || holds {
                findings.check(&what, holds, format!("{self:?}"));
            } else {
                findings.note(&what, "does not hold of the built-in");
            }
        };
        say("it can open as many GPUs", self.open(is_gpu) == wanted);
        if gpus == 0 {
            say("nor any other node of the driver", self.open(|_| true) == 0);
            say("nvidia-smi lists none", self.listed == 0);
            say("CUDA refuses", matches!(self.cuda_ended, Some(code) if code != 0));
            say("no GPU is named", ["void", ""].contains(&self.visible.as_str()));
            if image {
                say("there is no node at all", self.nodes.is_empty());
            }
            return;
        }
        let uvm = self.open(|rest| ["ctl", "-uvm"].contains(&rest));
        say("it can open the control nodes", uvm == 2);
        say(
            "nvidia-smi lists it",
            self.listed == wanted && self.smi_ended == Some(0),
        );
        say("CUDA computes and the result is right", self.computed(wanted));
        let uuid = self.cuda.get("uuid");
        say(
            "CUDA's GPU is the one that the environment names",
            uuid.is_some_and(|uuid| *uuid == self.visible),
        );
    }

    fn computed(&self, gpus: usize) -> bool {
        let told = |key: &str| self.cuda.get(key).map(String::as_str);
        self.cuda_ended == Some(0)
            && told("devices") == Some(gpus.to_string().as_str())
            && told("checked") == Some("65536")
            && self.cuda.contains_key("done")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "node /dev/nvidia0 opened\nnode /dev/nvidia1 sh: cannot open /dev/nvidia1: Operation not permitted\n\
        node /dev/nvidia-uvm sh: 1: cannot open /dev/nvidia-uvm: No such device or address\nnode /dev/nvidiactl opened\n\
        visible GPU-7\nGPU 0: NVIDIA H200 (UUID: GPU-7)\nsmi ended 0\ncuda devices 1\ncuda uuid GPU-7\ncuda checked 65536\n\
        cuda done\ncuda ended 0\n";

    #[test]
    fn what_a_task_printed_is_read_and_judged() {
        let folder = tempfile::tempdir().unwrap();
        let judged = |text: &str, gpus, support| {
            let mut findings = Findings::of("c", &folder.path().join("f")).unwrap();
            Seen::read(text).judge("t", gpus, false, support, &mut findings);
            findings.all_right()
        };
        assert!(judged(TOLD, 1, Support::Ours));
        assert!(!judged(TOLD, 0, Support::Ours) && judged(TOLD, 0, Support::BuiltIn));
        for (was, is) in [
            ("nvidia1 sh: cannot", "nvidia1 opened\nx"),
            ("checked 65536", "failed at once"),
            ("smi ended 0", "smi ended 9"),
            ("visible GPU-7", "visible GPU-8"),
            ("nvidiactl opened", "nvidiactl refused"),
        ] {
            assert!(!judged(&TOLD.replace(was, is), 1, Support::Ours), "{is}");
        }
        let none =
            "visible void\nFailed to initialize NVML\nsmi ended 255\ncuda failed cuInit\ncuda ended 1\n";
        assert!(judged(none, 0, Support::Ours));
        assert!(!judged("", 0, Support::Ours), "nothing ran");
    }
}
