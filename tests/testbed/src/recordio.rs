// SPDX-License-Identifier: Apache-2.0
//! Why: Mesos's event streams are RecordIO (`<length>\n<bytes>`, repeated). What arrives is another process's
//! word, so a length is believed only within limits.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

/// The longest record taken: a master with thousands of agents stays far below it.
pub const LONGEST: usize = 64 * 1024 * 1024;

/// The longest length line taken; `LONGEST` has eight digits.
const LONGEST_LINE: u64 = 12;

/// Why a stream could not be read on.
#[derive(Debug)]
pub enum RecordError {
    /// The line where a length belongs.
    BadLength(String),
    /// A length above [`LONGEST`].
    TooLong(usize),
    /// The stream ended inside a record.
    Cut {
        /// Bytes announced.
        wanted: usize,
        /// Bytes that came.
        got: usize,
    },
    /// The connection failed.
    Io(io::Error),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadLength(line) => write!(f, "record length {line:?} is not a number"),
            Self::TooLong(n) => write!(f, "record of {n} bytes is longer than {LONGEST}"),
            Self::Cut { wanted, got } => write!(f, "stream ended after {got} of a record's {wanted} bytes"),
            Self::Io(e) => write!(f, "stream could not be read: {e}"),
        }
    }
}

impl std::error::Error for RecordError {}

impl From<io::Error> for RecordError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads records one after another.
#[derive(Debug)]
pub struct Records<R> {
    inner: BufReader<R>,
}

impl<R: Read> Records<R> {
    /// Reads from `inner`.
    pub fn new(inner: R) -> Self {
        Self {
            inner: BufReader::new(inner),
        }
    }

    /// The next record; `None` when the stream ended between two records.
    pub fn next_record(&mut self) -> Result<Option<Vec<u8>>, RecordError> {
        let mut line = Vec::new();
        self.inner
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        let length = parse_length(&line)?;
        // Grown by what really comes: an announced length alone must not cost memory.
        let mut record = Vec::new();
        let got = self.inner.by_ref().take(length as u64).read_to_end(&mut record)?;
        if got < length {
            return Err(RecordError::Cut { wanted: length, got });
        }
        Ok(Some(record))
    }
}

fn parse_length(line: &[u8]) -> Result<usize, RecordError> {
    let bad = || RecordError::BadLength(String::from_utf8_lossy(line).into_owned());
    let digits = line.strip_suffix(b"\n").ok_or_else(bad)?;
    // `parse` alone would take a sign.
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(bad());
    }
    let length: usize = std::str::from_utf8(digits)
        .ok()
        .and_then(|d| d.parse().ok())
        .ok_or_else(bad)?;
    if length > LONGEST {
        return Err(RecordError::TooLong(length));
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<Vec<u8>>, RecordError> {
        let mut records = Records::new(bytes);
        let mut out = Vec::new();
        while let Some(record) = records.next_record()? {
            out.push(record);
        }
        Ok(out)
    }

    #[test]
    fn records_follow_one_another_and_may_be_empty_or_hold_newlines() {
        assert_eq!(
            all(b"3\nabc0\n2\n\n\n").unwrap(),
            [b"abc".to_vec(), vec![], b"\n\n".to_vec()]
        );
        assert!(all(b"").unwrap().is_empty());
    }

    #[test]
    fn what_is_not_a_length_is_refused_with_the_line() {
        for line in [
            "\n",
            "x\n",
            "-1\n",
            "+1\n",
            " 1\n",
            "1 \n",
            "0x10\n",
            "1\r\n",
            "12",
            "99999999999999999999\n",
        ] {
            let error = all(line.as_bytes()).unwrap_err();
            assert!(matches!(error, RecordError::BadLength(_)), "{line:?}: {error}");
        }
    }

    #[test]
    fn a_length_line_without_an_end_is_not_read_for_ever() {
        let error = Records::new(io::repeat(b'1')).next_record().unwrap_err();
        assert!(matches!(error, RecordError::BadLength(_)), "{error}");
    }

    #[test]
    fn a_length_above_the_limit_is_refused_before_any_byte_is_read() {
        let error = all(format!("{}\nabc", LONGEST + 1).as_bytes()).unwrap_err();
        assert!(
            matches!(error, RecordError::TooLong(n) if n == LONGEST + 1),
            "{error}"
        );
    }

    #[test]
    fn an_end_inside_a_record_is_an_error() {
        let error = all(b"5\nabc").unwrap_err();
        assert_eq!(error.to_string(), "stream ended after 3 of a record's 5 bytes");
    }

    #[test]
    fn a_record_may_come_in_pieces() {
        struct Drip(Vec<u8>);
        impl Read for Drip {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                if self.0.is_empty() {
                    return Ok(0);
                }
                to[0] = self.0.remove(0);
                Ok(1)
            }
        }
        let mut records = Records::new(Drip(b"4\nwxyz".to_vec()));
        assert_eq!(records.next_record().unwrap().unwrap(), b"wxyz");
    }
}
