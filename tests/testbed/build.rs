// SPDX-License-Identifier: Apache-2.0
//! Compiles the C++ that holds Mesos's own types, which links to nothing of Mesos: everything is looked up at run time. And
//! the programs of `testbed real-gpu`, once and here, as there need be no compiler where they run.

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let sources = [
        "process",
        "agent",
        "allocator",
        "allocator_bench",
        "allocator_race",
        "isolator_bench",
        "master",
        "containerizer",
        "switchboard",
    ];
    println!("cargo:rerun-if-changed=cpp");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror")
        .files(sources.map(|name| format!("cpp/{name}.cpp")))
        .compile("testbed_cpp");
    println!("cargo:rustc-link-lib=dylib=dl");
    println!("cargo:rustc-link-lib=dylib=pthread");

    println!("cargo:rerun-if-changed=gpu");
    for program in ["cuda_check", "nvml_answers", "nvml_watch"] {
        compile(program, &[])?;
    }
    let library = [
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "-Wl,-soname,libcuda.so.1",
    ];
    compile("simulated_cuda", &library)
}

fn compile(name: &str, flags: &[&str]) -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo set no OUT_DIR")?);
    let mut command = cc::Build::new()
        .opt_level(1)
        .debug(false)
        .try_get_compiler()?
        .to_command();
    command.args(["-Wall", "-Wextra", "-Werror", "-s"]).args(flags);
    command.arg(format!("gpu/{name}.c")).arg("-o").arg(out.join(name));
    let status = command.arg("-ldl").status()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("cannot compile gpu/{name}.c: {command:?} ended with {status}").into())
}
