// SPDX-License-Identifier: Apache-2.0
//! The documents as the tests read them: all of them alike, so that what moves from the README to a chapter stays checked.

use std::fs;
use std::path::{Path, PathBuf};

/// A document.
pub struct Document {
    /// Its path in the repository.
    pub path: String,
    pub text: String,
}

/// The repository; this is used by the tests of several packages.
pub fn root() -> &'static Path {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = folders.find(|folder| folder.join("modules.json").is_file());
    root.expect("the repository has a modules.json")
}

pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// The README.
pub fn readme() -> String {
    read("README.md")
}

/// The README and its chapters.
pub fn documents() -> Vec<Document> {
    let mut paths: Vec<String> = files(&root().join("docs"))
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .map(|path| path.strip_prefix(root()).unwrap().display().to_string())
        .collect();
    paths.sort();
    paths.insert(0, "README.md".to_owned());
    assert!(paths.len() > 5, "{paths:?}");
    paths
        .into_iter()
        .map(|path| Document {
            text: read(&path),
            path,
        })
        .collect()
}

/// Every file below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

/// The text of all files below a folder.
pub fn code(folder: &str) -> String {
    let texts = files(&root().join(folder)).into_iter();
    texts.filter_map(|path| fs::read_to_string(path).ok()).collect()
}

/// The text of a document's section under this heading.
pub fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text
        .find(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("there is no section {heading}"));
    let rest = &text[start + 1..];
    &rest[..rest[1..].find("\n## ").map_or(rest.len(), |end| end + 1)]
}

/// The rows of the first table in a text, without its head.
pub fn rows(text: &str) -> Vec<Vec<String>> {
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        row.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    })
    .collect()
}

/// Everything in back quotes, blocks left out.
pub fn quoted(text: &str) -> Vec<String> {
    let mut quoted = Vec::new();
    for (nth, part) in text.split("```").enumerate() {
        if nth % 2 == 0 {
            let inline = part.split('`').skip(1).step_by(2);
            quoted.extend(inline.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    quoted
}

/// The blocks of a language.
pub fn blocks(text: &str, language: &str) -> Vec<String> {
    let blocks = text.split("\n```").skip(1).step_by(2);
    blocks
        .filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'))
        .map(str::to_owned)
        .collect()
}

/// The commands of a document, one each, as a person types them: continued lines are joined.
pub fn commands(text: &str) -> Vec<String> {
    let blocks = blocks(text, "sh");
    let lines = blocks.iter().flat_map(|block| {
        let joined = block.replace("\\\n", " ");
        joined.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    lines
        .flat_map(|line| line.split(" && ").map(str::to_owned).collect::<Vec<_>>())
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect()
}
