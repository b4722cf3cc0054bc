// SPDX-License-Identifier: Apache-2.0
//! Where Rust and C++ meet: translate, guard, compose. The only room with unsafe code, all of it at the edge: module
//! records that Mesos reads, and promises that another thread completes.
#![allow(unsafe_code)]

mod allocator;
mod compose;
mod controller;
mod estimator;
mod exports;
mod fault;
mod ffi;
mod guard;
mod hook;
mod isolator;
mod logger;
mod message;
mod pieces;
mod process;
mod recent;
mod reply;
