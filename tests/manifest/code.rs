// SPDX-License-Identifier: Apache-2.0
//! Rules of the sources that no compiler and no lint keeps.

use crate::tree::{Entry, assert_none, entries};

const FIRST_LINE: &str = "// SPDX-License-Identifier: Apache-2.0";
/// The house rule, which bends where a file has one reason to change, and the limit, which does not.
const LONG: usize = 250;
const TOO_LONG: usize = 300;
/// How far above an unsafe block its proof may begin: a statement of several lines stands below one comment.
const PROOF_WITHIN: usize = 8;

#[test]
fn every_source_begins_with_its_licence() {
    let bare = |one: &&Entry| one.is_code() && one.text().lines().next() != Some(FIRST_LINE);
    let wrong: Vec<_> = entries()
        .iter()
        .filter(bare)
        .map(|one| one.path.display().to_string())
        .collect();
    assert_none(&format!("the first line is not `{FIRST_LINE}`"), &wrong);
}

#[test]
fn files_are_short() {
    let mut wrong = Vec::new();
    for one in entries()
        .iter()
        .filter(|one| one.path.as_os_str() != "Cargo.lock")
    {
        let lines = one.text().lines().count();
        let line = format!("{lines} lines: {}", one.path.display());
        if lines > TOO_LONG {
            wrong.push(line);
        } else if lines > LONG {
            println!("{line}");
        }
    }
    assert_none(&format!("longer than {TOO_LONG} lines"), &wrong);
}

#[test]
fn nothing_is_left_for_later() {
    // In halves, so that this file passes its own test.
    let marks: Vec<String> = [
        ("TO", "DO"),
        ("FIX", "ME"),
        ("XX", "X:"),
        ("to", "do!"),
        ("unimple", "mented!"),
        ("#[ig", "nore"),
    ]
    .map(|(a, b)| format!("{a}{b}"))
    .into();
    assert_none("left for later", &lines_with(&entries(), &marks));
}

#[test]
fn no_path_of_somebodys_machine_is_written_down() {
    let paths = [("/wo", "rk/"), ("/tmp/", "target"), ("/ro", "ot/")].map(|(a, b)| format!("{a}{b}"));
    assert_none("paths of a machine", &lines_with(&entries(), &paths));
}

#[test]
fn every_unsafe_block_has_its_proof() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for one in entries().iter().filter(|one| one.is_rust()) {
        let text = one.text();
        let unproven = unproven(&text);
        seen += unsafe_lines(&text).len();
        wrong.extend(
            unproven
                .iter()
                .map(|line| format!("{}:{line}", one.path.display())),
        );
    }
    assert!(
        seen > 20,
        "only {seen} unsafe blocks were found: the test no longer sees them"
    );
    assert_none("unsafe without a comment that says why it holds", &wrong);
}

/// `path:line: text` of the lines that have one of the marks.
fn lines_with(entries: &[Entry], marks: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for one in entries {
        for (number, line) in (1..).zip(one.text().lines()) {
            if marks.iter().any(|mark| line.contains(mark.as_str())) {
                found.push(format!("{}:{number}: {}", one.path.display(), line.trim()));
            }
        }
    }
    found
}

/// The places, from 0, of the lines on which an unsafe block or an unsafe impl begins.
fn unsafe_lines(text: &str) -> Vec<usize> {
    let begins = |line: &str| {
        let code = line.split("//").next().unwrap_or("");
        let words = code.split("unsafe").skip(1).map(str::trim_start);
        words
            .clone()
            .any(|rest| rest.starts_with('{') || rest.starts_with("impl "))
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| begins(line))
        .map(|(place, _)| place)
        .collect()
}

/// The lines, from 1, of unsafe code that has no proof above it.
fn unproven(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let proven = |place: &usize| {
        lines[place.saturating_sub(PROOF_WITHIN)..=*place]
            .iter()
            .any(|l| l.contains("SAFETY:"))
    };
    unsafe_lines(text)
        .into_iter()
        .filter(|place| !proven(place))
        .map(|place| place + 1)
        .collect()
}

#[test]
fn unsafe_code_is_seen() {
    let word = "unsafe";
    let bare = format!("fn f() {{\n    {word} {{ g() }}\n}}\n{word} impl Send for S {{}}\n");
    assert_eq!(unproven(&bare), [2, 4]);
    assert_eq!(
        unproven(&format!(
            "// SAFETY: it holds.\nlet x = f(\n    1,\n    {word} {{ g() }},\n);\n"
        )),
        [0; 0]
    );
    assert_eq!(
        unproven(&format!(
            "{word} fn f() {{}}\n{word} extern \"C\" {{}}\n// {word} {{\n"
        )),
        [0; 0]
    );
}
