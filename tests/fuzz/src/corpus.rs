// SPDX-License-Identifier: Apache-2.0
//! The kept inputs. All files of this repository are text, so an input that is none is kept in hexadecimal, with comments
//! that say what it is.

use std::fs;
use std::path::{Path, PathBuf};

/// One kept input.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its file's name.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The folder of a target's inputs.
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// A target's inputs, by name: `*.txt` as they are, `*.hex` decoded.
///
/// # Panics
/// When the folder, a file, or what is in it cannot be read.
pub fn inputs(target: &str) -> Vec<Input> {
    let entries = fs::read_dir(folder(target)).expect("the corpus is there");
    let mut inputs: Vec<Input> = entries
        .map(|entry| entry.expect("the corpus can be read").path())
        .map(|path| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let bytes = fs::read(&path).expect("the corpus can be read");
            let bytes = match path.extension().and_then(|end| end.to_str()) {
                Some("txt") => bytes,
                Some("hex") => decode(&String::from_utf8(bytes).expect("text"))
                    .unwrap_or_else(|| panic!("{name} is not hexadecimal")),
                _ => panic!("{name} is neither *.txt nor *.hex"),
            };
            Input { name, bytes }
        })
        .collect();
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    inputs
}

/// Bytes from pairs of hexadecimal digits; `#` begins a comment. None for anything else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let code = text.lines().map(|line| line.split('#').next().unwrap_or(""));
    let words = code.flat_map(str::split_ascii_whitespace);
    let digits: Vec<u8> = words.flat_map(str::bytes).collect();
    let byte = |pair: &[u8]| {
        let digit = |c: u8| {
            char::from(c)
                .to_digit(16)
                .and_then(|value| u8::try_from(value).ok())
        };
        match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        }
    };
    digits.chunks(2).map(byte).collect()
}

/// The other way round, 32 bytes a line.
pub fn encode(bytes: &[u8]) -> String {
    let line = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    bytes.chunks(32).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_and_what_is_not_hexadecimal_is_refused() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)), Some(bytes));
        assert_eq!(decode("# comment\n6C 64 # ld\n\n2e"), Some(b"ld.".to_vec()));
        for text in ["6", "6 ", "xy", "6c6"] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
