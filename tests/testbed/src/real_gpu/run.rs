// SPDX-License-Identifier: Apache-2.0
//! Starts one process after the other, each with a limit, and keeps what it printed. What is here must not fail: whatever
//! happens to one, the rest is to run and the report to be whole.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::mount::{MntFlags, umount2};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, geteuid};

use super::options::Options;
use super::{CHAPTERS, LAST, is_here};
use crate::bed::cgroups::Hierarchies;
use crate::bed::clean_stale;
use crate::error::{Error, Tried};

/// How long a chapter, or another program, may take: the whole benchmark takes some minutes.
const CHAPTER: Duration = Duration::from_secs(120);
const OTHER: Duration = Duration::from_secs(900);

/// Tells everything; whether all was as it should be.
pub(super) fn all(options: &Options) -> Result<bool, Error> {
    let tried = || format!("make {}", options.out.display());
    std::fs::create_dir_all(options.logs()).tried(tried)?;
    // Chapters run elsewhere than here.
    let options = &Options {
        out: options.out.canonicalize().tried(tried)?,
        ..options.clone()
    };
    if !options.simulate && !is_here() {
        let why = "this machine lacks an NVIDIA GPU with its driver; --simulate simulates one";
        return Err(Error::new("tell the story of real GPUs", why));
    }
    if !geteuid().is_root() {
        return Err(Error::new("tell the story of GPUs", "it takes root"));
    }
    let mut report = Report::new(options)?;
    let cgroups = hierarchies(options, &mut report);
    let program = crate::Testbed::program()?;
    for (name, _) in CHAPTERS
        .iter()
        .filter(|(name, _)| options.wants(name) && *name != LAST)
    {
        report.run(options, name, &program, &options.of_chapter(name), CHAPTER);
    }
    let bench = program.with_file_name("bench");
    for (number, line) in options.bench.iter().enumerate() {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        report.run(
            options,
            &format!("bench-{}", number + 1),
            &bench,
            &arguments,
            OTHER,
        );
    }
    for (number, line) in options.also.iter().enumerate() {
        let mut words = line.split_whitespace().map(str::to_owned);
        // Beside this program, unless it is told where.
        let also = program.with_file_name(words.next().unwrap_or_default());
        let arguments: Vec<String> = words.collect();
        report.run(options, &format!("also-{}", number + 1), &also, &arguments, OTHER);
    }
    if options.wants(LAST) {
        report.run(options, LAST, &program, &options.of_chapter(LAST), CHAPTER);
    }
    if let Some(folder) = cgroups {
        report.say(&unmounted(&folder));
    }
    report.close()
}

/// Mounts the v1 controllers where nobody has; gives back where, to be unmounted.
fn hierarchies(options: &Options, report: &mut Report) -> Option<std::path::PathBuf> {
    if let Ok(found) = Hierarchies::find() {
        report.say(&format!("cgroup v1 is mounted in {}", found.folder().display()));
        return None;
    }
    let folder = options.out.join("cgroup");
    match Hierarchies::mount_in(&folder) {
        Ok(_) => report.say(&format!(
            "cgroup v1 was not mounted; it is now, in {}",
            folder.display()
        )),
        Err(error) => report.wrong(&error.to_string()),
    }
    Some(folder)
}

fn unmounted(folder: &Path) -> String {
    let mut failed = Vec::new();
    for controller in ["devices", "freezer"] {
        let point = folder.join(controller);
        if let Err(error) = umount2(&point, MntFlags::MNT_DETACH) {
            failed.push(format!("cannot unmount {}: {error}", point.display()));
        }
        let _ = std::fs::remove_dir(&point);
    }
    let _ = std::fs::remove_dir(folder);
    match failed.is_empty() {
        true => "cgroup v1 is unmounted again".to_owned(),
        false => failed.join("\n"),
    }
}

/// What a person reads, written as it comes.
struct Report {
    file: File,
    began: Instant,
    wrong: Vec<String>,
}

impl Report {
    fn new(options: &Options) -> Result<Self, Error> {
        let file = options.out.join("report.txt");
        let tried = || format!("open {}", file.display());
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file)
            .tried(tried)?;
        Ok(Self {
            file,
            began: Instant::now(),
            wrong: Vec::new(),
        })
    }

    fn say(&mut self, text: &str) {
        println!("{text}");
        // Standard output has it too.
        let _ = writeln!(self.file, "{text}");
    }

    fn wrong(&mut self, what: &str) {
        self.say(&format!("WRONG: {what}"));
        self.wrong.push(what.to_owned());
    }

    /// Runs a program, and appends what it printed.
    fn run(&mut self, options: &Options, name: &str, program: &Path, arguments: &[String], limit: Duration) {
        let left = options.limit.saturating_sub(self.began.elapsed());
        self.say(&format!(
            "\n== {name}, after {:.1} s",
            self.began.elapsed().as_secs_f64()
        ));
        // The last chapter is short and always told.
        let limit = if name == LAST { limit } else { limit.min(left) };
        if limit < Duration::from_secs(1) {
            return self.wrong(&format!("{name}: no time was left for it"));
        }
        let log = options.log(name);
        let began = Instant::now();
        let ended = run(program, arguments, &log, limit);
        self.say(std::fs::read_to_string(&log).unwrap_or_default().trim_end());
        match ended {
            Ok(None) => {}
            Ok(Some(why)) => {
                self.wrong(&format!("{name}: {why}"));
                // What a killed process has left would be in the way of the next.
                if let Err(error) = clean_stale() {
                    self.say(&error.to_string());
                }
            }
            Err(error) => self.wrong(&format!("{name}: {error}")),
        }
        self.say(&format!("== {name} took {:.1} s", began.elapsed().as_secs_f64()));
    }

    fn close(mut self) -> Result<bool, Error> {
        self.say(&format!("\n== all, {:.1} s", self.began.elapsed().as_secs_f64()));
        let wrong = std::mem::take(&mut self.wrong);
        for what in &wrong {
            self.say(&format!("WRONG: {what}"));
        }
        if wrong.is_empty() {
            self.say("all as it should be");
        }
        Ok(wrong.is_empty())
    }
}

/// Runs a program; says what was wrong with its end. A driver's call can hang for good, so one that does not die is left.
fn run(program: &Path, arguments: &[String], log: &Path, limit: Duration) -> Result<Option<String>, Error> {
    let tried = || format!("run {} {}", program.display(), arguments.join(" "));
    let open = || OpenOptions::new().create(true).append(true).open(log);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    // What they write without saying where comes back too.
    command.current_dir(log.parent().unwrap_or(Path::new(".")));
    command.stdout(open().tried(tried)?).stderr(open().tried(tried)?);
    let mut child = command.spawn().tried(tried)?;
    let until = Instant::now() + limit;
    loop {
        match child.try_wait().tried(tried)? {
            Some(status) if status.success() => return Ok(None),
            Some(status) => return Ok(Some(format!("it ended with {status}"))),
            None if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
            None => break,
        }
    }
    let group = Pid::from_raw(i32::try_from(child.id()).tried(tried)?);
    let _ = killpg(group, Signal::SIGKILL);
    std::thread::sleep(Duration::from_millis(500));
    let died = child.try_wait().tried(tried)?.is_some();
    let how = if died {
        "killed"
    } else {
        "killed, and does not die"
    };
    Ok(Some(format!(
        "it did not end within {} s and was {how}",
        limit.as_secs()
    )))
}
