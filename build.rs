// SPDX-License-Identifier: Apache-2.0
//! Compiles the bridge and `cpp/`, against the Mesos installation at `MESOS_PREFIX` when that is set, else against our own
//! description of its interface.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const BRIDGE: &str = "src/bridge/ffi.rs";
const SOURCES: [&str; 13] = [
    "cpp/allocator.cpp",
    "cpp/fault.cpp",
    "cpp/hook.cpp",
    "cpp/inner_allocator.cpp",
    "cpp/isolator.cpp",
    "cpp/layout.cpp",
    "cpp/log.cpp",
    "cpp/module_record.cpp",
    "cpp/offers.cpp",
    "cpp/oversubscription.cpp",
    "cpp/qos_controller.cpp",
    "cpp/reply.cpp",
    "cpp/resource_estimator.cpp",
];

fn main() -> io::Result<()> {
    let mut build = cxx_build::bridge(BRIDGE);
    build
        .files(SOURCES)
        .include("include")
        .include("cpp")
        .std("c++17");
    match env::var_os("MESOS_PREFIX").filter(|prefix| !prefix.is_empty()) {
        // Mesos's own headers are not written for these warnings.
        Some(prefix) => {
            // Mesos's two build systems put the headers of its bundled libraries in different places.
            for folder in ["include", "lib/mesos/3rdparty/include"] {
                build
                    .flag("-isystem")
                    .flag(Path::new(&prefix).join(folder).display().to_string());
            }
        }
        None => {
            build
                .include("include/mesos/1.11")
                .warnings(true)
                .extra_warnings(true)
                .warnings_into_errors(true);
        }
    }
    build
        .flag("-fvisibility=hidden")
        .flag("-fvisibility-inlines-hidden")
        .compile("mesos_gpu_cpp");
    hide_bridge()?;

    println!("cargo::rustc-link-arg-cdylib=-Wl,--exclude-libs,ALL");
    println!("cargo::rerun-if-env-changed=MESOS_PREFIX");
    for changed in ["cpp", "include", BRIDGE] {
        println!("cargo::rerun-if-changed={changed}");
    }
    Ok(())
}

/// Rust exports every function that C++ can call from a shared library, so a process with two libraries built on this
/// bridge would mix them up. The linker gives a symbol the narrowest visibility that any object asks for; this writes the
/// directives that ask for it, which `src/bridge/exports.rs` assembles.
fn hide_bridge() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?);
    let package = env::var("CARGO_PKG_NAME").map_err(io::Error::other)?;
    let generated = out
        .join("cxxbridge/sources")
        .join(package)
        .join(format!("{BRIDGE}.cc"));
    let text = fs::read_to_string(&generated)?;
    let names: BTreeSet<&str> = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'))
        .filter(|word| word.contains("cxxbridge1$") && !word.starts_with('$'))
        .collect();
    let directives: Vec<String> = names.iter().map(|name| format!(".hidden \"{name}\"\n")).collect();
    fs::write(out.join("hidden.s"), directives.concat())
}
