// SPDX-License-Identifier: Apache-2.0
//! The one program of the testbed: it answers to the names of Mesos's helper programs and to its own subcommands.

use std::process::ExitCode;

fn main() -> ExitCode {
    testbed::program::main()
}
