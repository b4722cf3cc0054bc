// SPDX-License-Identifier: Apache-2.0
//! The command line and the environment that the running Mesos was started with.
//!
//! The environment is the one that the kernel keeps from the start of the process: walking `environ` while another
//! thread of the agent changes it would be a data race, and no flag is set after the start.

use std::fs;
use std::io;
use std::path::Path;

use crate::config::MesosFlags;

/// The largest file that a flag may name.
const LARGEST: u64 = 1 << 20;

/// The flags of the process that this library is loaded into. What cannot be read counts as not given, with a log line.
pub fn of_this_process() -> MesosFlags {
    of_process(Path::new("/proc/self"))
}

fn of_process(proc: &Path) -> MesosFlags {
    let (argv, env) = started_with(proc);
    MesosFlags::parse(&argv, &env, &read)
}

/// The command line and the environment that a process was started with, from its folder under `/proc`.
pub fn started_with(proc: &Path) -> (Vec<String>, Vec<(String, String)>) {
    let env = words(&proc.join("environ"))
        .iter()
        .filter_map(|variable| variable.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    (words(&proc.join("cmdline")), env)
}

/// The texts of a file in which each ends with a NUL.
fn words(path: &Path) -> Vec<String> {
    let bytes = fs::read(path).unwrap_or_else(|error| {
        log::warn!(
            "cannot read {}: {error}; flags of the agent given there are not seen",
            path.display()
        );
        Vec::new()
    });
    let ended = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if ended.is_empty() {
        return Vec::new();
    }
    ended
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// The text of the file that a flag names. Only a file: a pipe was emptied by the agent, and reading it again would wait
/// for ever.
///
/// # Errors
/// Why it cannot be read.
pub fn read(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other(
            "it is no regular file, so it cannot be read a second time",
        ));
    }
    if metadata.len() > LARGEST {
        return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
    }
    fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_from_the_command_line_and_the_environment() {
        let proc = tempfile::tempdir().unwrap();
        let resources = proc.path().join("resources");
        fs::write(&resources, "cpus:1;gpus:2").unwrap();
        fs::write(
            proc.path().join("cmdline"),
            b"mesos-agent\0--isolation=a,b\0--hooks=\0",
        )
        .unwrap();
        let env = format!(
            "PATH=/bin\0MESOS_RESOURCES=file://{}\0MESOS_isolation=x\0odd\0",
            resources.display()
        );
        fs::write(proc.path().join("environ"), env).unwrap();
        let flags = of_process(proc.path());
        assert_eq!(flags.get("isolation"), Some("a,b"));
        assert_eq!(flags.get("resources"), Some("cpus:1;gpus:2"));
        assert_eq!(flags.get("hooks"), Some(""));
        assert!(flags.names().all(|name| name != "path"));
    }

    #[test]
    fn a_process_that_cannot_be_read_has_no_flags() {
        let proc = tempfile::tempdir().unwrap();
        assert_eq!(of_process(proc.path()), MesosFlags::default());
    }

    #[test]
    fn a_pipe_and_a_folder_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(read(&pipe).unwrap_err().to_string().contains("no regular file"));
        assert!(read(folder.path()).is_err());
        assert!(read(&folder.path().join("none")).is_err());
    }

    #[test]
    fn this_process_can_be_read() {
        let flags = of_this_process();
        assert_eq!(
            flags.get("isolation"),
            std::env::var("MESOS_ISOLATION").ok().as_deref()
        );
    }
}
