// SPDX-License-Identifier: Apache-2.0
//! The loader's cache, which comes from an image: whatever it holds, reading it takes memory in proportion to its size, and
//! what is written from it can be read, finds the driver first, and has lost nothing.
//!
//! An input is such a file. Its lines are also taken for names of libraries, to be written and read back.

use mesos_gpu::domain::loader_cache::{AARCH64_FLAGS, Entry, X86_64_FLAGS, X86_FLAGS, parse, with_added};

/// More than the name of any file may have, to the kernel.
const NAME: usize = 255;
/// More names than one input is good for.
const NAMES: usize = 64;

fn entry(name: &str, folder: &str, flags: i32) -> Entry {
    Entry {
        name: name.to_owned(),
        path: format!("{folder}/{name}"),
        flags,
        os_version: 0,
        hwcap: 0,
    }
}

fn driver() -> [Entry; 4] {
    let folder = "/usr/local/nvidia/lib64";
    [
        entry("libcuda.so.1", folder, X86_64_FLAGS),
        entry("libcuda.so.1", "/usr/local/nvidia/lib", X86_FLAGS),
        entry("libnvidia-ml.so.1", folder, X86_64_FLAGS),
        entry("libz.so.1", folder, AARCH64_FLAGS),
    ]
}

/// Tries one input.
///
/// # Panics
/// Where a promise is broken.
pub fn run(bytes: &[u8]) {
    let read = parse(bytes).unwrap_or_default();
    let size: usize = read.iter().map(|entry| entry.name.len() + entry.path.len()).sum();
    assert!(size <= bytes.len() * 4, "{size} bytes out of {}", bytes.len());
    let _ = parse(&bytes[..bytes.len() / 2]);

    let driver = driver();
    let written = with_added(Some(bytes), &driver).expect("the driver can be added to anything");
    let again = parse(&written).expect("what was written can be read");
    for own in &driver {
        let first = again
            .iter()
            .find(|one| one.name == own.name && one.flags == own.flags);
        assert_eq!(first, Some(own), "the driver's goes first");
    }
    for one in &read {
        assert!(again.contains(one), "lost {one:?}");
    }
    assert!(again.len() <= read.len() + driver.len(), "more than there was");
    let twice = with_added(Some(&written), &driver).expect("what was written can be added to");
    assert_eq!(twice, written, "adding again adds nothing");

    names(bytes);
}

fn names(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').take(NAMES);
    let entries: Vec<Entry> = lines
        .map(|line| String::from_utf8_lossy(&line[..line.len().min(NAME)]).into_owned())
        .map(|name| entry(&name, "/d", X86_64_FLAGS))
        .collect();
    let good = |name: &str| !name.is_empty() && !name.contains(['/', '\0']);
    let all_good = entries.iter().all(|entry| good(&entry.name));
    let written = with_added(None, &entries);
    assert_eq!(written.is_ok(), all_good, "{entries:?}");
    if let Ok(written) = written {
        let read = parse(&written).expect("what was written can be read");
        for entry in &entries {
            assert!(read.contains(entry), "lost {entry:?}");
        }
    }
}
