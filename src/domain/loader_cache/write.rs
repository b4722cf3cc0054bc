// SPDX-License-Identifier: Apache-2.0
//! Writes a loader cache, so that no program of an image has to be run for it. The new form alone: every C library since
//! 2002 reads it.

use super::layout::{
    ENTRY, EXTENSION_HEADER, EXTENSION_MAGIC, HEADER, HWCAPS_TAG, LITTLE_ENDIAN, LONGEST_TEXT, MAGIC, SECTION,
};
use super::{CacheError, Contents, Entry, contents, order};
use std::collections::HashSet;

/// A cache that was written, and what became of the one that it was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Why nothing of the other cache is in it; none where there was no other, or all of it is.
    pub unreadable: Option<CacheError>,
}

/// The bytes of [`merge`].
///
/// # Errors
/// As there.
pub fn with_added(cache: Option<&[u8]>, added: &[Entry]) -> Result<Vec<u8>, CacheError> {
    merge(cache, added).map(|merged| merged.bytes)
}

/// A cache of the entries of `cache`, if one is given that can be read, and of `added`. Of the same name the added ones come
/// first, in their order, so the loader takes them.
///
/// # Errors
/// An added entry that no loader could use; more than a cache can hold.
pub fn merge(cache: Option<&[u8]>, added: &[Entry]) -> Result<Merged, CacheError> {
    for entry in added {
        check(entry)?;
    }
    let none = Contents {
        entries: Vec::new(),
        hwcaps: Vec::new(),
    };
    let (Contents { entries, hwcaps }, unreadable) = match cache.map(contents) {
        None => (none, None),
        Some(Ok(found)) => (found, None),
        Some(Err(error)) => (none, Some(error)),
    };
    let mut seen = HashSet::new();
    let mut all: Vec<&Entry> = added
        .iter()
        .chain(&entries)
        .filter(|entry| seen.insert(*entry))
        .collect();
    // Stable: the loader takes the first of a name, so among equals the order is a choice.
    all.sort_by(|left, right| order::compare(&left.name, &right.name));
    let bytes = write(&all, &hwcaps)?;
    Ok(Merged { bytes, unreadable })
}

fn check(entry: &Entry) -> Result<(), CacheError> {
    let Entry { name, path, .. } = entry;
    let good_name = !name.is_empty() && !name.contains(['/', '\0']);
    let good_path = path.starts_with('/') && !path.contains('\0');
    let short = [name, path].iter().all(|text| text.len() < LONGEST_TEXT);
    // Its number would be one of the other cache's list.
    if good_name && good_path && short && !entry.is_named_hwcap() {
        return Ok(());
    }
    Err(CacheError::Added {
        name: name.clone(),
        path: path.clone(),
    })
}

fn write(entries: &[&Entry], hwcaps: &[String]) -> Result<Vec<u8>, CacheError> {
    let mut strings = Strings::new(HEADER + ENTRY * entries.len());
    let mut table = Vec::new();
    for entry in entries {
        let path = strings.put(&entry.path)?;
        let name = match entry.path.strip_suffix(&entry.name) {
            Some(before) => path + word(before.len())?,
            None => strings.put(&entry.name)?,
        };
        table.extend(entry.flags.to_le_bytes());
        table.extend(name.to_le_bytes());
        table.extend(path.to_le_bytes());
        table.extend(entry.os_version.to_le_bytes());
        table.extend(entry.hwcap.to_le_bytes());
    }
    let mut names = Vec::new();
    for name in hwcaps {
        names.extend(strings.put(name)?.to_le_bytes());
    }
    let extension = if hwcaps.is_empty() {
        0
    } else {
        strings.end().next_multiple_of(4)
    };
    let mut bytes = MAGIC.to_vec();
    bytes.extend(word(entries.len())?.to_le_bytes());
    bytes.extend(word(strings.bytes.len())?.to_le_bytes());
    bytes.extend([LITTLE_ENDIAN, 0, 0, 0]);
    bytes.extend(word(extension)?.to_le_bytes());
    bytes.resize(HEADER, 0);
    bytes.extend(table);
    bytes.extend(strings.bytes);
    if extension != 0 {
        bytes.resize(extension, 0);
        // One section, which follows at once.
        let at = extension + EXTENSION_HEADER + SECTION;
        let head = [EXTENSION_MAGIC, 1, HWCAPS_TAG, 0, word(at)?, word(names.len())?];
        bytes.extend(head.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(names);
    }
    Ok(bytes)
}

/// Each entry has texts of its own, even where they are the same: shared ones could be more, read out, than what reading
/// takes from a file of that size.
struct Strings {
    start: usize,
    bytes: Vec<u8>,
}

impl Strings {
    fn new(start: usize) -> Self {
        let bytes = Vec::new();
        Self { start, bytes }
    }

    fn end(&self) -> usize {
        self.start + self.bytes.len()
    }

    fn put(&mut self, text: &str) -> Result<u32, CacheError> {
        let place = word(self.end())?;
        // With the end in range, every offset into the text is.
        word(self.end() + text.len() + 1)?;
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
        Ok(place)
    }
}

fn word(number: usize) -> Result<u32, CacheError> {
    u32::try_from(number).map_err(|_| CacheError::TooLarge)
}
