// SPDX-License-Identifier: Apache-2.0
//! Reads `/proc/driver/nvidia`, because it answers at once and names UUIDs and minor numbers even where NVML hangs or is
//! missing. It is text made for people: every line may be absent, unfinished or wrong, and one bad GPU must not hide the
//! others.

mod mig;
mod text;

use crate::domain::gpu::PciAddress;
use crate::ports::driver_proc::{DriverProc, ProcGpu, ProcReport};
use crate::system::gpu_identity::{self, Identity, shown};
use nix::libc::O_NONBLOCK;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where the driver puts its tree.
pub const DEFAULT_PROC_DIR: &str = "/proc/driver/nvidia";

/// Far more than the driver writes; less than hurts.
const LONGEST_FILE: u64 = 64 * 1024;
/// More than the driver usually writes.
const USUAL_FILE: usize = 4096;

/// The driver's tree at one place.
#[derive(Debug, Clone)]
pub struct ProcDriver {
    dir: PathBuf,
}

impl ProcDriver {
    /// The tree at `proc_dir`.
    pub fn new(proc_dir: PathBuf) -> Self {
        Self { dir: proc_dir }
    }

    fn version_or_problem(&self, problems: &mut Vec<String>) -> Option<String> {
        let path = self.dir.join("version");
        match read_text(&path) {
            Ok(text) => {
                let version = text::driver_version(&text);
                if version.is_none() {
                    problems.push(format!("{} names no driver version", path.display()));
                }
                version
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                problems.push(format!("cannot read {}: {error}", path.display()));
                None
            }
        }
    }

    fn entries(&self, problems: &mut Vec<String>) -> Vec<String> {
        let dir = self.dir.join("gpus");
        let mut names = Vec::new();
        match fs::read_dir(&dir) {
            Ok(entries) => {
                for entry in entries {
                    match entry {
                        Ok(entry) => names.push(entry.file_name().to_string_lossy().into_owned()),
                        Err(error) => {
                            problems.push(format!("cannot list {} to its end: {error}", dir.display()))
                        }
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => problems.push(format!("cannot list {}: {error}", dir.display())),
        }
        names.sort();
        names
    }

    fn entry(&self, name: &str) -> Result<ProcGpu, String> {
        let path = self.dir.join("gpus").join(name).join("information");
        let text = read_text(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let gpu = text::gpu(name, &text)?;
        Ok(ProcGpu {
            mig: mig::accesses(&self.dir, gpu.minor)?,
            ..gpu
        })
    }
}

impl Default for ProcDriver {
    fn default() -> Self {
        Self::new(PathBuf::from(DEFAULT_PROC_DIR))
    }
}

impl DriverProc for ProcDriver {
    fn version(&self) -> Option<String> {
        self.version_or_problem(&mut Vec::new())
    }

    fn gpu(&self, pci: PciAddress) -> Option<ProcGpu> {
        self.entry(&pci.to_string()).ok().filter(|gpu| gpu.pci == pci)
    }

    fn read(&self) -> ProcReport {
        let mut problems = Vec::new();
        let driver_version = self.version_or_problem(&mut problems);
        let mut gpus = Vec::new();
        for name in self.entries(&mut problems) {
            match self.entry(&name) {
                Ok(gpu) => gpus.push(gpu),
                Err(problem) => problems.push(format!("GPU at {} is set aside: {problem}", shown(&name))),
            }
        }
        let (mut gpus, conflicts) = gpu_identity::set_conflicts_aside(gpus, |gpu| Identity {
            who: format!("GPU at {}", gpu.pci),
            uuid: gpu.uuid.clone(),
            pci: gpu.pci,
            minor: gpu.minor,
        });
        problems.extend(conflicts.into_iter().map(|conflict| conflict.text));
        gpus.sort_by_key(|gpu| gpu.pci);
        ProcReport {
            driver_version,
            gpus,
            problems,
        }
    }
}

/// Reads at most [`LONGEST_FILE`] of a regular file; anything else could block the reader for ever.
fn read_text(path: &Path) -> io::Result<String> {
    // O_NONBLOCK: a named pipe without a writer would hold the agent thread.
    let mut options = File::options();
    let file = options.read(true).custom_flags(O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    // Such files have no size to tell; with room for one of the usual length it is read at once.
    let mut bytes = Vec::with_capacity(USUAL_FILE);
    file.take(LONGEST_FILE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
