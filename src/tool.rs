// SPDX-License-Identifier: Apache-2.0
//! The operator's program, as far as it can be tested without running it: what `list`, `check` and `status` find out of a
//! machine, and how they show it. The program itself only reads arguments and prints.
//!
//! What a person is told comes from the modules' own rules wherever there is one, so that the two cannot differ. What the
//! machine is like is read in [`machine`] alone; everything that judges is a function of facts.

pub mod check;
pub mod finding;
pub mod list;
pub mod machine;
pub mod modules;
pub mod status;
pub mod table;
