// SPDX-License-Identifier: Apache-2.0
//! What was kept is tried again, and with it some thousand mutations, always the same: so a defect that came back is seen
//! by an ordinary test run, on any machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use mesos_gpu_fuzz::{TARGETS, Target, corpus};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Mutations of one target, shared among its inputs.
const MUTATIONS: usize = 6000;

/// Marsaglia's xorshift: a fixed row of numbers is all that is needed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }
}

fn mutated(bytes: &[u8], other: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(bytes.len());
        match numbers.below(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << numbers.below(8),
            1 if !bytes.is_empty() => bytes[at] = numbers.byte(),
            2 if !bytes.is_empty() => drop(bytes.remove(at)),
            3 => bytes.insert(at, numbers.byte()),
            4 => bytes.truncate(at),
            // A number as counts and offsets are written, at its edges.
            5 if bytes.len() >= 4 => {
                let at = (at / 4 * 4).min(bytes.len() - 4);
                let edge = [
                    0,
                    1,
                    0x7fff_ffff,
                    0x8000_0000,
                    u32::MAX,
                    u32::try_from(bytes.len()).unwrap(),
                ];
                bytes[at..at + 4].copy_from_slice(&edge[numbers.below(edge.len())].to_le_bytes());
            }
            _ => {
                let from = numbers.below(other.len());
                let some = &other[from..(from + numbers.below(64)).min(other.len())];
                bytes.splice(at..at, some.iter().copied());
            }
        }
    }
    bytes
}

/// Runs a target on an input; a failure tells the input in the form in which it is kept.
fn holds(target: Target, bytes: &[u8], what: &str) {
    let run = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes)));
    assert!(
        run.is_ok(),
        "{}: {what} breaks a promise:\n{}",
        target.name,
        corpus::encode(bytes)
    );
}

#[test]
fn every_kept_input_keeps_the_promises() {
    for target in TARGETS {
        let inputs = corpus::inputs(target.name);
        assert!(inputs.len() >= 5, "{} has {} inputs", target.name, inputs.len());
        holds(target, b"", "nothing");
        for input in inputs {
            holds(target, &input.bytes, &input.name);
        }
    }
}

#[test]
fn thousands_of_mutations_keep_the_promises() {
    for target in TARGETS {
        let inputs = corpus::inputs(target.name);
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        for _ in 0..MUTATIONS {
            let input = &inputs[numbers.below(inputs.len())];
            let other = &inputs[numbers.below(inputs.len())];
            let bytes = mutated(&input.bytes, &other.bytes, &mut numbers);
            holds(target, &bytes, &format!("a mutation of {}", input.name));
        }
    }
}

#[test]
fn every_target_has_its_program_and_its_folder() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for target in TARGETS {
        assert!(
            root.join(format!("src/engine/{}.rs", target.name)).is_file(),
            "{}",
            target.name
        );
        assert!(corpus::folder(target.name).is_dir(), "{}", target.name);
    }
    assert_eq!(
        std::fs::read_dir(root.join("corpus")).unwrap().count(),
        TARGETS.len()
    );
}

#[test]
fn a_broken_promise_is_seen() {
    let target = Target {
        name: "broken",
        run: |bytes| assert_ne!(bytes, b"bad"),
    };
    holds(target, b"good", "good");
    assert!(catch_unwind(|| holds(target, b"bad", "bad")).is_err());
}
