// SPDX-License-Identifier: Apache-2.0
//! The machine: what it is, and that it is afterwards what it was, its MIG mode above all.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mesos_gpu::ports::driver_proc::DriverProc;
use mesos_gpu::system::driver_files::DriverSearch;
use mesos_gpu::system::driver_proc::ProcDriver;

use super::findings::Findings;
use super::options::Options;
use super::programs::output;
use crate::error::{Error, Tried};

const LIMIT: Duration = Duration::from_secs(20);

/// Where a driver has its programs when they are on no `PATH`.
pub(super) const PROGRAMS: &str = "/usr/local/nvidia/bin";

/// What is written down of it, each the output of a shell command.
const FACTS: [(&str, &str); 12] = [
    ("kernel", "uname -a"),
    ("C library", "ldd --version | head -n 1"),
    (
        "processors and memory",
        "nproc; grep -E 'MemTotal|MemFree' /proc/meminfo",
    ),
    ("driver", "cat /proc/driver/nvidia/version"),
    ("GPUs by the kernel", "cat /proc/driver/nvidia/gpus/*/information"),
    ("majors", "grep -i nvidia /proc/devices"),
    (
        "driver's files",
        "ls -l /usr/local/nvidia /usr/local/nvidia/lib64 /usr/local/nvidia/bin",
    ),
    ("loader's cache", "/sbin/ldconfig -p | grep -iE 'nvidia|libcuda'"),
    (
        "mounts",
        "grep -E 'cgroup|nvidia| / ' /proc/self/mounts; wc -l /proc/self/mounts",
    ),
    ("cgroup controllers", "cat /proc/cgroups"),
    ("nvidia-smi", "nvidia-smi"),
    ("nvidia-smi -q", "nvidia-smi -q"),
];

/// What must not change, the same way.
const STATE: [(&str, &str); 5] = [
    (
        "MIG and modes",
        "nvidia-smi --format=csv --query-gpu=index,uuid,mig.mode.current,mig.mode.pending,compute_mode,persistence_mode",
    ),
    ("MIG instances", "nvidia-smi -L"),
    (
        "device nodes",
        "ls -lnR --time-style=+ /dev/nvidia* /dev/nvidia-caps",
    ),
    ("parameters", "cat /proc/driver/nvidia/params"),
    (
        "MIG capabilities",
        "find /proc/driver/nvidia/capabilities -type f | sort | xargs -r tail -n +1",
    ),
];

/// How many GPUs the kernel's driver lists.
pub(super) fn gpus() -> usize {
    ProcDriver::new("/proc/driver/nvidia".into()).read().gpus.len()
}

/// The chapter of what it is.
pub(super) fn before(options: &Options, findings: &mut Findings) -> Result<(), Error> {
    let facts = told(&FACTS)?;
    options.write_log("machine-facts", &facts)?;
    let state = told(&STATE)?;
    options.write_log("state-before", &state)?;
    if options.simulate {
        findings.not_shown("the GPUs of this machine", "they are simulated");
        return Ok(());
    }
    let version = std::fs::read_to_string("/proc/driver/nvidia/version")
        .tried(|| "read the driver's version".to_owned())?;
    findings.note("driver", version);
    findings.note("MIG, modes, GPUs", section(&state, STATE[0].0));
    let report = ProcDriver::new("/proc/driver/nvidia".into()).read();
    findings.check(
        "the kernel's driver lists a GPU",
        !report.gpus.is_empty(),
        format!("{report:?}"),
    );
    let found = DriverSearch::new(None, None).find(report.driver_version.as_deref());
    let files = found.as_ref().map_or(0, |driver| driver.files.len());
    options.write_log("driver-files", &format!("{found:#?}\n"))?;
    findings.note("files of the driver, as the module finds them", files);
    findings.check(
        "the module finds the driver's files",
        files > 10,
        format!("{found:?}"),
    );
    Ok(())
}

/// The chapter of whether it is what it was.
pub(super) fn after(options: &Options, findings: &mut Findings) -> Result<(), Error> {
    let now = told(&STATE)?;
    options.write_log("state-after", &now)?;
    let file = options.log("state-before");
    let before = std::fs::read_to_string(&file).tried(|| format!("read {}", file.display()))?;
    for (name, _) in STATE {
        let (was, is) = (section(&before, name), section(&now, name));
        findings.check(
            &format!("{name}: as it was"),
            was == is,
            format!("it was\n{was}and is\n{is}"),
        );
    }
    Ok(())
}

/// `== <name>` and what the command printed, for each.
fn told(facts: &[(&str, &str)]) -> Result<String, Error> {
    let mut all = String::new();
    for (name, script) in facts {
        let script = format!("PATH=$PATH:{PROGRAMS}; {script}");
        let said = output(Command::new("sh").args(["-c", script.as_str()]), LIMIT)?;
        all += &format!("== {name}\n{}\n", said.trim_end());
    }
    Ok(all)
}

fn section<'a>(text: &'a str, name: &str) -> &'a str {
    let head = format!("== {name}\n");
    let rest = text.split_once(&head).map_or("", |(_, rest)| rest);
    rest.find("== ").map_or(rest, |end| &rest[..end])
}

/// `nvidia-smi` of this machine.
pub(super) fn smi() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from(PROGRAMS)]);
    folders
        .map(|folder| folder.join("nvidia-smi"))
        .find(|file| file.is_file())
}

/// Files of this machine's driver by the names that programs load, where the loader's cache has them.
pub(super) fn libraries(names: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let said = output(Command::new("/sbin/ldconfig").arg("-p"), LIMIT)?;
    let files = said.lines().filter_map(|line| {
        let (name, file) = line.split_once(" => ")?;
        let name = name.split_whitespace().next()?;
        (names.contains(&name) && line.contains("x86-64")).then(|| Path::new(file.trim()).to_owned())
    });
    Ok(files.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let text = told(&[("one", "echo 1"), ("two", "echo 2; exit 4")]).unwrap();
        assert_eq!(section(&text, "one"), "1\n");
        assert_eq!(section(&text, "two"), "2\n(it ended with exit status: 4)\n");
        assert_eq!(section(&text, "three"), "");
    }

    #[test]
    fn the_loaders_cache_has_the_c_library() {
        if !Path::new("/sbin/ldconfig").exists() {
            return fake_nvml::skip("ldconfig");
        }
        assert!(libraries(&["libc.so.6"]).unwrap()[0].is_file());
        assert!(libraries(&["libnothing.so.6"]).unwrap().is_empty());
    }
}
