// SPDX-License-Identifier: Apache-2.0
//! Mesos's messages from the bytes in which they cross. They were written by Mesos itself, so what cannot be read is a
//! defect, of this library or of the releases that met.

use crate::error::Error;
use crate::wire::decode;

/// Reads a message; `name` is its name in an error.
///
/// # Errors
/// The bytes are no such message.
pub(super) fn read<M: prost::Message + Default>(name: &'static str, bytes: &[u8]) -> Result<M, Error> {
    decode(name, bytes).map_err(|e| Error::defect(e.to_string()))
}
