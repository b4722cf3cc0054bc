// SPDX-License-Identifier: Apache-2.0
//! The resources that were read last. Agents of one kind offer the same to one role, one after the other, and to read that
//! again would be most of what a decision costs.

use super::ffi::bridge::Messages;
use super::pieces;
use crate::error::Error;
use crate::filter::Piece;
use crate::wire::Resource;

/// What was read, and the bytes it was read from.
#[derive(Debug, Default)]
pub(super) struct Recent {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    resources: Vec<Resource>,
    pieces: Vec<Piece>,
}

impl Recent {
    /// The resources, and each as a piece.
    ///
    /// # Errors
    /// The bytes are no such messages.
    pub(super) fn read(&mut self, messages: &Messages<'_>) -> Result<(&[Resource], &[Piece]), Error> {
        if self.bytes != messages.bytes || self.ends != messages.ends {
            let resources = pieces::resources_in(messages)?;
            *self = Self {
                bytes: messages.bytes.to_vec(),
                ends: messages.ends.to_vec(),
                pieces: pieces::of(&resources),
                resources,
            };
        }
        Ok((&self.resources, &self.pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message as _;

    #[test]
    fn only_the_same_bytes_at_the_same_ends_are_not_read_again() {
        let resource = |value| Resource::scalar("cpus", value).encode_to_vec();
        let (one, two) = (resource(1.0), resource(2.0));
        let (bytes, size) = ([one.clone(), two.clone()].concat(), one.len());
        let mut recent = Recent::default();
        let mut amounts = |bytes: &[u8], ends: &[usize]| {
            let read = recent.read(&Messages { bytes, ends });
            read.map(|(resources, pieces)| {
                assert_eq!(pieces::of(resources), pieces);
                pieces.iter().map(|piece| piece.amount).collect::<Vec<_>>()
            })
        };
        assert!(amounts(&[], &[]).unwrap().is_empty());
        for _ in 0..2 {
            assert_eq!(amounts(&bytes, &[size, 2 * size]).unwrap(), [1.0, 2.0]);
        }
        assert_eq!(amounts(&two, &[size]).unwrap(), [2.0]);
        // Of a message that says a field twice the last counts.
        assert_eq!(amounts(&bytes, &[2 * size]).unwrap(), [2.0]);
        assert!(amounts(&bytes, &[1]).is_err());
        assert_eq!(amounts(&bytes, &[size, 2 * size]).unwrap(), [1.0, 2.0]);
    }
}
