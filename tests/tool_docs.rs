// SPDX-License-Identifier: Apache-2.0
//! docs/tool.md says what the tool does: its subcommands, options and rules are exactly the tool's, and each rule is
//! seeded by a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "only the definitions are looked at")]
#[path = "../src/bin/mesos-gpu/arguments.rs"]
mod arguments;

use clap::CommandFactory;
use mesos_gpu::config::flags::FETCHED;
use mesos_gpu::tool::check::rules;
use mesos_gpu::tool::finding::Rule;
use mesos_gpu::tool::status;
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn chapter() -> String {
    fs::read_to_string(root().join("docs/tool.md")).unwrap()
}

/// The text under the heading of a subcommand.
fn section(name: &str) -> String {
    let chapter = chapter();
    let heading = format!("## mesos-gpu {name}\n");
    let rest = chapter
        .split(&heading)
        .nth(1)
        .unwrap_or_else(|| panic!("no {heading}"));
    rest.split("\n## ").next().unwrap().to_owned()
}

/// The rows of the table with this head.
fn rows(text: &str, head: &str) -> Vec<Vec<String>> {
    let rows = text.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| {
            row.trim_matches('|')
                .split(" | ")
                .map(|cell| cell.trim().to_owned())
                .collect()
        })
        .collect()
}

#[test]
fn every_subcommand_has_its_section_with_exactly_its_options() {
    let tool = arguments::Arguments::command();
    let names: Vec<&str> = tool.get_subcommands().map(clap::Command::get_name).collect();
    let chapter = chapter();
    let headings: Vec<&str> = chapter
        .lines()
        .filter_map(|line| line.strip_prefix("## mesos-gpu "))
        .collect();
    assert_eq!(headings, names);
    for subcommand in tool.get_subcommands() {
        let name = |argument: &clap::Arg| match argument.get_long() {
            Some(long) => format!("`--{long}`"),
            None => format!("`{}`", argument.get_value_names().unwrap()[0]),
        };
        let mut want: Vec<String> = subcommand.get_arguments().map(name).collect();
        let mut told: Vec<String> = rows(&section(subcommand.get_name()), "| option |")
            .into_iter()
            .map(|row| row[0].clone())
            .collect();
        want.sort();
        told.sort();
        assert_eq!(told, want, "{}", subcommand.get_name());
    }
}

#[test]
fn the_exit_statuses_of_the_help_are_those_of_the_chapter() {
    let tool = arguments::Arguments::command();
    for subcommand in tool.get_subcommands() {
        let Some(help) = subcommand.get_after_help() else {
            continue;
        };
        let help = help.to_string();
        let statuses = help
            .strip_prefix("Exit status: ")
            .unwrap()
            .split('.')
            .next()
            .unwrap();
        let told = section(subcommand.get_name());
        let same = told.contains(&format!("The exit status is {statuses}."));
        assert!(
            same || told.contains("The exit status is that of `check`."),
            "{statuses}"
        );
    }
}

#[test]
fn every_rule_stands_in_its_table_and_is_seeded_by_a_test() {
    check_rules("check", rules::RULES);
    check_rules("status", status::RULES);
}

fn check_rules(subcommand: &str, rules: &[Rule]) {
    let want: Vec<Vec<String>> = rules
        .iter()
        .map(|rule| {
            let name = format!("`{}`", rule.name);
            vec![name, rule.severity.word().to_owned(), rule.meaning.to_owned()]
        })
        .collect();
    assert_eq!(rows(&section(subcommand), "| rule |"), want);
    let tests = tests_of_the_tool();
    for rule in rules {
        let seeded = [format!("\"{}\"", rule.name), format!(" {}\"", rule.name)];
        assert!(
            seeded.iter().any(|text| tests.contains(text)),
            "no test seeds {}",
            rule.name
        );
    }
}

fn tests_of_the_tool() -> String {
    let folder = root().join("tests");
    let mut text = String::new();
    for entry in fs::read_dir(folder.join("tool_check")).unwrap() {
        text += &fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    for file in ["tool_check_facts.rs", "tool_status.rs"] {
        text += &fs::read_to_string(folder.join(file)).unwrap();
    }
    text
}

#[test]
fn the_options_and_parameters_of_the_examples_exist() {
    for command in chapter().lines().filter(|line| line.starts_with("mesos-gpu ")) {
        let own: Vec<&str> = command
            .split(" -- ")
            .next()
            .unwrap()
            .split(' ')
            .map(|word| word.split('=').next().unwrap())
            .collect();
        let tool = arguments::Arguments::command();
        let subcommand = tool
            .find_subcommand(own[1])
            .unwrap_or_else(|| panic!("{command}"));
        for word in own.iter().filter_map(|word| word.strip_prefix("--")) {
            assert!(
                subcommand.get_arguments().any(|one| one.get_long() == Some(word)),
                "{command}: {word}"
            );
        }
    }
}

/// That no other flag is asked for, the flags say themselves wherever a test asks for one.
#[test]
fn every_flag_that_is_fetched_is_asked_for() {
    let mut code = String::new();
    let mut folders = vec![root().join("src")];
    // Where flags are only listed.
    let lists = ["config/flags.rs", "check/rules/flags.rs"];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if lists.iter().all(|list| !path.ends_with(list)) {
                code += &fs::read_to_string(path).unwrap();
            }
        }
    }
    for flag in FETCHED {
        assert!(code.contains(&format!("\"{flag}\"")), "nobody asks for --{flag}");
    }
}
