// SPDX-License-Identifier: Apache-2.0
//! Caches that nobody wrote, by the thousand.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        tail in proptest::collection::vec(any::<u8>(), 0..400),
        old in any::<bool>(),
        count in prop_oneof![0u32..20, any::<u32>()],
    ) {
        let mut bytes = if old { within_old(b"glibc-ld.so.cache1.1", 2) } else { b"glibc-ld.so.cache1.1".to_vec() };
        bytes.extend(count.to_le_bytes());
        bytes.extend(tail);
        let read = parse(&bytes);
        let written = with_added(Some(&bytes), &driver()).unwrap();
        // What was readable is still there, and the loader's order holds for any names.
        let again = parse(&written).unwrap();
        for entry in read.unwrap_or_default() {
            prop_assert!(again.contains(&entry), "{:?}", entry);
        }
    }

    #[test]
    fn a_cache_cut_anywhere_is_an_error_or_fewer_entries(cut in 0usize..180) {
        let whole = with_added(None, &driver()).unwrap();
        let cut = cut.min(whole.len());
        if let Ok(entries) = parse(&whole[..cut]) {
            prop_assert!(entries.iter().all(|entry| driver().contains(entry)));
        }
    }
}
