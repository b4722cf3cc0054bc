// SPDX-License-Identifier: Apache-2.0
//! One test, one process: started in its world, waited for with an end, and its words kept for the one who reads of a
//! failure.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use testbed::{Error, support};

use crate::cluster;
use crate::world::World;

/// Far more than any test needs; the machine may be busy with others.
const PATIENCE: Duration = Duration::from_secs(300);

/// The names of all tests, `suite.test`, as the program `harness` lists them.
///
/// # Errors
/// It could not be asked.
pub fn list(program: &Path) -> Result<Vec<String>, Error> {
    let tried = || format!("ask {} for its tests", program.display());
    let output = Command::new(program)
        .arg("--gtest_list_tests")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::new(tried(), error))?;
    if !output.status.success() {
        return Err(Error::new(tried(), String::from_utf8_lossy(&output.stderr)));
    }
    Ok(names(&String::from_utf8_lossy(&output.stdout)))
}

/// A suite stands at the beginning of a line, with its dot; its tests follow, indented.
fn names(listed: &str) -> Vec<String> {
    let (mut suite, mut names) = (String::new(), Vec::new());
    for line in listed.lines() {
        let word = line.split('#').next().unwrap_or_default().trim();
        match line.starts_with(' ') {
            true => names.push(format!("{suite}{word}")),
            false => suite = word.to_owned(),
        }
    }
    names
}

/// What this machine lacks for a test, which says in its name what it needs; none where it can run.
pub fn lacking(name: &str) -> Option<String> {
    needs_cgroups(name).then(support::lacking_for_cgroups).flatten()
}

fn needs_cgroups(name: &str) -> bool {
    let needs = |word: &str| name.split(['.', '_']).any(|part| part == word);
    // Mesos's own name of this one says less: its allocator is asked directly, ours by launching containers.
    let allocator = name == "NvidiaGpuTest.NVIDIA_GPU_Allocator";
    allocator || needs("ROOT") || needs("CGROUPS")
}

/// Runs a test.
///
/// # Errors
/// It failed, with all that it said.
pub fn test(program: &Path, name: &str) -> Result<String, Error> {
    let mut world = World::new()?;
    let cluster = cluster::of(name, &mut world)?;
    world.set("HARNESS_PROGRAM", program.display().to_string());
    let log = world.folder().join("log");
    let tried = || format!("run {name}");
    let file = File::create(&log).map_err(|error| Error::new(tried(), error))?;
    let errors = file.try_clone().map_err(|error| Error::new(tried(), error))?;
    let mut child = Command::new(program)
        .arg(format!("--gtest_filter={name}"))
        .arg("--gtest_color=no")
        .envs(world.variables().iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(errors)
        // Whatever it starts ends with it.
        .process_group(0)
        .spawn()
        .map_err(|error| Error::new(tried(), error))?;
    let group = Pid::from_raw(i32::try_from(child.id()).map_err(|error| Error::new(tried(), error))?);
    let until = Instant::now() + PATIENCE;
    let ended = loop {
        match child.try_wait().map_err(|error| Error::new(tried(), error))? {
            Some(status) => break Some(status),
            None if Instant::now() >= until => break None,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    // GoogleTest is content with a filter that fits nothing.
    if ended.is_some_and(|status| status.success()) && said.contains("[       OK ]") {
        return Ok(said);
    }
    let agent = cluster.map(|cluster| cluster.log()).unwrap_or_default();
    Err(Error::new(tried(), format!("{}\n{said}{agent}", end(ended))))
}

fn end(ended: Option<ExitStatus>) -> String {
    match ended {
        None => format!("it was not done after {} s", PATIENCE.as_secs()),
        Some(status) => match status.signal() {
            Some(signal) => format!("signal {signal} ended it"),
            None => format!("it ended with {status}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_has_its_suite_before_it() {
        let listed = "NvidiaGpuTest.\n  One  # GetParam() = 1\n  Two\nDockerTest.\n  One\n";
        assert_eq!(
            names(listed),
            ["NvidiaGpuTest.One", "NvidiaGpuTest.Two", "DockerTest.One"]
        );
    }

    #[test]
    fn a_name_says_what_it_needs() {
        assert!(needs_cgroups("NvidiaGpuTest.ROOT_NVIDIA_GPU_VolumeCreation"));
        assert!(needs_cgroups("GpuTest.CGROUPS_AndMore"));
        assert!(needs_cgroups("NvidiaGpuTest.NVIDIA_GPU_Allocator"));
        assert!(!needs_cgroups("NvidiaGpuTest.NVIDIA_GPU_Discovery"));
        assert!(!needs_cgroups("GpuTest.ROOTS"));
    }
}
