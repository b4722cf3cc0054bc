// SPDX-License-Identifier: Apache-2.0
//! What `mesos_gpu_Allocator` promises, proven in a real master with real agents, one promise a file. The agents isolate
//! nothing and name GPUs in `--resources`: to an allocator these are numbers.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

mod common;
mod conservation;
mod failover;
mod offers_table;
mod quota;
mod race;
mod reviving;
mod starvation;
