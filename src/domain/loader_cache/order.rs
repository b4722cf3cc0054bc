// SPDX-License-Identifier: Apache-2.0
//! The order of a loader cache. The loader looks a name up by halving, so an entry out of order is one that it does not
//! find: `libz.so.10` stands before `libz.so.9`, as runs of digits are numbers, and the greatest comes first.

use std::cmp::Ordering;

/// Where the name `left` stands relative to `right`.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    pieces(right).cmp(pieces(left))
}

/// A number is greater than any character, and a name's end is the character zero.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Character(std::ffi::c_char),
    Number(i32),
}

fn pieces(name: &str) -> impl Iterator<Item = Piece> {
    let mut rest = name.bytes().chain([0]).peekable();
    std::iter::from_fn(move || {
        let first = rest.next()?;
        let Some(mut number) = digit(first) else {
            // As in C: beyond ASCII it may be negative.
            return Some(Piece::Character(std::ffi::c_char::from_ne_bytes([first])));
        };
        while let Some(next) = rest.peek().copied().and_then(digit) {
            rest.next();
            number = number.wrapping_mul(10).wrapping_add(next);
        }
        Some(Piece::Number(number))
    })
}

fn digit(byte: u8) -> Option<i32> {
    byte.is_ascii_digit().then(|| i32::from(byte - b'0'))
}
