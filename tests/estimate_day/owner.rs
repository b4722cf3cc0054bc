// SPDX-License-Identifier: Apache-2.0
//! What an owner does, second by second: phases of minutes and hours, as notebooks, services and training jobs have them.

use crate::random::Random;

/// One second of an owner.
#[derive(Debug, Clone, Copy, Default)]
pub struct Second {
    /// Which owner; none while nobody holds the GPU.
    pub owner: Option<u64>,
    /// Percent of the second in which it computes.
    pub computes: u32,
    /// MiB that it holds.
    pub holds: u64,
}

/// The day of one GPU.
pub fn day(random: &mut Random, seconds: usize) -> Vec<Second> {
    let mut day = Vec::with_capacity(seconds);
    let mut owner = random.next();
    while day.len() < seconds {
        if random.permille(60) {
            // One goes, and another comes after a while or at once.
            owner = random.next();
            let free = random.between(0, 1200);
            push(&mut day, free, |_| Second::default());
            continue;
        }
        let context = random.between(300, 600);
        let second = move |computes, holds| Second {
            owner: Some(owner),
            computes,
            holds,
        };
        match random.between(0, 9) {
            // Training: always busy.
            0 | 1 => {
                let (length, holds) = (random.between(300, 7200), random.between(8 << 10, 120 << 10));
                push(&mut day, length, |_| second(98, holds));
            }
            // A notebook's cell.
            2 => {
                let (length, holds) = (random.between(1, 40), random.between(1 << 10, 60 << 10));
                push(&mut day, length, |_| second(100, holds));
            }
            // A second's work now and then, for a while: idle for a window in between now and then.
            3 => {
                let every = random.between(20, 200);
                let length = random.between(600, 3600);
                push(&mut day, length, |n| {
                    second(if n % every == 0 { 100 } else { 0 }, context)
                });
            }
            // A loaded model that nobody asks.
            4 | 5 => {
                let (length, holds) = (random.between(600, 7200), random.between(2 << 10, 100 << 10));
                push(&mut day, length, |_| second(0, holds));
            }
            // Nothing but a heartbeat.
            6 => push(&mut day, random.between(600, 7200), |_| second(3, context)),
            // Nothing.
            _ => push(&mut day, random.between(120, 14_400), |_| second(0, context)),
        }
    }
    day.truncate(seconds);
    day
}

fn push(day: &mut Vec<Second>, length: u64, second: impl Fn(u64) -> Second) {
    day.extend((0..length).map(second));
}
