// SPDX-License-Identifier: Apache-2.0
//! A master or agent of a test must not outlive it, however the test ends. Its standard input is a pipe that nobody
//! writes to: when the other end closes, the test is gone, and so are we.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, dup2_stdin};

use crate::error::{Error, Tried};

/// The variable that says that there is such a pipe.
pub(crate) const VARIABLE: &str = "TESTBED_LEASH";

/// Takes the pipe off standard input, so that no container inherits it, and watches it.
pub(super) fn take() -> Result<(), Error> {
    if std::env::var_os(VARIABLE).is_none() {
        return Ok(());
    }
    let tried = || "watch standard input for the end of the test".to_owned();
    let mut pipe = File::from(std::io::stdin().as_fd().try_clone_to_owned().tried(tried)?);
    dup2_stdin(File::open("/dev/null").tried(tried)?).tried(tried)?;
    std::thread::spawn(move || {
        let _ = pipe.read(&mut [0]);
        // Mesos has no orderly end that would be quick; its checkpoints are made for this one.
        let _ = kill(Pid::this(), Signal::SIGKILL);
    });
    Ok(())
}
