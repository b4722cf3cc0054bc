// SPDX-License-Identifier: Apache-2.0
//! Every test of GoogleTest as a test of cargo's: `cargo test -p mesos-gpu-harness -- NvidiaGpuTest` runs those whose name
//! has that in it.

use std::path::Path;
use std::process::ExitCode;

use fake_nvml::skip;
use libtest_mimic::{Arguments, Failed, Trial};

const PROGRAM: &str = env!("CARGO_BIN_EXE_harness");

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let program = Path::new(PROGRAM);
    let trials = match harness::tests().map(|_| harness::run::list(program)) {
        None => vec![Trial::test("gtest", || {
            skip_as("the C++ tests", harness::NO_GOOGLETEST.to_owned())
        })],
        Some(Ok(names)) => names.into_iter().map(trial).collect(),
        Some(Err(error)) => vec![Trial::test("gtest", move || Err(Failed::from(error.to_string())))],
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(name: String) -> Trial {
    let test = name.clone();
    Trial::test(name, move || {
        if let Some(lacking) = harness::run::lacking(&test) {
            return skip_as(&test, lacking);
        }
        let said = harness::run::test(Path::new(PROGRAM), &test).map_err(|error| error.to_string())?;
        // Figures that a test tells.
        for line in said.lines().filter(|line| line.starts_with("figures: ")) {
            println!("{test}: {line}");
        }
        Ok(())
    })
}

/// A skip is told with the name of its thread, and the runner's have none.
fn skip_as(test: &str, lacking: String) -> Result<(), Failed> {
    let thread = std::thread::Builder::new().name(test.to_owned());
    let told = thread.spawn(move || skip(&lacking)).map(|told| told.join());
    told.map_err(|error| error.to_string())?
        .map_err(|_| Failed::from("the skip could not be told"))
}
