// SPDX-License-Identifier: Apache-2.0
//! The lines to look for in a log are lines that the library writes.

use super::text::{code, quoted, read, readme, rows, section};

/// The code with texts that are broken over lines made whole.
fn plain_code() -> String {
    let code = (code("src") + &code("cpp"))
        .replace("{} names", "names")
        .replace("\"\n", " ")
        .replace("MESOS_VERSION \"", "1.11.0")
        .replace("\\\n", "");
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The parts of a line that are the same each time, in the code's own shape.
fn fixed(line: &str) -> Vec<String> {
    line.split(['…', ':'])
        .map(str::trim)
        .filter(|part| part.len() > 4)
        .map(|part| {
            part.replace("cannot load libnvidia-ml.so.1", "cannot load {library}")
                .replace("nvmlInit_v2 failed", "{call} failed")
                .replace(
                    "no GPU is handed out any more since",
                    "no GPU is handed out any more since {reason}",
                )
                .replace("2 more wanted, 1 of 4 free", "more wanted, ")
                .replace("as Mesos 1.11.0", "as Mesos")
        })
        .collect()
}

#[test]
fn every_line_to_look_for_is_one_that_the_library_writes() {
    let code = plain_code();
    let oversubscription = read("docs/oversubscription.md");
    let mut lines: Vec<String> = rows(section(&oversubscription, "What the log says"))
        .into_iter()
        .map(|row| row[0].trim_matches('`').to_owned())
        .collect();
    assert!(lines.len() >= 6);
    let symptoms = rows(section(&readme(), "When something is wrong"));
    assert!(symptoms.len() >= 12, "{}", symptoms.len());
    for symptom in &symptoms {
        // One word is a name, and checked as that.
        lines.extend(quoted(&symptom[0]).into_iter().filter(|text| text.contains(' ')));
    }
    assert!(lines.len() >= 15, "{lines:?}");
    for line in lines {
        for part in fixed(&line) {
            assert!(code.contains(&part), "nothing writes {part:?} (of {line:?})");
        }
    }
}
