// SPDX-License-Identifier: Apache-2.0
//! Mesos's messages from the bytes in which they cross. They were written by Mesos itself, so what cannot be read is a
//! defect, of this library or of the releases that met.

use super::ffi::bridge::Messages;
use crate::error::Error;
use crate::wire::decode;

/// Reads a message; `name` is its name in an error.
///
/// # Errors
/// The bytes are no such message.
pub(super) fn read<M: prost::Message + Default>(name: &'static str, bytes: &[u8]) -> Result<M, Error> {
    decode(name, bytes).map_err(|e| Error::defect(e.to_string()))
}

/// An id. Asked for each agent of an offer, so it copies nothing.
///
/// # Errors
/// The bytes are no text.
pub(super) fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|why| {
        Error::defect(format!(
            "cannot read {} bytes as the id of an agent: {why}",
            bytes.len()
        ))
    })
}

/// The bytes of each of the messages.
pub(super) fn each<'a>(messages: &Messages<'a>) -> impl Iterator<Item = Result<&'a [u8], Error>> {
    let (bytes, ends) = (messages.bytes, messages.ends);
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends).map(move |(start, &end)| {
        bytes.get(start..end).ok_or_else(|| {
            Error::defect(format!(
                "cannot find a message at {start} to {end} of {} bytes",
                bytes.len()
            ))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_in_place_and_a_bad_one_refused() {
        assert_eq!(text(b"abc-S1").unwrap(), "abc-S1");
        assert_eq!(text(b"").unwrap(), "");
        assert!(text(b"a\xff").is_err());
    }

    #[test]
    fn messages_in_a_row_are_told_apart_and_ends_that_make_no_sense_are_refused() {
        let all = |ends: &[usize]| {
            let bytes = &b"abbc"[..];
            let messages = Messages { bytes, ends };
            each(&messages)
                .map(|one| one.map(<[u8]>::to_vec))
                .collect::<Result<Vec<_>, _>>()
        };
        assert_eq!(all(&[1, 3, 3, 4]).unwrap(), [&b"a"[..], b"bb", b"", b"c"]);
        assert!(all(&[]).unwrap().is_empty());
        assert!(all(&[5]).is_err());
        assert!(all(&[3, 1]).is_err());
    }
}
