// SPDX-License-Identifier: Apache-2.0
//! The programs that were compiled with this one, written out where they are to run.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Tried};

/// Runs a kernel and checks what comes back.
pub(super) const CUDA_CHECK: Program = Program {
    name: "cuda-check",
    image: include_bytes!(concat!(env!("OUT_DIR"), "/cuda_check")),
};
/// Writes down every answer of an NVML.
pub(super) const NVML_ANSWERS: Program = Program {
    name: "nvml-answers",
    image: include_bytes!(concat!(env!("OUT_DIR"), "/nvml_answers")),
};
/// Tells for some seconds what NVML says of the processes on a GPU.
pub(super) const NVML_WATCH: Program = Program {
    name: "nvml-watch",
    image: include_bytes!(concat!(env!("OUT_DIR"), "/nvml_watch")),
};
/// The libcuda of a simulated driver.
pub(super) const SIMULATED_CUDA: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/simulated_cuda"));

/// A program, as bytes.
pub(super) struct Program {
    /// Its file name.
    pub(super) name: &'static str,
    image: &'static [u8],
}

impl Program {
    /// Writes it into a folder, and says where it is.
    pub(super) fn write_to(&self, folder: &Path) -> Result<PathBuf, Error> {
        let path = folder.join(self.name);
        let tried = || format!("write {}", path.display());
        fs::create_dir_all(folder).tried(tried)?;
        fs::write(&path, self.image).tried(tried)?;
        fs::set_permissions(&path, Permissions::from_mode(0o755)).tried(tried)?;
        Ok(path)
    }
}

/// Runs a command and gives back what it printed, whatever became of it; a command that takes longer than `limit` is killed.
pub(super) fn output(command: &mut Command, limit: Duration) -> Result<String, Error> {
    let what = format!("run {command:?}");
    let tried = || what.clone();
    let file = tempfile::NamedTempFile::new().tried(tried)?;
    // Both append, so that neither writes over the other.
    let open = || fs::OpenOptions::new().append(true).open(file.path());
    let (out, errors) = (open().tried(tried)?, open().tried(tried)?);
    command.stdin(Stdio::null()).stdout(out).stderr(errors);
    let mut child = command.spawn().tried(tried)?;
    let until = Instant::now() + limit;
    let ended = loop {
        match child.try_wait().tried(tried)? {
            Some(status) if status.success() => break String::new(),
            Some(status) => break format!("(it ended with {status})\n"),
            None if Instant::now() >= until => {
                let _ = child.kill();
                let _ = child.wait();
                break format!("(it was killed after {} s)\n", limit.as_secs());
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let text = fs::read(file.path()).tried(tried)?;
    Ok(String::from_utf8_lossy(&text).into_owned() + &ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_and_the_end_are_told() {
        let run = |script: &str| {
            output(
                Command::new("sh").args(["-c", script]),
                Duration::from_millis(500),
            )
            .unwrap()
        };
        assert_eq!(run("echo a; echo b >&2; echo c"), "a\nb\nc\n");
        assert!(run("echo a; exit 3").starts_with("a\n(it ended with exit status: 3"));
        assert!(run("echo a; exec sleep 60").ends_with("(it was killed after 0 s)\n"));
    }

    #[test]
    fn the_check_says_what_is_missing_where_there_is_no_cuda() {
        if super::super::is_here() {
            return fake_nvml::skip("a machine without NVIDIA's driver");
        }
        let folder = tempfile::tempdir().unwrap();
        let program = CUDA_CHECK.write_to(folder.path()).unwrap();
        let said = output(&mut Command::new(program), Duration::from_secs(30)).unwrap();
        assert!(
            said.contains("cuda missing libcuda.so.1") && said.contains("status: 3"),
            "{said}"
        );
    }
}
