// SPDX-License-Identifier: Apache-2.0
//! The flags that documents name, each of the program that it is named for.

use super::text::{code, commands, documents, quoted, read};

/// Flags of Mesos's agent and master that documents name. That Mesos has them, the test bed says, which has a Mesos.
pub const MESOS: [&str; 28] = [
    "allocation_interval",
    "allocator",
    "attributes",
    "cgroups_hierarchy",
    "cgroups_root",
    "containerizers",
    "fair_sharing_excluded_resource_names",
    "filter_gpu_resources",
    "framework_sorter",
    "hooks",
    "isolation",
    "master",
    "min_allocatable_resources",
    "modules",
    "modules_dir",
    "nvidia_gpu_devices",
    "oversubscribed_resources_interval",
    "qos_controller",
    "reconfiguration_policy",
    "resource_estimator",
    "resources",
    "role_sorter",
    "runtime_dir",
    "work_dir",
    "image_providers",
    "launcher",
    "ip",
    "port",
];
/// Flags of cargo's.
const CARGO: [&str; 4] = ["release", "workspace", "lib", "test"];
/// A flag of the program that configures Mesos's build.
const CONFIGURE: &str = "enable-install-module-dependencies";
/// Programs of others, whose flags are theirs to say.
const OTHERS: [&str; 10] = [
    "cp",
    "dcgm-exporter",
    "mkdir",
    "mount",
    "node_exporter",
    "nsenter",
    "nvidia-ctk",
    "pidof",
    "sudo",
    "systemctl",
];

/// Whether a program has a flag; none for a program that is not known.
fn has(program: &str, flag: &str) -> Option<bool> {
    let mesos = || MESOS.contains(&flag);
    let tool = || {
        let text = read("src/bin/mesos-gpu/arguments.rs");
        text.contains(&format!("pub {}: ", flag.replace('-', "_")))
    };
    let installer = || {
        let text = read("packaging/install.sh");
        [format!("    --{flag}=*)"), format!("    --{flag})")]
            .iter()
            .any(|case| text.contains(case))
    };
    let bench = || code("tests/bench/src").contains(&format!("--{flag}"));
    let real = || {
        let told =
            |file: &str| read(&format!("tests/testbed/src/{file}.rs")).contains(&format!("\"--{flag}\""));
        told("payload") || told("real_gpu/options")
    };
    let cargo = || CARGO.contains(&flag);
    Some(match program {
        "mesos-agent" | "mesos-master" => mesos(),
        "mesos-execute" => read("tests/testbed/src/execute/flags.rs").contains(&format!("\"{flag}\" => ")),
        "mesos-gpu" => tool(),
        "packaging/install.sh" => installer(),
        "cargo" | "tests/run" => cargo(),
        "target/release/bench" => bench(),
        "target/release/testbed" | "payload/run" => real(),
        // A flag without its program.
        "" => mesos() || tool() || installer() || bench() || real() || cargo() || flag == CONFIGURE,
        _ if OTHERS.contains(&program) => true,
        _ => return None,
    })
}

/// The parts of a command line that are programs with flags: after ` -- ` and in `$(…)` others begin.
fn check(command: &str, is_quoted: bool, place: &str) -> usize {
    let mut parts: Vec<&str> = command.split("$(").collect();
    let first = parts.remove(0);
    parts.extend(first.split(" -- "));
    let mut checked = 0;
    for part in parts {
        let mut words = part.split(' ').skip_while(|word| {
            let name = word.split('=').next().unwrap();
            word.contains('=') && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        });
        let mut words: Vec<&str> = words.by_ref().collect();
        let bare = words.first().is_none_or(|word| word.starts_with("--"));
        let program = if bare { "" } else { words.remove(0) };
        for word in words {
            let Some(flag) = word.trim_start_matches(['[', '"', '\'']).strip_prefix("--") else {
                continue;
            };
            let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let flag: String = flag.chars().take_while(|c| is_in_name(*c)).collect();
            // A family of flags, `--…`.
            if flag.is_empty() {
                continue;
            }
            // What is quoted within a text may be a sentence.
            let sentence = || has("", &flag).filter(|_| is_quoted);
            let known = has(program, &flag).or_else(sentence);
            let known = known.unwrap_or_else(|| panic!("{place}: what is {program}, in {command:?}"));
            assert!(known, "{place}: {program} has no --{flag}");
            checked += 1;
        }
    }
    checked
}

#[test]
fn every_flag_is_one_of_its_program() {
    let mut checked = 0;
    for document in documents() {
        for command in commands(&document.text) {
            checked += check(&command, false, &document.path);
        }
        for text in quoted(&document.text).iter().filter(|text| text.contains("--")) {
            checked += check(text, true, &document.path);
        }
    }
    assert!(checked > 60, "only {checked} flags were found");
}

#[test]
fn every_flag_of_mesos_that_is_known_here_is_named() {
    let all: String = documents().into_iter().map(|one| one.text).collect();
    for flag in MESOS
        .iter()
        .filter(|flag| !["image_providers", "launcher", "ip", "port"].contains(flag))
    {
        assert!(all.contains(&format!("--{flag}")), "nobody names --{flag}");
    }
}
