// SPDX-License-Identifier: Apache-2.0
//! The loader's cache (`ld.so.cache`): where a host's C library finds its libraries, and how a container is told of the
//! driver's, so that programs with an empty environment find them too. A cache may come from an image and is hostile
//! then: nothing in it is believed, and reading it takes memory in proportion to its size.

mod layout;
mod order;
mod write;

use layout::Table;

pub use write::{Merged, merge, with_added};

/// The flags of a library of 64 bits for x86-64.
pub const X86_64_FLAGS: i32 = 0x0303;
/// The flags of a library of 32 bits for x86.
pub const X86_FLAGS: i32 = 0x0003;
/// The flags of a library of 64 bits for ARM.
pub const AARCH64_FLAGS: i32 = 0x0a03;

/// A library that the loader can find by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What programs ask for, for example `libcuda.so.1`.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// Kind and machine of the library.
    pub flags: i32,
    /// The oldest kernel it runs on; zero from a present C library.
    pub os_version: u32,
    /// What the processor must be able to do; a number of the cache's own list of such abilities where [`Entry::is_named_hwcap`].
    pub hwcap: u64,
}

impl Entry {
    /// A library of 64 bits for x86-64.
    pub fn is_64_bit_x86(&self) -> bool {
        self.flags == X86_64_FLAGS
    }

    /// A library of 32 bits for x86.
    pub fn is_32_bit(&self) -> bool {
        self.flags == X86_FLAGS
    }

    /// Whether it is in a folder below `glibc-hwcaps`, for processors of a certain level only.
    pub fn is_named_hwcap(&self) -> bool {
        self.hwcap & layout::NAMED_HWCAP != 0
    }
}

/// Why a cache cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CacheError {
    /// Neither form begins like this.
    #[error("it is no loader cache: it begins with neither \"ld.so-1.7.0\" nor \"glibc-ld.so.cache1.1\"")]
    NoMagic,
    /// Written by a C library of before 2002.
    #[error(
        "it holds only the old form of the loader cache, \"ld.so-1.7.0\", without \"glibc-ld.so.cache1.1\" in it"
    )]
    OldFormOnly,
    /// Bytes of a number in the other order.
    #[error("it was written for a machine of another byte order")]
    ByteOrder,
    /// Cut short.
    #[error("it ends within its header")]
    Header,
    /// More is announced than there is.
    #[error("it announces {announced} {what} and has room for {room}")]
    Truncated {
        /// Of what.
        what: &'static str,
        /// How many.
        announced: u32,
        /// How many the rest of the file can hold.
        room: usize,
    },
    /// Entries that share their strings, so that reading them takes far more memory than the file.
    #[error("its entries overlap: read out they are more than {limit} bytes")]
    Overlapping {
        /// What would be read.
        limit: usize,
    },
    /// Such an entry would not be found, or would be read as another.
    #[error(
        "cannot add library {name:?} at {path:?}: the name must be a file's name, the path absolute, both shorter than 4096 bytes and without a zero byte, and it must be for every processor"
    )]
    Added {
        /// Its name.
        name: String,
        /// Its path.
        path: String,
    },
    /// Offsets have 32 bits.
    #[error("the cache would be larger than 4 GiB")]
    TooLarge,
}

/// What a cache holds beyond its entries' own words.
struct Contents {
    entries: Vec<Entry>,
    /// The processors' levels that entries name by their number; none where the name cannot be read.
    hwcaps: Vec<String>,
}

/// The entries in their order. Of both forms in one file the new one is read. Entries with a name or path that cannot be
/// read are left out.
///
/// # Errors
/// `bytes` are no cache, or not one of this kind of machine.
pub fn parse(bytes: &[u8]) -> Result<Vec<Entry>, CacheError> {
    Ok(contents(bytes)?.entries)
}

fn contents(bytes: &[u8]) -> Result<Contents, CacheError> {
    let table = Table::find(bytes)?;
    // Names are the ends of paths in a present cache, and of their own in an older one: twice the file at most, if honest.
    let mut budget = Budget(bytes.len().saturating_mul(4));
    let mut entries = Vec::new();
    for raw in table.entries() {
        let (Some(name), Some(path)) = (table.text(raw.name), table.text(raw.path)) else {
            continue;
        };
        if name.is_empty() || path.is_empty() {
            continue;
        }
        budget.take(name.len() + path.len())?;
        entries.push(Entry {
            name: name.to_owned(),
            path: path.to_owned(),
            flags: raw.flags,
            os_version: raw.os_version,
            hwcap: raw.hwcap,
        });
    }
    let mut hwcaps = Vec::new();
    for offset in table.hwcaps() {
        let name = table.text(offset).unwrap_or_default();
        budget.take(name.len())?;
        hwcaps.push(name.to_owned());
    }
    Ok(Contents { entries, hwcaps })
}

/// Bytes of text that may still be read.
struct Budget(usize);

impl Budget {
    fn take(&mut self, bytes: usize) -> Result<(), CacheError> {
        let limit = self.0;
        self.0 = limit
            .checked_sub(bytes)
            .ok_or(CacheError::Overlapping { limit })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
