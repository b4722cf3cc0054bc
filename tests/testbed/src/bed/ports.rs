// SPDX-License-Identifier: Apache-2.0
//! Ports that no other testbed takes. A port that is merely free now may be taken before Mesos listens on it, or while
//! an agent restarts; so each is also locked in a file, which the kernel unlocks when its holder dies.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use nix::fcntl::{Flock, FlockArg};

use crate::error::{Error, Tried};

/// Below the range from which the kernel takes ports for outgoing connections.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// A port on 127.0.0.1 that is ours while this lives.
#[derive(Debug)]
pub(super) struct Port {
    number: u16,
    _lock: Flock<File>,
}

impl Port {
    pub(super) fn reserve() -> Result<Self, Error> {
        let folder = std::env::temp_dir().join("mesos-gpu-testbed-ports");
        let tried = || format!("keep port locks in {}", folder.display());
        if fs::create_dir(&folder).is_ok() {
            // Every user's testbeds share the folder.
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)).tried(tried)?;
        }
        let start = std::process::id() % u32::from(COUNT);
        let offsets = (0..COUNT).map(|step| (start + u32::from(step) * 7) % u32::from(COUNT));
        for offset in offsets {
            let number = FIRST + u16::try_from(offset).tried(tried)?;
            // A file of another user cannot be opened; then the port may be that user's.
            let Ok(file) = File::create(folder.join(number.to_string())) else {
                continue;
            };
            let Ok(lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else {
                continue;
            };
            if TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Ok(Self { number, _lock: lock });
            }
        }
        Err(Error::new(
            "find a free port",
            format!("all {COUNT} from {FIRST} on are taken"),
        ))
    }

    pub(super) fn number(&self) -> u16 {
        self.number
    }

    pub(super) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_reservations_differ() {
        let (first, second) = (Port::reserve().unwrap(), Port::reserve().unwrap());
        assert_ne!(first.number(), second.number());
    }
}
