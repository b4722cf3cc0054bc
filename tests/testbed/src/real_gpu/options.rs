// SPDX-License-Identifier: Apache-2.0
//! What `testbed real-gpu` is told.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;

pub(super) const USAGE: &str = "usage: testbed real-gpu [--simulate] [--out=FOLDER] [--only=CHAPTER,…] [--limit=SECONDS] \
     [--bench='ARGUMENTS'] [--also='PROGRAM ARGUMENTS']…";

/// How the story is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    /// On a simulated driver.
    pub(super) simulate: bool,
    /// Where report and logs go.
    pub(super) out: PathBuf,
    /// The chapters that are told; none for all.
    pub(super) only: Vec<String>,
    /// How long all may take; what has not begun by then is left out.
    pub(super) limit: Duration,
    /// Arguments of the benchmark beside this program, a run each.
    pub(super) bench: Vec<String>,
    /// Other programs to run, with their arguments.
    pub(super) also: Vec<String>,
    /// The chapter that this process is for.
    pub(super) chapter: Option<String>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut options = Self {
            simulate: false,
            out: "real-gpu".into(),
            only: Vec::new(),
            limit: Duration::from_secs(540),
            bench: Vec::new(),
            also: Vec::new(),
            chapter: None,
        };
        for argument in arguments {
            let wrong = || Error::new(format!("take the argument {argument:?}"), USAGE);
            match argument.split_once('=') {
                None if argument == "--simulate" => options.simulate = true,
                Some(("--out", folder)) => options.out = folder.into(),
                Some(("--only", names)) => options.only.extend(names.split(',').map(str::to_owned)),
                Some(("--limit", seconds)) => {
                    options.limit = Duration::from_secs(seconds.parse().map_err(|_| wrong())?);
                }
                Some(("--bench", line)) => options.bench.push(line.to_owned()),
                Some(("--also", line)) => options.also.push(line.to_owned()),
                Some(("--chapter", name)) => options.chapter = Some(name.to_owned()),
                _ => return Err(wrong()),
            }
        }
        Ok(options)
    }

    /// The arguments of the process that tells a chapter.
    pub(super) fn of_chapter(&self, name: &str) -> Vec<String> {
        let mut arguments = vec![
            "real-gpu".to_owned(),
            format!("--chapter={name}"),
            format!("--out={}", self.out.display()),
        ];
        arguments.extend(self.simulate.then(|| "--simulate".to_owned()));
        arguments
    }

    /// Whether a chapter is told.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// Every finding of every chapter, one JSON object a line.
    pub(super) fn findings(&self) -> PathBuf {
        self.out.join("findings.jsonl")
    }

    /// What was printed, whole.
    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.logs().join(format!("{name}.log"))
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.out.join("logs")
    }

    /// A log that a chapter writes beside its own.
    pub(super) fn write_log(&self, name: &str, text: &str) -> Result<(), Error> {
        let file = self.log(name);
        let tried = |why| Error::new(format!("write {}", file.display()), why);
        std::fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).map_err(tried)?;
        std::fs::write(&file, text).map_err(tried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_taken_and_reach_the_chapters_process() {
        let told = [
            "--simulate",
            "--out=/o",
            "--only=nvml,figures",
            "--limit=7",
            "--bench=--rounds=1",
        ];
        let options = Options::parse(&told.map(str::to_owned)).unwrap();
        assert!(options.simulate && options.wants("nvml") && !options.wants("machine"));
        assert_eq!(options.limit, Duration::from_secs(7));
        assert_eq!(options.bench, ["--rounds=1"]);
        let child = Options::parse(&options.of_chapter("nvml")[1..]).unwrap();
        assert_eq!(child.chapter.as_deref(), Some("nvml"));
        assert_eq!((child.simulate, child.findings()), (true, options.findings()));
    }

    #[test]
    fn what_is_not_known_is_refused_with_what_is() {
        for wrong in ["--limit=soon", "--simulate=yes", "simulate"] {
            let error = Options::parse(&[wrong.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("--only="), "{error}");
        }
    }
}
