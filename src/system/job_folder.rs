// SPDX-License-Identifier: Apache-2.0
//! The folder from which dcgm-exporter (`--hpc-job-mapping-dir`) takes the jobs of each GPU: a file for each, named by its
//! number, with one job a line. It reads every file whose name is a number, so those that are not ours to write are removed.
//!
//! A GPU without jobs has no file rather than an empty one: of a GPU with an empty file earlier releases of dcgm-exporter told
//! nothing at all.

use super::replaced_file::{UNFINISHED, replace};
use crate::domain::jobs::Jobs as ByIndex;
use crate::ports::jobs::Jobs;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder.
#[derive(Debug, Clone)]
pub struct JobFolder {
    path: PathBuf,
}

impl JobFolder {
    /// Publishes to the folder at `path`, which is made if it is not there.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The files there that are, or were to be, about a GPU.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if is_ours(&entry.path()) && !entry.file_type()?.is_dir() {
                found.push(entry.path());
            }
        }
        Ok(found)
    }

    fn write(&self, jobs: &ByIndex) -> Result<(), (PathBuf, io::Error)> {
        let at = |path: &Path| {
            let path = path.to_owned();
            |error| (path, error)
        };
        fs::create_dir_all(&self.path).map_err(at(&self.path))?;
        for (index, jobs) in jobs {
            let path = self.path.join(index.to_string());
            let text: String = jobs.iter().flat_map(|job| [job.as_str(), "\n"]).collect();
            if fs::read(&path).is_ok_and(|before| before == text.as_bytes()) {
                continue;
            }
            replace(&path, &text).map_err(at(&path))?;
        }
        let wanted: Vec<PathBuf> = jobs
            .keys()
            .map(|index| self.path.join(index.to_string()))
            .collect();
        for path in self.files().map_err(at(&self.path))? {
            if !wanted.contains(&path) {
                fs::remove_file(&path).map_err(at(&path))?;
            }
        }
        Ok(())
    }
}

fn is_ours(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let number = name.strip_suffix(UNFINISHED).unwrap_or(name);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

impl Jobs for JobFolder {
    fn publish(&self, jobs: &ByIndex) -> Result<(), String> {
        self.write(jobs).map_err(|(path, error)| {
            format!("cannot write the jobs of the GPUs to {}: {error}", path.display())
        })
    }
}
