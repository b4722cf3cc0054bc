// SPDX-License-Identifier: Apache-2.0
//! Compiles the C++ tests with GoogleTest into one shared library. It is linked against nothing of Mesos, whose names it
//! finds in the process that opens it.
//!
//! GoogleTest is taken as sources, because they are compiled with the flags of those who use them: from where Debian and
//! Ubuntu put their package `googletest`, or from a copy of the project that `GOOGLETEST_DIR` names.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const PACKAGE: &str = "/usr/src/googletest/googletest";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=GOOGLETEST_DIR");
    println!("cargo::rerun-if-changed=cpp");
    println!("cargo::rerun-if-changed=../../include");
    let sources = googletest();
    // A file that is not there makes cargo look again the next time.
    println!("cargo::rerun-if-changed={}", all(&sources).display());
    let library = if all(&sources).is_file() {
        link(&sources)?
    } else {
        PathBuf::new()
    };
    println!("cargo::rustc-env=HARNESS_TESTS={}", library.display());
    Ok(())
}

/// The folder of GoogleTest itself; in the whole project it lies one deeper.
fn googletest() -> PathBuf {
    let named = env::var_os("GOOGLETEST_DIR").filter(|value| !value.is_empty());
    let folder = named.map_or_else(|| PathBuf::from(PACKAGE), PathBuf::from);
    let deeper = folder.join("googletest");
    if all(&deeper).is_file() { deeper } else { folder }
}

/// The one source that includes all others.
fn all(sources: &Path) -> PathBuf {
    sources.join("src/gtest-all.cc")
}

fn compiler() -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .pic(true)
        .flag("-fvisibility=hidden")
        .flag("-fvisibility-inlines-hidden")
        .debug(false)
        .cargo_metadata(false);
    build
}

fn link(sources: &Path) -> io::Result<PathBuf> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?);
    let mut framework = compiler();
    framework.include(sources.join("include")).include(sources);
    let mut objects = framework
        .warnings(false)
        .file(all(sources))
        .compile_intermediates();
    let mut tests = compiler();
    tests
        .flag("-isystem")
        .flag(sources.join("include").display().to_string())
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror")
        .include("cpp")
        .include("../../include/mesos/1.11");
    for entry in fs::read_dir("cpp")? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "cpp") {
            tests.file(path);
        }
    }
    objects.extend(tests.compile_intermediates());

    // Mesos was compiled years ago and exports its copies of the standard library's templates; ours are not to be theirs.
    let exports = out.join("exports");
    fs::write(&exports, "{ global: harness_main; local: *; };\n")?;
    let library = out.join("libharness_tests.so");
    let mut linker: Command = compiler().get_compiler().to_command();
    linker.args(objects).arg("-shared").arg("-o").arg(&library);
    linker.arg(format!("-Wl,--version-script={}", exports.display()));
    linker.args(["-ldl", "-lpthread"]);
    let status = linker.status()?;
    if !status.success() {
        return Err(io::Error::other(format!("{linker:?}: {status}")));
    }
    Ok(library)
}
