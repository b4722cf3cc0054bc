// SPDX-License-Identifier: Apache-2.0
//! libFuzzer's program for the target of this name.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| mesos_gpu_fuzz::image_rules::run(input));
