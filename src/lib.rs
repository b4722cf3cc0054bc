// SPDX-License-Identifier: Apache-2.0
//! NVIDIA GPUs as a first-class resource of Apache Mesos, as a module that an unmodified agent loads.
//!
//! The shared library `libmesos_gpu.so` exports one record for each module; Mesos finds them by name (`--modules`), makes
//! the modules, and calls them in its own process. Rust holds every decision, a thin C++ layer holds Mesos's types.
//!
//! ```text
//! Mesos thread ──virtual call──▶ cpp/ adapter ──cxx──▶ bridge ──job──▶ agent thread (owns inventory, ledger, containers)
//!    ▲                              │ returns a pending future at once       │ asks ports; NVML has threads of its own
//!    └──────── promise completed from any thread ◀────── reply ◀─────────────┘
//! ```
//!
//! # The house
//! A module uses only what stands below it; `tests/layers.rs` keeps that.
//!
//! | layer | what it is for |
//! |---|---|
//! | `cpp/`, `include/mesos_gpu` | Mesos's types, promises, factories; no decisions |
//! | `include/mesos/1.11` | the module interface of Mesos 1.11 in our own words |
//! | `bridge` | translate, guard, compose; unsafe code lives here and in `system/nvml/mig_ids.rs` only |
//! | [`tool`] | what the operator's program `mesos-gpu` finds out and shows; nothing of it is in the module |
//! | [`isolator`], [`advertise`], [`filter`] | the modules: what agents do, one verb a file, and what the allocator of a master withholds |
//! | [`system`] | the real machine behind the ports |
//! | [`agent`] | the one thread that owns the state: discovery, health, release, waiting |
//! | [`ports`] | the seams to the machine, each with one contract test for the real and the fake side |
//! | [`config`] | parameters and the agent's own flags, every refusal named |
//! | [`wire`] | Mesos's messages as data |
//! | [`domain`] | pure decisions: units, device rules, requests, ledger, placement, launch plan, recovery, advertising |
//! | [`error`] | one line for a person, a kind for decisions |
//!
//! # What nothing here may bend
//! A GPU has at most one regular holder, through crashes, restarts and lost checkpoints; in doubt it stays held. The devices cgroup decides what a container can open, and
//! no variable, label or node grants anything. The agent never stops and never hangs because of a GPU or a driver. Identities
//! are UUIDs; minors are looked up fresh.
#![deny(unsafe_code)]

pub mod advertise;
pub mod agent;
mod bridge;
pub mod config;
pub mod domain;
pub mod error;
pub mod filter;
pub mod isolator;
pub mod ports;
pub mod system;
pub mod tool;
pub mod wire;
