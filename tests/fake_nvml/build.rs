// SPDX-License-Identifier: Apache-2.0
//! Builds what the files of a simulated driver are made from: one shared object and one program. They are compiled once,
//! here, so that a machine can be laid out where there is no compiler.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};

/// Longer than any real name; `src/driver_tree/library.rs` overwrites it.
const SONAME: &str = "@soname------------------------------------------";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=driver");
    // The loader and `ldconfig` know a library by this name, whatever its file is called.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo set no OUT_DIR")?);
    let soname = format!("-Wl,-soname,{SONAME}");
    let no_others = ["-shared", "-fPIC", "-nostdlib", "-Wl,--build-id=none", &soname];
    compile("driver/library.c", &out.join("library.so"), &no_others, &[])?;
    compile("driver/program.c", &out.join("program"), &[], &["-ldl"])
}

fn compile(source: &str, to: &Path, flags: &[&str], libraries: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut command = cc::Build::new()
        .opt_level(1)
        .debug(false)
        .try_get_compiler()?
        .to_command();
    command.args(["-Wall", "-Wextra", "-Werror", "-s"]).args(flags);
    command.arg(source).arg("-o").arg(to).args(libraries);
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("cannot compile {source}: {command:?} ended with {status}").into())
}
