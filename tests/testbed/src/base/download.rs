// SPDX-License-Identifier: Apache-2.0
//! Brings the library from the Python package that carries it. pip is the client: it knows the user's index, proxy and
//! certificates, and it checks the digest of the archive.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::progress::Progress;
use crate::error::{Error, Tried};

/// pip before 24.1 takes this version, which is not a Python version, only when it is spelt in full.
const REQUIREMENT: &str = "mesos-scheduler==1.11.0.linux-x86_64";
const ARCHIVE_SHA256: &str = "1d376f20bca6d05ee8b90c1c123a452b28753497ccc2f1c80ea3ac94c12e8f6e";
const LIBRARY_SHA256: &str = "84d7ee9af27e912636b139de40257df1ee4f56c201de6bba834278aa1e8fd64c";

/// The last pip that still accepts such versions.
const OLD_PIP: &str = "pip==24.0";

/// Downloads the library to `to`.
pub(super) fn library(to: &Path) -> Result<(), Error> {
    let scratch = tempfile::Builder::new()
        .prefix("mesos-download-")
        .tempdir_in(to.parent().unwrap_or(Path::new(".")))
        .tried(|| format!("make a folder beside {}", to.display()))?;
    let mut progress = Progress::start("downloading Mesos 1.11.0 (40 MB) with pip");
    let mut log = download(scratch.path(), None, &mut progress)?;
    let mut found = find(scratch.path());
    if found.is_none() && refuses_version(&log) {
        let old = scratch.path().join("pip");
        older_pip(&old)?;
        log = download(scratch.path(), Some(&old), &mut progress)?;
        found = find(scratch.path());
    }
    let Some(found) = found else {
        return Err(Error::new(format!("download {REQUIREMENT} with pip"), tail(&log)));
    };
    verify(&found)?;
    fs::rename(&found, to).tried(|| format!("move {} to {}", found.display(), to.display()))?;
    progress.done();
    Ok(())
}

fn pip() -> Command {
    let mut command = Command::new("python3");
    command
        .args(["-m", "pip", "--disable-pip-version-check", "--no-input"])
        .stdin(Stdio::null());
    command
}

/// Runs `pip download` and gives back what it printed. It always fails: the archive has no build script inside, but
/// by then it is unpacked.
fn download(scratch: &Path, pip_at: Option<&Path>, progress: &mut Progress) -> Result<String, Error> {
    let tried =
        || "run python3 -m pip (install python3 and pip, for example Debian's python3-pip)".to_owned();
    let requirements = scratch.join("requirements.txt");
    let log = scratch.join("pip.log");
    fs::write(
        &requirements,
        format!("{REQUIREMENT} --hash=sha256:{ARCHIVE_SHA256}\n"),
    )
    .tried(tried)?;
    let output = File::create(&log).tried(tried)?;
    let errors = output.try_clone().tried(tried)?;
    let mut command = pip();
    if let Some(folder) = pip_at {
        command.env("PYTHONPATH", folder);
    }
    command
        .args([
            "download",
            "--no-deps",
            "--no-clean",
            "--no-cache-dir",
            "--progress-bar",
            "off",
            "--dest",
        ])
        .arg(scratch.join("dest"))
        .arg("--requirement")
        .arg(&requirements)
        .env("TMPDIR", scratch)
        .stdout(output)
        .stderr(errors);
    let mut child = command.spawn().tried(tried)?;
    while child.try_wait().tried(tried)?.is_none() {
        progress.tick(|| format!("{} MB so far", size(scratch) / 1_000_000));
        std::thread::sleep(Duration::from_millis(100));
    }
    let text = fs::read(&log).tried(tried)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn refuses_version(log: &str) -> bool {
    log.contains("nvalid requirement") || log.contains("InvalidVersion") || log.contains("nvalid version")
}

fn older_pip(to: &Path) -> Result<(), Error> {
    let tried = || {
        format!("install {OLD_PIP} for this download only (this pip refuses the version of {REQUIREMENT})")
    };
    let output = pip()
        .args(["install", "--quiet", "--target"])
        .arg(to)
        .arg(OLD_PIP)
        .output()
        .tried(tried)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::new(
            tried(),
            tail(&String::from_utf8_lossy(&output.stderr)),
        )),
    }
}

fn verify(library: &Path) -> Result<(), Error> {
    let tried = || format!("check the digest of {}", library.display());
    let mut file = File::open(library).tried(tried)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).tried(tried)? {
            0 => break,
            count => digest.update(&buffer[..count]),
        }
    }
    let found: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    match found == LIBRARY_SHA256 {
        true => Ok(()),
        false => Err(Error::new(
            tried(),
            format!("it is {found}, expected {LIBRARY_SHA256}"),
        )),
    }
}

/// The library under the name that it has in the package.
fn find(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries.flatten().find_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => find(&entry.path()),
        Ok(_) if entry.file_name() == "_scheduler.so" => Some(entry.path()),
        _ => None,
    })
}

fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(facts) if facts.is_dir() => size(&entry.path()),
        Ok(facts) => facts.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
