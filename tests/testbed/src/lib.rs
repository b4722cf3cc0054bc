// SPDX-License-Identifier: Apache-2.0
//! A real Apache Mesos 1.11.0 in a box, for the tests and the demo of mesos-gpu.
//!
//! There is no Mesos package to install and none to build in reasonable time. The PyPI package `mesos-scheduler`
//! carries the whole of Mesos in one shared object, though, and this crate turns that into running programs:
//!
//! * [`base`] obtains the library, checks its digest, and makes stubs for what it links to and the machine lacks;
//! * `native` and `cpp/` open it and put a master, an agent and a containerizer together from its exported parts;
//! * [`program`] is the one binary, under all the names by which Mesos calls its helpers;
//! * [`bed`] starts masters and agents for a test in a private folder with private ports and cgroups, and removes
//!   everything afterwards, also after a crash;
//! * [`http`], [`recordio`], [`operator`], [`scheduler`], [`execute`], [`executor`] and [`default_executor`] speak
//!   Mesos's HTTP APIs.
#![deny(unsafe_code)]

pub mod base;
pub mod bed;
pub mod default_executor;
pub mod demo;
pub mod error;
pub mod execute;
pub mod executor;
pub mod http;
pub mod image_name;
pub mod image_probe;
pub mod mesos_text;
mod native;
pub mod operator;
pub mod payload;
pub mod program;
pub mod real_gpu;
pub mod recordio;
pub mod resources;
pub mod scheduler;
pub mod support;

pub use bed::{Agent, AgentBuilder, Master, MasterBuilder, Testbed};
pub use error::Error;
