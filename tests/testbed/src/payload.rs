// SPDX-License-Identifier: Apache-2.0
//! `testbed payload`: one folder with all that `testbed real-gpu` takes on a machine that has neither network nor compiler: the
//! programs and libraries that cargo built, without what only a debugger reads, and Mesos. Its entry is `run`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::Testbed;
use crate::base::Base;
use crate::error::{Error, Tried};

const RUN: &str = include_str!("../payload/run");
/// What may be carried to a machine, other things beside it.
const MOST: u64 = 60 << 20;

const USAGE: &str = "usage: testbed payload FOLDER [--fast] [--with=PROGRAM]…";

/// What goes into it.
#[derive(Debug, Default)]
pub struct Payload {
    folder: PathBuf,
    fast: bool,
    with: Vec<PathBuf>,
}

/// The sub-command.
pub fn main(arguments: &[String]) -> ExitCode {
    let made = parse(arguments).and_then(|payload| light(payload.make()?));
    match made {
        Ok(bytes) => {
            println!("{:.1} MiB", mebibytes(bytes));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("payload: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Result<Payload, Error> {
    let mut payload = Payload::default();
    for argument in arguments {
        match argument.split_once('=') {
            None if argument == "--fast" => payload.fast = true,
            None if !argument.starts_with('-') && payload.folder.as_os_str().is_empty() => {
                payload.folder = argument.into();
            }
            Some(("--with", program)) => payload.with.push(program.into()),
            _ => return Err(Error::new(format!("take the argument {argument:?}"), USAGE)),
        }
    }
    match payload.folder.as_os_str().is_empty() {
        true => Err(Error::new("make a payload", USAGE)),
        false => Ok(payload),
    }
}

impl Payload {
    /// One in this folder, which is made; what is in it already stays.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            ..Self::default()
        }
    }

    /// Packs Mesos in seconds instead of a minute, into some megabytes more.
    pub fn fast(mut self) -> Self {
        self.fast = true;
        self
    }

    /// Makes it, and says how many bytes it has.
    ///
    /// # Errors
    /// Something that belongs in it was not built, or `tar` or `xz` is missing.
    pub fn make(&self) -> Result<u64, Error> {
        let folder = &self.folder;
        fs::create_dir_all(folder).tried(|| format!("make {}", folder.display()))?;
        let program = Testbed::program()?;
        let fake = fake_nvml::built_library().tried(|| "find the simulated NVML".to_owned())?;
        let mut files = vec![
            program.clone(),
            Testbed::image_probe()?,
            Testbed::module_library()?,
            fake,
        ];
        // The benchmark and the operator's tool are other packages' programs: they come along where they were built.
        let beside = ["bench", "mesos-gpu"].map(|name| program.with_file_name(name));
        files.extend(beside.into_iter().filter(|file| file.is_file()));
        files.extend(self.with.iter().cloned());
        for file in files {
            strip(&file, folder)?;
        }
        let copied = |from: &Path, name: &str| {
            let to = folder.join(name);
            fs::copy(from, &to)
                .map(drop)
                .tried(|| format!("write {}", to.display()))
        };
        copied(&Testbed::manifest(), "modules.json")?;
        self.pack_mesos(&Base::obtain()?)?;
        let run = folder.join("run");
        let tried = || format!("write {}", run.display());
        fs::write(&run, RUN).tried(tried)?;
        fs::set_permissions(&run, Permissions::from_mode(0o755)).tried(tried)?;
        self.weighed()
    }

    fn pack_mesos(&self, base: &Base) -> Result<(), Error> {
        let (folder, to) = (base.folder(), self.folder.join("mesos.tar.xz"));
        let tried = || format!("pack {} into {}", folder.display(), to.display());
        let level = if self.fast { "xz -T0 -0" } else { "xz -T0 -6" };
        let mut tar = Command::new("tar");
        tar.args(["-I", level, "-C"])
            .arg(folder.parent().unwrap_or(folder))
            .arg("-cf")
            .arg(&to)
            .arg(folder.file_name().unwrap_or_default());
        let output = tar.output().tried(tried)?;
        match output.status.success() {
            true => Ok(()),
            false => Err(Error::new(tried(), String::from_utf8_lossy(&output.stderr))),
        }
    }

    fn weighed(&self) -> Result<u64, Error> {
        let tried = || format!("weigh {}", self.folder.display());
        let mut bytes = 0;
        for entry in fs::read_dir(&self.folder).tried(tried)? {
            let found = entry.tried(tried)?.metadata().tried(tried)?;
            bytes += if found.is_file() { found.len() } else { 0 };
        }
        Ok(bytes)
    }
}

/// Whether it can be carried, which what was built for debugging is too heavy for.
fn light(bytes: u64) -> Result<u64, Error> {
    match bytes <= MOST {
        true => Ok(bytes),
        false => Err(Error::new(
            format!("make a payload of at most {:.0} MiB", mebibytes(MOST)),
            format!("it has {:.1} MiB: build it with --release", mebibytes(bytes)),
        )),
    }
}

#[allow(clippy::cast_precision_loss, reason = "it is shown to people")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Copies a program or library without its symbols for debuggers; as it is where nothing can strip it.
fn strip(file: &Path, folder: &Path) -> Result<(), Error> {
    let to = folder.join(file.file_name().unwrap_or_default());
    let stripped = Command::new("strip").arg("-o").arg(&to).arg(file).status();
    if stripped.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    fs::copy(file, &to)
        .map(drop)
        .tried(|| format!("copy {} to {}", file.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_wanted_and_only_one() {
        let parsed =
            |arguments: &[&str]| parse(&arguments.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        let payload = parsed(&["p", "--fast", "--with=/x/y"]).unwrap();
        assert_eq!((payload.folder.as_path(), payload.fast), (Path::new("p"), true));
        assert_eq!(payload.with, [Path::new("/x/y")]);
        for wrong in [&[][..], &["p", "q"], &["p", "--slow"]] {
            assert!(parsed(wrong).unwrap_err().to_string().contains("FOLDER"));
        }
    }
}
