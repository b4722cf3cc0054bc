// SPDX-License-Identifier: Apache-2.0
//! Runs NVIDIA's `nvidia-modprobe`, because it knows how to make the nodes of unified memory for the driver that is
//! loaded. It is set-user-id root and talks to the kernel: it gets nothing of the agent's environment, and a hanging
//! driver must not hang whoever asks.

mod tail;

use crate::ports::module_loader::ModuleLoader;
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};
use tail::Tail;

/// NVIDIA's helper, as it is looked for where no path is given.
pub const DEFAULT_PROGRAM: &str = "nvidia-modprobe";

/// Far longer than loading a module takes; short enough for a container that waits for it.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(10);

/// Where a program without a path is looked for: never by the agent's PATH, which others may have set.
const FOLDERS: [&str; 6] = [
    "/usr/bin",
    "/usr/sbin",
    "/bin",
    "/sbin",
    "/usr/local/bin",
    "/usr/local/nvidia/bin",
];
/// What the helper itself needs to find `modprobe`.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
/// The unified-memory module, and its node 0.
const OPTIONS: [&str; 3] = ["-u", "-c", "0"];

/// How often a running helper is looked at.
const STEP: Duration = Duration::from_millis(5);
/// How long a killed helper may take to end before it is left to a thread of its own.
const LAST_WAIT: Duration = Duration::from_millis(500);

/// NVIDIA's helper behind a time limit.
#[derive(Debug, Clone)]
pub struct NvidiaModprobe {
    program: PathBuf,
    limit: Duration,
}

impl NvidiaModprobe {
    /// `program` is an absolute path, or a name like [`DEFAULT_PROGRAM`] that is looked for in the system's folders at
    /// every call. `limit` is how long one run may take; a helper that is stuck in the kernel costs half a second more.
    pub fn new(program: PathBuf, limit: Duration) -> Self {
        Self { program, limit }
    }

    fn find(&self) -> Result<PathBuf, String> {
        if self.program.is_absolute() {
            return match is_program(&self.program) {
                true => Ok(self.program.clone()),
                false => Err("there is no such program".to_owned()),
            };
        }
        FOLDERS
            .iter()
            .map(|folder| Path::new(folder).join(&self.program))
            .find(|path| is_program(path))
            .ok_or_else(|| format!("it is not installed in {}", FOLDERS.join(", ")))
    }

    fn run(&self) -> Result<(), String> {
        let program = self.find()?;
        let begin = Instant::now();
        let start = || -> io::Result<(Child, Tail)> {
            let (tail, out, err) = Tail::new()?;
            // The command, and with it our ends of its output, is gone after this.
            let child = Command::new(&program)
                .args(OPTIONS)
                .env_clear()
                .env("PATH", PATH)
                .current_dir("/")
                .process_group(0)
                .stdin(Stdio::null())
                .stdout(out)
                .stderr(err)
                .spawn()?;
            Ok((child, tail))
        };
        let (mut child, mut tail) =
            start().map_err(|error| format!("{} cannot be started: {error}", program.display()))?;
        let ended = wait(&mut child, &mut tail, begin, self.limit);
        let failed = match ended {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => format!("it ended with {status}"),
            Ok(None) => {
                let gone = end(child, &mut tail);
                let stuck = if gone { "" } else { " and does not die of it" };
                format!("it did not end within {:?} and was killed{stuck}", self.limit)
            }
            Err(error) => {
                end(child, &mut tail);
                format!("it cannot be waited for: {error}")
            }
        };
        Err(format!("{failed}; {}", tail.last_words()))
    }
}

impl Default for NvidiaModprobe {
    fn default() -> Self {
        Self::new(PathBuf::from(DEFAULT_PROGRAM), DEFAULT_LIMIT)
    }
}

impl ModuleLoader for NvidiaModprobe {
    fn load_uvm(&self) -> Result<(), String> {
        self.run().map_err(|why| {
            format!(
                "cannot load the unified-memory module with \"{} {}\": {why}",
                self.program.display(),
                OPTIONS.join(" ")
            )
        })
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Waits for the child itself, not for its output: a process that it leaves behind may hold that open for ever. None
/// when the time is over.
fn wait(
    child: &mut Child,
    tail: &mut Tail,
    begin: Instant,
    limit: Duration,
) -> io::Result<Option<ExitStatus>> {
    loop {
        let ended = child.try_wait()?;
        tail.read();
        if ended.is_some() || begin.elapsed() >= limit {
            return Ok(ended);
        }
        thread::sleep(STEP);
    }
}

/// Kills the child and its group. Whether it is gone; one that is stuck in the kernel is left to a thread, so that no
/// zombie stays when it comes back.
fn end(mut child: Child, tail: &mut Tail) -> bool {
    // Nobody has waited for the child yet, so the number is still its own.
    let killed = match i32::try_from(child.id()) {
        Ok(group) => killpg(Pid::from_raw(group), Signal::SIGKILL),
        Err(_) => Err(Errno::ESRCH),
    };
    if let Err(errno) = killed {
        log::warn!("cannot kill process group {}: {}", child.id(), errno.desc());
    }
    let gone = matches!(wait(&mut child, tail, Instant::now(), LAST_WAIT), Ok(Some(_)));
    if !gone {
        let pid = child.id();
        let reap = thread::Builder::new()
            .name("gpu-modprobe".to_owned())
            .spawn(move || child.wait());
        if let Err(error) = reap {
            log::warn!("process {pid} may stay a zombie: no thread to wait for it: {error}");
        }
    }
    gone
}
