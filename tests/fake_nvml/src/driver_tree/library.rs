// SPDX-License-Identifier: Apache-2.0
//! The shared objects of a simulated driver. They must be real, as loaders, `ldconfig` and Mesos's own isolator read them,
//! and tiny.

use std::io;

/// What `build.rs` compiled, with placeholders in it.
const TEMPLATE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/library.so"));

/// A library of 64 bits that calls itself `soname` and answers `version`.
pub(super) fn of_64_bits(soname: &str, version: &str) -> io::Result<Vec<u8>> {
    let mut image = TEMPLATE.to_vec();
    fill(&mut image, b"@soname-", soname)?;
    fill(&mut image, b"@version-", version)?;
    Ok(image)
}

/// Writes `text` over the placeholder that starts with `mark` and goes on with dashes.
fn fill(image: &mut [u8], mark: &[u8], text: &str) -> io::Result<()> {
    let cannot =
        |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("cannot name {text}: {why}"));
    let at = image.windows(mark.len()).position(|bytes| bytes == mark);
    let at = at.ok_or_else(|| cannot("the built library has no place for it"))?;
    let place = image.get_mut(at..).unwrap_or_default();
    let room = place.iter().position(|byte| *byte == 0).unwrap_or_default();
    if text.len() > room {
        return Err(cannot(&format!("it is longer than {room} bytes")));
    }
    let (head, rest) = place.split_at_mut(text.len());
    head.copy_from_slice(text.as_bytes());
    rest.get_mut(..room - text.len()).unwrap_or_default().fill(0);
    Ok(())
}

/// A library of 32 bits for x86 that calls itself `soname`: its headers and its dynamic section, and no code. It is
/// written by hand because a compiler for 32 bits is not to be had everywhere.
pub(super) fn of_32_bits(soname: &str) -> Vec<u8> {
    const HEADER: u32 = 52;
    const SEGMENT: u32 = 32;
    const DYNAMIC: u32 = HEADER + 2 * SEGMENT;
    const STRINGS: u32 = DYNAMIC + 5 * 8;
    let strings = [b"\0".as_slice(), soname.as_bytes(), b"\0"].concat();
    let length = u32::try_from(strings.len()).unwrap_or(u32::MAX);
    let whole = STRINGS.saturating_add(length);
    let mut image = b"\x7fELF\x01\x01\x01".to_vec();
    image.resize(16, 0);
    // A shared object for the 386.
    image.extend([3u16, 3].iter().flat_map(|half| half.to_le_bytes()));
    let mut words = |words: &[u32]| image.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    // Version, entry, segments, sections, flags; then sizes and counts, two halves a word.
    words(&[1, 0, HEADER, 0, 0, HEADER | SEGMENT << 16, 2 | 40 << 16, 0]);
    // The whole file is loaded, readable; the second segment is the dynamic section.
    words(&[1, 0, 0, 0, whole, whole, 4, 0x1000]);
    words(&[2, DYNAMIC, DYNAMIC, DYNAMIC, 40, 40, 4, 4]);
    // Strings, their size, the soname, the symbols (none), the end.
    words(&[5, STRINGS, 10, length, 14, 1, 6, STRINGS, 0, 0]);
    image.extend(strings);
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_does_not_fit_is_refused() {
        let error = of_64_bits(&"x".repeat(200), "1").unwrap_err().to_string();
        assert!(error.contains("longer than"), "{error}");
        let library = of_64_bits("libcuda.so.1", "580.159.04").unwrap();
        assert!(library.windows(11).any(|bytes| bytes == b"580.159.04\0"));
        assert!(!library.windows(3).any(|bytes| bytes == b"---"));
    }

    #[test]
    fn the_headers_of_32_bits_are_where_they_are_said_to_be() {
        let image = of_32_bits("libx.so.1");
        assert_eq!(image.len(), 52 + 64 + 40 + 11);
        assert_eq!(&image[52 + 32..52 + 36], 2u32.to_le_bytes());
        assert!(image.ends_with(b"\0libx.so.1\0"));
    }
}
