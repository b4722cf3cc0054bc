// SPDX-License-Identifier: Apache-2.0
//! Whether a licence expression of a crate lets us ship it in an Apache-2.0 library.

/// Licences that ask for no more than their notice (MPL-2.0: and the source of the crate itself, which is public).
const ALLOWED: [&str; 9] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

/// Whether the SPDX expression can be satisfied by allowed licences alone. What cannot be read is not allowed. `/` is how
/// old crates write OR.
pub fn allowed(expression: &str) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut words = Words {
        words: spaced.split_whitespace().collect(),
        next: 0,
    };
    let verdict = words.either();
    verdict == Some(true) && words.peek().is_none()
}

struct Words<'a> {
    words: Vec<&'a str>,
    next: usize,
}

/// Each reads one part of the expression and says whether it is allowed; none where it cannot be read.
impl<'a> Words<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).copied()
    }

    fn take(&mut self, word: &str) -> bool {
        let there = self.peek() == Some(word);
        self.next += usize::from(there);
        there
    }

    fn either(&mut self) -> Option<bool> {
        let mut verdict = self.both()?;
        while self.take("OR") {
            verdict |= self.both()?;
        }
        Some(verdict)
    }

    /// AND binds more tightly than OR.
    fn both(&mut self) -> Option<bool> {
        let mut verdict = self.one()?;
        while self.take("AND") {
            verdict &= self.one()?;
        }
        Some(verdict)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let verdict = self.either()?;
            return self.take(")").then_some(verdict);
        }
        let mut licence = self.name()?.to_owned();
        if self.take("WITH") {
            licence = format!("{licence} WITH {}", self.name()?);
        }
        Some(ALLOWED.contains(&licence.as_str()))
    }

    fn name(&mut self) -> Option<&'a str> {
        let word = self
            .peek()
            .filter(|word| !["(", ")", "OR", "AND", "WITH"].contains(word))?;
        self.next += 1;
        Some(word)
    }
}

#[test]
fn one_side_of_or_is_enough() {
    for expression in [
        "MIT",
        "MIT OR GPL-3.0-only",
        "GPL-3.0-only OR MIT",
        "MIT/Apache-2.0",
        "Unlicense / MIT",
    ] {
        assert!(allowed(expression), "{expression}");
    }
    assert!(!allowed("GPL-3.0-only OR AGPL-3.0-only"));
}

#[test]
fn both_sides_of_and_are_needed() {
    assert!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(allowed("MIT AND ISC OR GPL-3.0-only"));
    assert!(!allowed("(MIT OR Apache-2.0) AND GPL-3.0-only"));
    assert!(!allowed("GPL-3.0-only AND MIT OR LGPL-3.0-only"));
}

#[test]
fn an_exception_belongs_to_its_licence() {
    assert!(allowed("Apache-2.0 WITH LLVM-exception"));
    assert!(!allowed("GPL-2.0-only WITH Classpath-exception-2.0"));
    assert!(!allowed("MIT WITH LLVM-exception"));
}

#[test]
fn what_cannot_be_read_is_not_allowed() {
    for expression in [
        "",
        "()",
        "MIT OR",
        "OR MIT",
        "(MIT",
        "MIT)",
        "MIT Apache-2.0",
        "MIT AND",
        "Apache-2.0 WITH",
        "mit",
    ] {
        assert!(!allowed(expression), "{expression}");
    }
}
