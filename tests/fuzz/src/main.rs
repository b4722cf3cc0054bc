// SPDX-License-Identifier: Apache-2.0
//! Runs a fuzzer for so much processor time: builds it with the flags that libFuzzer needs, on the ordinary compiler, and
//! counts what it tried. `fuzz <target> <seconds>`; see the library for the commands.

use mesos_gpu_fuzz::{TARGETS, Target, corpus};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

/// What makes the compiler count branches and tell comparisons to libFuzzer; the same as of the tool cargo-fuzz.
const INSTRUMENT: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    // One unit, or parts of a program that no branch leads to are counted without a table.
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
    "-Coverflow-checks",
];
/// libFuzzer is told time on the clock; after each of these slices the time on the processor is looked at.
const SLICE: u64 = 300;
const LONGEST_INPUT: usize = 16 * 1024;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let target = |name: &str| TARGETS.into_iter().find(|target| target.name == name);
    let (target, seconds) = match &words[..] {
        [name, seconds] => (target(name), seconds.parse().ok()),
        _ => (None, None),
    };
    let (Some(target), Some(seconds)) = (target, seconds) else {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("usage: fuzz {} <seconds of processor time>", names.join("|"));
        return ExitCode::FAILURE;
    };
    match fuzz(target, seconds) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether nothing was found.
fn fuzz(target: Target, seconds: u64) -> Result<bool, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let build = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let build = build.join("fuzz");
    let program = compile(target, &root, &build)?;
    let inputs = build.join("inputs").join(target.name);
    let found = build.join("found").join(target.name);
    for folder in [&inputs, &found] {
        fs::create_dir_all(folder)?;
    }
    for input in corpus::inputs(target.name) {
        fs::write(inputs.join(&input.name), &input.bytes)?;
    }

    let before = used()?;
    let mut tried = 0;
    loop {
        let spent = used()? - before;
        println!(
            "{}: {spent} s of processor time, {tried} inputs tried, {} kept",
            target.name,
            count(&inputs)?
        );
        if spent >= seconds {
            return Ok(true);
        }
        let slice = SLICE.min(seconds - spent).max(1);
        let output = Command::new(&program)
            .arg(&inputs)
            .arg(format!("-max_total_time={slice}"))
            .arg(format!("-max_len={LONGEST_INPUT}"))
            .arg(format!("-artifact_prefix={}/", found.display()))
            .args([
                "-timeout=10",
                "-rss_limit_mb=2048",
                "-print_final_stats=1",
                "-verbosity=0",
            ])
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let executed = said
            .lines()
            .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
        tried += executed
            .and_then(|number| number.trim().parse::<u64>().ok())
            .unwrap_or(0);
        if !output.status.success() {
            println!("{said}\nfuzz: {} ended with {}", target.name, output.status);
            return show(&found).map(|()| false);
        }
    }
}

fn compile(target: Target, root: &Path, build: &Path) -> Result<PathBuf, Box<dyn Error>> {
    // Named, so that the flags are for what runs there and not for what builds it.
    let machine = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args([
            "build",
            "--release",
            "--locked",
            "-p",
            env!("CARGO_PKG_NAME"),
            "--features",
            "engine",
        ])
        .args(["--bin", target.name, "--target", &machine, "--target-dir"])
        .arg(build)
        .env("CARGO_ENCODED_RUSTFLAGS", INSTRUMENT.join("\u{1f}"))
        .status()?;
    if !status.success() {
        return Err(format!("cannot build {}: cargo ended with {status}", target.name).into());
    }
    Ok(build.join(machine).join("release").join(target.name))
}

/// Seconds of processor time that ended children took.
fn used() -> Result<u64, Box<dyn Error>> {
    let usage: Usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(u64::try_from(
        (usage.user_time() + usage.system_time()).num_seconds(),
    )?)
}

fn count(folder: &Path) -> Result<usize, Box<dyn Error>> {
    Ok(fs::read_dir(folder)?.count())
}

/// Prints what was found, to be kept.
fn show(folder: &Path) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        println!("# {}\n{}", path.display(), corpus::encode(&fs::read(&path)?));
    }
    Ok(())
}
