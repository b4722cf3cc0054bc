// SPDX-License-Identifier: Apache-2.0
//! The JSON file between the one who writes the machine and the library that reads it, at any time, from any process:
//! so it is replaced whole, found without a handshake, and read again only when it changed.

use crate::machine::Machine;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The environment variable that names the JSON file. Without it the library looks for `machine.json` beside itself and
/// one folder up, so that one process can load several simulated drivers without touching its environment.
pub const MACHINE_VARIABLE: &str = "FAKE_NVML_MACHINE";

/// The file's name in a simulation's folder.
pub(crate) const MACHINE_FILE: &str = "machine.json";

impl Machine {
    /// Reads a machine.
    ///
    /// # Errors
    /// The file cannot be read, or is not a machine.
    pub fn load(path: &Path) -> io::Result<Self> {
        let text = fs::read(path).map_err(|e| failed("read the machine", path, &e))?;
        serde_json::from_slice(&text).map_err(|e| {
            failed(
                "read the machine",
                path,
                &io::Error::new(io::ErrorKind::InvalidData, e),
            )
        })
    }

    /// Writes the machine; a reader sees the old one or the new one, never a part.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        replace(path, text.as_bytes())
    }
}

/// Puts a whole file in the place of another, so that who has the old one open keeps it intact.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".tmp{}", std::process::id()));
    fs::write(&temporary, content).map_err(|e| failed("write", path, &e))?;
    fs::rename(&temporary, path).map_err(|e| failed("replace", path, &e))
}

/// An error that says what was tried on what.
pub(crate) fn failed(what: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {what} {}: {error}", path.display()))
}

/// The last good state of a machine file.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    good: Option<(Stamp, Arc<Machine>)>,
}

/// What changes when a file is replaced or written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp(u64, u64, u64, i64, i64);

impl Watched {
    /// The machine as it is now; the last good one where the file is missing or damaged; none if there never was one.
    pub(crate) fn read(&mut self) -> Option<Arc<Machine>> {
        let path = located()?;
        let stamp = fs::metadata(path)
            .ok()
            .map(|m| Stamp(m.dev(), m.ino(), m.size(), m.mtime(), m.mtime_nsec()));
        let known = self.good.as_ref().map(|(stamp, _)| *stamp);
        if let Some(stamp) = stamp.filter(|stamp| Some(*stamp) != known)
            && let Ok(machine) = Machine::load(path)
        {
            self.good = Some((stamp, Arc::new(machine)));
        }
        self.good.as_ref().map(|(_, machine)| Arc::clone(machine))
    }
}

/// Where the file is; looked up once, as the environment and the library's own place do not change.
pub(crate) fn located() -> Option<&'static Path> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || match std::env::var_os(MACHINE_VARIABLE) {
        Some(named) => Some(PathBuf::from(named)),
        None => {
            let library = own_file()?;
            let mut folders = library.ancestors().skip(1);
            let beside = folders.next()?.join(MACHINE_FILE);
            // Where there is none yet, the place where a simulation will have it.
            if beside.exists() {
                Some(beside)
            } else {
                Some(folders.next()?.join(MACHINE_FILE))
            }
        }
    };
    FILE.get_or_init(find).as_deref()
}

/// The file this code was loaded from: the mapping that holds one of its own variables.
fn own_file() -> Option<PathBuf> {
    static INSIDE: u8 = 1;
    let address = std::hint::black_box(&raw const INSIDE).addr();
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        let path = line.find('/').map(|at| PathBuf::from(&line[at..]))?;
        (start..end).contains(&address).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Event, Fault};

    #[test]
    fn save_and_load_keep_everything() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("machine.json");
        let mut machine = Machine::with_gpus(2).fault(Fault::hang("nvmlInit_v2"));
        machine.gpus[0] = machine.gpus[0].clone().with_mig(&["1g.18gb"]);
        machine.gpus[1].events.push(Event { kind: 8, data: 79 });
        machine.save(&file).unwrap();
        assert_eq!(Machine::load(&file).unwrap(), machine);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "the temporary file stayed"
        );
    }

    #[test]
    fn a_short_text_is_enough_and_a_misspelt_field_is_refused() {
        let text = r#"{"gpus": [{"index": 0, "minor": 3, "uuid": "GPU-1", "pci": "0000:01:00.0"}]}"#;
        let machine: Machine = serde_json::from_str(text).unwrap();
        assert_eq!(machine.driver_version, "580.159.04");
        assert_eq!(machine.gpus[0].memory, None);
        assert!(serde_json::from_str::<Machine>(&text.replace("minor", "miner")).is_err());
    }

    #[test]
    fn load_names_the_file_that_is_no_machine() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("machine.json");
        fs::write(&file, "{").unwrap();
        let error = Machine::load(&file).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("machine.json"), "{error}");
    }
}
