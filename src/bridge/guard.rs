// SPDX-License-Identifier: Apache-2.0
//! Nothing unwinds into C++: a panic in a function that C++ calls becomes an error with the panic's text.

use super::fault::panic_if_told;
use crate::agent::panic_text;
use crate::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

// With `panic = "abort"` the first panic would end the agent, and no fence could hold.
const _: () = assert!(
    cfg!(panic = "unwind"),
    "this library must be built with panic = \"unwind\""
);

/// Runs the body of a factory or of a call that answers at once.
pub(super) fn guard<T>(entry: &'static str, f: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    caught(entry, || {
        panic_if_told(entry);
        f()
    })
}

/// Runs `f`; a panic in it is an error with the panic's text.
pub(super) fn caught<T>(entry: &'static str, f: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        Err(Error::defect(format!(
            "{entry} panicked: {}",
            panic_text(panic.as_ref())
        )))
    })
}
