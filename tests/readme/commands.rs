// SPDX-License-Identifier: Apache-2.0
//! The commands in documents: their programs, packages and subcommands exist. The test bed runs those of the README.

use super::text::{commands, documents, quoted, read, root};
use std::os::unix::fs::PermissionsExt;

#[test]
fn every_program_of_this_repository_exists_and_can_be_run() {
    let mut checked = 0;
    for document in documents() {
        for command in commands(&document.text) {
            let program = command.split(' ').find(|word| !word.contains('=')).unwrap();
            let made = match program {
                "target/release/bench" => read("tests/bench/Cargo.toml").contains("name = \"bench\""),
                _ if program.contains('/') => {
                    let path = root().join(program);
                    path.is_file() && path.metadata().unwrap().permissions().mode() & 0o111 != 0
                }
                _ => continue,
            };
            assert!(made, "{}: {program}", document.path);
            checked += 1;
        }
    }
    assert!(checked >= 3, "only {checked} programs were found");
}

#[test]
fn every_package_and_subcommand_of_a_command_exists() {
    let bed = read("tests/testbed/src/program.rs");
    // Of several programs cargo must be told which to run.
    assert!(read("tests/testbed/Cargo.toml").contains("\ndefault-run = \"testbed\"\n"));
    let tool = read("src/bin/mesos-gpu/arguments.rs");
    let mut checked = 0;
    for document in documents() {
        let mut all = commands(&document.text);
        all.extend(quoted(&document.text));
        for command in all {
            if let Some((_, rest)) = command.split_once("cargo run -p mesos-gpu-testbed -- ") {
                for word in rest.split(' ').next().unwrap().split('|') {
                    assert!(
                        bed.contains(&format!("Some(\"{word}\") =>")),
                        "{}: {word}",
                        document.path
                    );
                    checked += 1;
                }
            }
            if let Some(rest) = command.strip_prefix("mesos-gpu ") {
                let word = rest.split(' ').next().unwrap();
                let variant: String = word[..1].to_ascii_uppercase() + &word[1..];
                assert!(
                    tool.contains(&format!("    {variant}(")),
                    "{}: {command}",
                    document.path
                );
                checked += 1;
            }
        }
    }
    assert!(checked >= 15, "only {checked} commands were found");
}
