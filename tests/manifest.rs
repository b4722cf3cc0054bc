// SPDX-License-Identifier: Apache-2.0
//! The repository as others take it: licences, sources, dependencies, and nothing in it that is not ours to give.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "manifest/code.rs"]
mod code;
#[path = "manifest/dependencies.rs"]
mod dependencies;
#[path = "manifest/licence.rs"]
mod licence;
#[path = "manifest/tree.rs"]
mod tree;

use tree::{assert_none, entries};

#[test]
fn no_file_is_mesoss_or_nvidias() {
    // In halves, so that this file passes its own test.
    let mesos = ["Licensed to the Apache ", "Software Foundation"].concat();
    let (copyright, owner) = ("copyright (c) ", ["nvi", "dia"].concat());
    let mut wrong = Vec::new();
    for one in entries() {
        let text = one.text();
        // A notice may be broken over lines, with the comment's own signs in between.
        let flowing = text
            .split(|c: char| c.is_whitespace() || "/*#".contains(c))
            .filter(|word| !word.is_empty());
        let of_mesos = flowing.collect::<Vec<_>>().join(" ").contains(&mesos);
        let of_nvidia = text.to_lowercase().lines().any(|line| {
            line.split_once(copyright)
                .is_some_and(|(_, rest)| rest.contains(&owner))
        });
        if of_mesos || of_nvidia {
            wrong.push(one.path.display().to_string());
        }
    }
    assert_none("files with another's notice", &wrong);
}

#[test]
fn every_file_is_text() {
    let is_text = |data: &[u8]| !data.contains(&0) && std::str::from_utf8(data).is_ok();
    let wrong: Vec<_> = entries()
        .iter()
        .filter(|one| !is_text(&one.data))
        .map(|one| one.path.display().to_string())
        .collect();
    assert_none("files that are not text", &wrong);
}
