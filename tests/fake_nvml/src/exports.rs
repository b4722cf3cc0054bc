// SPDX-License-Identifier: Apache-2.0
//! NVML's C functions, as far as crate `nvml-wrapper` 0.13 and Mesos's built-in `gpu/nvidia` ask for them. Names,
//! signatures and layouts are NVML's; everything else is [`crate::driver`]'s. Each function is one call of its.

// The names are NVML's, and exporting a symbol is `unsafe` by spelling; pointers are touched in `abi` alone.
#![allow(unsafe_code, non_snake_case)]

mod abi;
mod events;
mod handle;
mod identity;
mod layout;
mod mig;
mod processes;
mod readings;
mod system;
