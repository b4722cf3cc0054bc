// SPDX-License-Identifier: Apache-2.0
//! Compiles the C++ that holds Mesos's own types. It links to nothing of Mesos: everything is looked up at run time.

fn main() {
    let sources = [
        "process",
        "agent",
        "allocator",
        "allocator_bench",
        "allocator_race",
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
}
