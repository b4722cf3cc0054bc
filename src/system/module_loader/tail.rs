// SPDX-License-Identifier: Apache-2.0
//! The last words of a program: read without ever waiting for it, and no more of them kept than a log line bears.

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::io::{self, PipeReader, PipeWriter, Read};

/// How much is kept.
const KEPT: usize = 4096;
/// How often the pipe is read at one go, so that a program that never stops talking does not hold up its own end.
const READS: usize = 64;

/// The end of what a program writes.
pub(super) struct Tail {
    pipe: PipeReader,
    kept: Vec<u8>,
}

impl Tail {
    /// The tail of one pipe, and two ends to write into it: for standard output and standard error.
    pub fn new() -> io::Result<(Self, PipeWriter, PipeWriter)> {
        let (pipe, out) = io::pipe()?;
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let err = out.try_clone()?;
        let kept = Vec::new();
        Ok((Self { pipe, kept }, out, err))
    }

    /// Reads what is there.
    pub fn read(&mut self) {
        let mut part = [0; KEPT];
        for _ in 0..READS {
            match self.pipe.read(&mut part) {
                Ok(0) => return,
                Ok(count) => {
                    self.kept.extend_from_slice(&part[..count]);
                    let surplus = self.kept.len().saturating_sub(KEPT);
                    self.kept.drain(..surplus);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Nothing there now, or nothing to be had: what was read so far has to do.
                Err(_) => return,
            }
        }
    }

    /// What was said last, in one line.
    pub fn last_words(&self) -> String {
        match String::from_utf8_lossy(&self.kept).trim() {
            "" => "it said nothing".to_owned(),
            words => format!("it said {words:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_the_end_is_kept_and_nothing_is_waited_for() {
        let (mut tail, mut out, mut err) = Tail::new().unwrap();
        tail.read();
        assert_eq!(tail.last_words(), "it said nothing");
        out.write_all(&[b'a'; 5000]).unwrap();
        err.write_all(b"last\n").unwrap();
        tail.read();
        assert_eq!(tail.kept.len(), KEPT);
        assert!(tail.last_words().ends_with("aaalast\""));
    }
}
