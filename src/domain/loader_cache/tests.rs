// SPDX-License-Identifier: Apache-2.0
//! Caches in each form, honest and hostile, and what is written from them.

use super::layout::{EXTENSION_MAGIC, HWCAPS_TAG, NAMED_HWCAP};
use super::*;

fn entry(name: &str, folder: &str) -> Entry {
    Entry {
        name: name.to_owned(),
        path: format!("{folder}/{name}"),
        flags: X86_64_FLAGS,
        os_version: 0,
        hwcap: 0,
    }
}

fn driver() -> Vec<Entry> {
    vec![entry("libcuda.so.1", "/d"), entry("libnvidia-ml.so.1", "/d")]
}

fn le(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The new form, by hand: entries of name offset and path offset, then `strings` at offset 48 + 24 times the entries.
fn new_form(entries: &[[u32; 2]], strings: &[u8]) -> Vec<u8> {
    let mut bytes = b"glibc-ld.so.cache1.1".to_vec();
    bytes.extend(le(&[
        u32::try_from(entries.len()).unwrap(),
        u32::try_from(strings.len()).unwrap(),
    ]));
    bytes.extend(le(&[2, 0, 0, 0, 0]));
    for [name, path] in entries {
        bytes.extend(le(&[0x303, *name, *path, 0, 0, 0]));
    }
    bytes.extend(strings);
    bytes
}

fn within_old(new: &[u8], old_entries: u32) -> Vec<u8> {
    let mut bytes = b"ld.so-1.7.0\0".to_vec();
    bytes.extend(old_entries.to_le_bytes());
    for _ in 0..old_entries {
        bytes.extend(le(&[3, 7, 7]));
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(new);
    bytes
}

const STRINGS: &[u8] = b"/d/libcuda.so.1\0";

fn one() -> Vec<u8> {
    new_form(&[[75, 72]], STRINGS)
}

#[test]
fn each_form_of_the_cache_is_read() {
    let expected = Ok(vec![entry("libcuda.so.1", "/d")]);
    assert_eq!(parse(&one()), expected, "new");
    for old_entries in 0..4 {
        assert_eq!(
            parse(&within_old(&one(), old_entries)),
            expected,
            "new within old, {old_entries}"
        );
    }
    let mut extended = one();
    let at = u32::try_from(extended.len()).unwrap();
    extended[32..36].copy_from_slice(&at.to_le_bytes());
    extended.extend(le(&[EXTENSION_MAGIC, 1, 0, 0, at + 24, 4]));
    extended.extend(b"made");
    assert_eq!(parse(&extended), expected, "new and extended");
}

#[test]
fn a_cache_that_is_none_or_of_another_kind_is_refused_by_name() {
    assert_eq!(parse(b""), Err(CacheError::NoMagic));
    assert_eq!(parse(b"\x7fELF"), Err(CacheError::NoMagic));
    assert_eq!(parse(&within_old(b"", 3)), Err(CacheError::OldFormOnly));
    assert_eq!(parse(&within_old(b"strings", 3)), Err(CacheError::OldFormOnly));
    assert_eq!(parse(&one()[..47]), Err(CacheError::Header));
    assert_eq!(parse(b"ld.so-1.7.0"), Err(CacheError::Header));
    let mut other_order = one();
    other_order[28] = 3;
    assert_eq!(parse(&other_order), Err(CacheError::ByteOrder));
}

#[test]
fn hostile_counts_are_refused_and_hostile_offsets_left_out() {
    let mut many = one();
    many[20..24].copy_from_slice(&(1u32 << 31).to_le_bytes());
    let error = parse(&many).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it announces 2147483648 entries and has room for 1"
    );
    let mut many_old = within_old(&one(), 1);
    many_old[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(parse(&many_old), Err(CacheError::Truncated { .. })));
    let past = new_form(
        &[
            [u32::MAX, 96],
            [96, 1 << 31],
            [99 + 24, 96 + 24],
            [96 + 40, 96 + 24],
        ],
        b"",
    );
    assert_eq!(parse(&past), Ok(Vec::new()));
    let unterminated = new_form(&[[75, 72]], b"/d/libcuda.so.1");
    assert_eq!(parse(&unterminated), Ok(Vec::new()));
    assert_eq!(
        parse(&new_form(&[[96, 96], [98, 98]], b"\xff\0\0")),
        Ok(Vec::new()),
        "not UTF-8, empty"
    );
}

#[test]
fn entries_that_share_one_long_text_do_not_multiply_it() {
    let mut text = vec![b'a'; 4000];
    text.push(0);
    let offset = 48 + 24 * 20_000;
    let error = parse(&new_form(&vec![[offset, offset]; 20_000], &text)).unwrap_err();
    assert!(matches!(error, CacheError::Overlapping { .. }), "{error}");
    text.resize(6000, b'a');
    text.insert(0, b'/');
    text.retain(|byte| *byte != 0);
    text.push(0);
    assert_eq!(
        parse(&new_form(&[[72, 72]], &text)),
        Ok(Vec::new()),
        "longer than any path"
    );
}

#[test]
fn what_is_written_is_read_back_with_the_added_first() {
    let old = with_added(None, &[entry("libcuda.so.1", "/old"), entry("libz.so.1", "/lib")]).unwrap();
    let bytes = with_added(Some(&old), &driver()).unwrap();
    assert_eq!(
        parse(&bytes).unwrap(),
        [
            entry("libz.so.1", "/lib"),
            entry("libnvidia-ml.so.1", "/d"),
            entry("libcuda.so.1", "/d"),
            entry("libcuda.so.1", "/old"),
        ]
    );
    assert_eq!(
        with_added(Some(&bytes), &driver()),
        Ok(bytes),
        "again adds nothing"
    );
}

#[test]
fn a_cache_that_cannot_be_read_adds_nothing() {
    let alone = with_added(None, &driver());
    assert_eq!(with_added(Some(b"garbage"), &driver()), alone);
    assert_eq!(parse(&alone.unwrap()).unwrap().len(), 2);
}

#[test]
fn entries_of_a_processor_level_keep_it() {
    let mut bytes = new_form(&[[75, 72], [75, 72]], b"");
    bytes[48 + 16..48 + 24].copy_from_slice(&NAMED_HWCAP.to_le_bytes());
    // Offsets moved by the second entry.
    for at in [52, 56, 76, 80] {
        bytes[at] += 24;
    }
    bytes.extend(b"/d/libcuda.so.1\0x86-64-v3\0\0\0");
    let at = u32::try_from(bytes.len()).unwrap();
    assert_eq!(at % 4, 0);
    bytes[32..36].copy_from_slice(&at.to_le_bytes());
    bytes.extend(le(&[EXTENSION_MAGIC, 1, HWCAPS_TAG, 0, at + 24, 4, 96 + 16]));
    let before = contents(&bytes).unwrap();
    assert_eq!(before.hwcaps, ["x86-64-v3"]);
    let after = contents(&with_added(Some(&bytes), &driver()).unwrap()).unwrap();
    assert_eq!(after.hwcaps, before.hwcaps);
    let named: Vec<_> = after
        .entries
        .iter()
        .filter(|entry| entry.is_named_hwcap())
        .collect();
    assert_eq!(named, [&before.entries[0]]);
}

#[test]
fn what_no_loader_could_use_is_not_added() {
    let with = |name: &str, path: &str, hwcap| Entry {
        name: name.to_owned(),
        path: path.to_owned(),
        hwcap,
        ..entry("", "")
    };
    for bad in [
        with("", "/d/x", 0),
        with("a/b", "/d/a/b", 0),
        with("x", "d/x", 0),
        with("x\0y", "/d/x", 0),
        with("x", "/d/x\0", 0),
        with("x", "/d/x", NAMED_HWCAP),
        with(&"x".repeat(4096), "/d/x", 0),
        with("x", &format!("/{}", "x".repeat(4095)), 0),
    ] {
        let error = with_added(None, std::slice::from_ref(&bad)).unwrap_err();
        assert!(matches!(error, CacheError::Added { .. }), "{bad:?}: {error}");
    }
}

#[test]
fn the_longest_texts_that_are_added_can_be_read_again() {
    let longest = Entry {
        name: "x".repeat(4095),
        path: format!("/{}", "y".repeat(4094)),
        ..entry("", "")
    };
    let written = with_added(None, std::slice::from_ref(&longest)).unwrap();
    assert_eq!(parse(&written), Ok(vec![longest]));
}

#[test]
fn what_cannot_be_merged_is_told_and_what_can_is_not() {
    let merged = |cache: Option<&[u8]>| merge(cache, &driver()).unwrap().unreadable;
    assert_eq!(merged(None), None);
    assert_eq!(merged(Some(&one())), None);
    assert_eq!(merged(Some(b"hello")), Some(CacheError::NoMagic));
}

#[test]
fn the_order_counts_runs_of_digits_as_numbers() {
    let names = [
        "libz.so.2",
        "libz.so.10",
        "liba1b.so",
        "liba10.so",
        "liba.so",
        "lib",
        "libä.so",
        "lib_a.so",
    ];
    let added: Vec<Entry> = names.iter().map(|name| entry(name, "/d")).collect();
    let written = parse(&with_added(None, &added).unwrap()).unwrap();
    let order: Vec<&str> = written.iter().map(|entry| &entry.name[..]).collect();
    assert_eq!(
        order,
        [
            "libz.so.10",
            "libz.so.2",
            "liba10.so",
            "liba1b.so",
            "liba.so",
            "lib_a.so",
            "lib",
            "libä.so"
        ]
    );
}

mod hostile;
