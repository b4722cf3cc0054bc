// SPDX-License-Identifier: Apache-2.0
//! Why: a task with an image must have its root changed between fork and exec, which in this process would take
//! unsafe code. A second copy of this program does it to itself and then becomes the task.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The first argument that selects this.
pub(super) const SUBCOMMAND: &str = "enter-rootfs";

/// What shells answer when a command cannot be run.
const CANNOT_RUN: u8 = 127;

/// A command that changes its root to `root`, goes to `directory` there and becomes `argv[0]` run from `program`.
pub(super) fn command(root: &Path, directory: &Path, program: &str, argv: &[String]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("mesos-executor")
        .arg(SUBCOMMAND)
        .arg(root)
        .arg(directory)
        .arg(program)
        .args(argv);
    command
}

/// The other side of [`command`].
pub(super) fn main(args: &[String]) -> ExitCode {
    let why = match args {
        [root, directory, program, argv0, rest @ ..] => become_task(root, directory, program, argv0, rest),
        _ => "usage: enter-rootfs ROOT DIRECTORY PROGRAM ARGV0 [ARG...]".to_owned(),
    };
    eprintln!("mesos-executor: {why}");
    ExitCode::from(CANNOT_RUN)
}

/// Returns only to say why it could not.
fn become_task(root: &str, directory: &str, program: &str, argv0: &str, rest: &[String]) -> String {
    if let Err(e) = nix::unistd::chroot(root) {
        return format!("could not change the root to {root}: {e}");
    }
    if let Err(e) = nix::unistd::chdir(directory) {
        return format!("could not change to directory {directory} in {root}: {e}");
    }
    let error = Command::new(program).arg0(argv0).args(rest).exec();
    format!("could not run {program} in {root}: {error}")
}
