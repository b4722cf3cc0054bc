// SPDX-License-Identifier: Apache-2.0
//! Where what stands in a loader cache: offsets and numbers, each checked against what is there.

use super::CacheError;

const OLD_MAGIC: &[u8] = b"ld.so-1.7.0";
const OLD_HEADER: usize = 16;
const OLD_ENTRY: usize = 12;
pub(super) const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
pub(super) const HEADER: usize = 48;
pub(super) const ENTRY: usize = 24;
pub(super) const EXTENSION_MAGIC: u32 = 0xeaa4_2174;
pub(super) const EXTENSION_HEADER: usize = 8;
pub(super) const SECTION: usize = 16;
/// The section with the names of processors' levels.
pub(super) const HWCAPS_TAG: u32 = 1;
/// The hwcap is a number of that section, not a mask of the processor's abilities.
pub(super) const NAMED_HWCAP: u64 = 1 << 62;
/// In the header's flags.
pub(super) const LITTLE_ENDIAN: u8 = 2;
const BYTE_ORDER_MASK: u8 = 3;
/// No path is longer, with the zero at its end: the kernel takes none.
pub(super) const LONGEST_TEXT: usize = 4096;

/// An entry as it stands there; the first two are offsets.
pub(super) struct Raw {
    pub name: u32,
    pub path: u32,
    pub flags: i32,
    pub os_version: u32,
    pub hwcap: u64,
}

/// The new form in a file, and all of the file.
pub(super) struct Table<'a> {
    file: &'a [u8],
    /// From the new form's header on: offsets of texts count from there.
    base: &'a [u8],
    entries: &'a [u8],
}

impl<'a> Table<'a> {
    pub fn find(file: &'a [u8]) -> Result<Self, CacheError> {
        let base = if file.starts_with(OLD_MAGIC) {
            within_old_form(file)?
        } else if file.starts_with(MAGIC) {
            file
        } else {
            return Err(CacheError::NoMagic);
        };
        let truncated = |announced, room| CacheError::Truncated {
            what: "entries",
            announced,
            room,
        };
        let (Some(announced), Some(body)) = (u32_at(base, 20), base.get(HEADER..)) else {
            return Err(CacheError::Header);
        };
        let entries = usize::try_from(announced)
            .ok()
            .and_then(|count| count.checked_mul(ENTRY))
            .and_then(|length| body.get(..length))
            .ok_or(truncated(announced, body.len() / ENTRY))?;
        // Zero is from before the flag was there; such caches are read by machines of one byte order only.
        let order = base.get(28).map_or(0, |flags| flags & BYTE_ORDER_MASK);
        if order != 0 && order != LITTLE_ENDIAN {
            return Err(CacheError::ByteOrder);
        }
        Ok(Self { file, base, entries })
    }

    pub fn entries(&self) -> impl Iterator<Item = Raw> + use<'a> {
        let (entries, _) = self.entries.as_chunks::<ENTRY>();
        entries.iter().filter_map(|entry| {
            Some(Raw {
                flags: u32_at(entry, 0)?.cast_signed(),
                name: u32_at(entry, 4)?,
                path: u32_at(entry, 8)?,
                os_version: u32_at(entry, 12)?,
                hwcap: u64::from(u32_at(entry, 16)?) | u64::from(u32_at(entry, 20)?) << 32,
            })
        })
    }

    /// The text at `offset`, if it has an end and is one.
    pub fn text(&self, offset: u32) -> Option<&'a str> {
        let from = self.base.get(usize::try_from(offset).ok()?..)?;
        let window = from.get(..LONGEST_TEXT).unwrap_or(from);
        let end = window.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&window[..end]).ok()
    }

    /// Where the names of processors' levels stand. Whatever is wrong with the extension, there are none then, and the
    /// loader passes over entries that need one.
    pub fn hwcaps(&self) -> Vec<u32> {
        self.hwcaps_section()
            .map(|section| {
                let (offsets, _) = section.as_chunks::<4>();
                offsets.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
            })
            .unwrap_or_default()
    }

    fn hwcaps_section(&self) -> Option<&'a [u8]> {
        let offset = usize::try_from(u32_at(self.base, 32)?).ok()?;
        let extension = self.file.get(offset..)?;
        if offset == 0 || u32_at(extension, 0)? != EXTENSION_MAGIC {
            return None;
        }
        let (sections, _) = extension.get(EXTENSION_HEADER..)?.as_chunks::<SECTION>();
        let section = sections
            .iter()
            .take(usize::try_from(u32_at(extension, 4)?).ok()?)
            .find(|section| u32_at(&section[..], 0) == Some(HWCAPS_TAG))?;
        let from = usize::try_from(u32_at(section, 8)?).ok()?;
        let length = usize::try_from(u32_at(section, 12)?).ok()?;
        self.file.get(from..from.checked_add(length)?)
    }
}

/// The new form behind the table of the old one.
fn within_old_form(file: &[u8]) -> Result<&[u8], CacheError> {
    let truncated = |announced| CacheError::Truncated {
        what: "entries of the old form",
        announced,
        room: file.len().saturating_sub(OLD_HEADER) / OLD_ENTRY,
    };
    let announced = u32_at(file, 12).ok_or(CacheError::Header)?;
    let end = usize::try_from(announced)
        .ok()
        .and_then(|count| count.checked_mul(OLD_ENTRY)?.checked_add(OLD_HEADER))
        .filter(|end| *end <= file.len())
        .ok_or(truncated(announced))?;
    file.get(end.next_multiple_of(8)..)
        .filter(|base| base.starts_with(MAGIC))
        .ok_or(CacheError::OldFormOnly)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}
