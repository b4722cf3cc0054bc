// SPDX-License-Identifier: Apache-2.0
//! What of one offer passes, as far as the offer itself says it; whether what could be lent is lent now is [`super::turn`].

use super::piece::{Amounts, Kind, ONE, Piece, amount};
use super::{Headroom, Policy};

/// Why something is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The framework may not have GPUs.
    Capability,
    /// What is left is kept for the free GPUs.
    Headroom,
    /// Another one waits for the GPUs.
    Turn,
    /// A cap is reached.
    Cap,
    /// Part of a GPU.
    Fraction,
    /// The framework declined as much a while ago, for longer.
    Declined,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Capability,
        Self::Headroom,
        Self::Turn,
        Self::Cap,
        Self::Fraction,
        Self::Declined,
    ];

    /// Its name in the metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Capability => "capability",
            Self::Headroom => "headroom",
            Self::Turn => "turn",
            Self::Cap => "cap",
            Self::Fraction => "fraction",
            Self::Declined => "declined",
        }
    }
}

/// One framework's role before one offer.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// What is offered.
    pub pieces: &'a [Piece],
    /// The policy for it.
    pub policy: Policy,
    /// Whether it has the capability `GPU_RESOURCES`.
    pub capable: bool,
    /// How many GPUs its caps leave it, in thousandths; none where no cap is for it.
    pub room: Option<u64>,
    /// How many whole GPUs are known to be free and unreserved on the agent, offered here or not.
    pub free: u64,
    /// What each of them needs.
    pub headroom: Headroom,
}

/// How much of a piece passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Some(u64),
    Nothing,
}

/// What passes of an offer.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut<'a> {
    pieces: &'a [Piece],
    parts: Vec<Part>,
    /// Why the rest does not.
    pub reasons: Vec<Reason>,
    /// Whether it comes as a guest: it is given none of the agent's free GPUs, so what it takes someone else may miss.
    pub guest: bool,
    /// Whether nothing that is unreserved passes.
    pub barred: bool,
}

impl<'a> Cut<'a> {
    /// What passes where nobody else waits.
    pub fn of(case: &Case<'a>) -> Self {
        let mut cut = Self {
            pieces: case.pieces,
            parts: vec![Part::All; case.pieces.len()],
            reasons: Vec::new(),
            guest: false,
            barred: false,
        };
        if !case.capable && case.policy == Policy::Strict {
            cut.withhold_all(Reason::Capability);
            return cut;
        }
        // What someone else could still use: the free GPUs that this one is not given.
        let left = if case.capable || case.policy == Policy::Open {
            cut.whole_gpus_only();
            cut.cap(case.room)
        } else {
            cut.drop_where(Reason::Capability, |piece| piece.kind == Kind::Gpus);
            cut.offered_gpus().max(case.free)
        };
        if left == 0 || case.policy == Policy::Open {
            return cut;
        }
        cut.guest = !cut.passes_gpus();
        if cut.guest && case.policy == Policy::Strict {
            cut.bar(Reason::Cap);
            return cut;
        }
        cut.leave(case.headroom.of(left));
        if !cut.is_useful() {
            cut.bar(Reason::Headroom);
        }
        cut
    }

    /// Whether all passes.
    pub fn is_whole(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Withholds all.
    pub fn withhold_all(&mut self, reason: Reason) {
        self.drop_where(reason, |_| true);
        self.barred = true;
    }

    /// Withholds all but what is reserved.
    pub fn bar(&mut self, reason: Reason) {
        self.drop_where(reason, |piece| !piece.reserved);
        self.barred = true;
    }

    /// How much passes.
    pub fn passing(&self) -> Amounts {
        let mut all = Amounts::default();
        for (piece, part) in self.pieces.iter().zip(&self.parts) {
            all.add(piece, passing(piece, *part));
        }
        all
    }

    /// The pieces as they pass, without those of which nothing does.
    pub fn passing_pieces(&self) -> impl Iterator<Item = Piece> {
        let pieces = self.pieces.iter().zip(&self.parts);
        pieces.filter_map(|(piece, part)| match part {
            Part::All => Some(*piece),
            Part::Nothing => None,
            Part::Some(milli) => Some(Piece {
                amount: amount(*milli),
                ..*piece
            }),
        })
    }

    /// Which pieces are withheld, and how much of each.
    pub fn withheld(&self) -> Vec<(usize, f64)> {
        let pieces = self.pieces.iter().zip(&self.parts).enumerate();
        pieces
            .filter_map(|(at, (piece, part))| match part {
                Part::All => None,
                Part::Nothing => Some((at, piece.amount)),
                Part::Some(milli) => Some((at, amount(piece.milli().saturating_sub(*milli)))),
            })
            .collect()
    }

    fn because(&mut self, reason: Reason) {
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    fn drop_where(&mut self, reason: Reason, is: impl Fn(&Piece) -> bool) {
        for at in 0..self.pieces.len() {
            if is(&self.pieces[at]) {
                self.keep(at, 0, reason);
            }
        }
    }

    /// Lets no more than so much of a piece pass.
    fn keep(&mut self, at: usize, most: u64, reason: Reason) {
        let piece = &self.pieces[at];
        if self.parts[at] == Part::Nothing || (most > 0 && passing(piece, self.parts[at]) <= most) {
            return;
        }
        self.parts[at] = if most == 0 {
            Part::Nothing
        } else {
            Part::Some(most)
        };
        self.because(reason);
    }

    /// Two halves of different sorts are not one GPU, so each piece is whole by itself.
    fn whole_gpus_only(&mut self) {
        for (at, piece) in self.pieces.iter().enumerate() {
            let whole = piece.milli() - piece.milli() % ONE;
            if piece.kind == Kind::Gpus && whole != piece.milli() {
                self.keep(at, whole, Reason::Fraction);
            }
        }
    }

    /// Lets no more unreserved GPUs pass than there is room for, and says how many shared ones do not. Reserved ones pass
    /// and take up room.
    fn cap(&mut self, room: Option<u64>) -> u64 {
        let Some(room) = room else { return 0 };
        let gpus = |cut: &Self, reserved| {
            let pieces = cut.pieces.iter().zip(&cut.parts);
            let gpus =
                pieces.filter(move |(piece, _)| piece.kind == Kind::Gpus && piece.reserved == reserved);
            gpus.map(|(piece, part)| passing(piece, *part)).sum::<u64>()
        };
        let mut room = room.saturating_sub(gpus(self, true));
        room -= room % ONE;
        let mut left = 0;
        for (at, piece) in self.pieces.iter().enumerate() {
            if piece.kind == Kind::Gpus && !piece.reserved {
                let has = passing(piece, self.parts[at]);
                let most = has.min(room);
                if most < has {
                    self.keep(at, most, Reason::Cap);
                    left += if piece.revocable { 0 } else { has - most };
                }
                room -= most;
            }
        }
        left / ONE
    }

    /// Takes what is needed out of what is shared.
    fn leave(&mut self, mut need: Headroom) {
        for (at, piece) in self
            .pieces
            .iter()
            .enumerate()
            .filter(|(_, piece)| piece.is_shared())
        {
            let need = match piece.kind {
                Kind::Cpus => &mut need.cpus,
                Kind::Mem => &mut need.mem,
                Kind::Disk => &mut need.disk,
                Kind::Gpus | Kind::Other => continue,
            };
            let has = piece.milli();
            let taken = has.min(*need);
            *need -= taken;
            if taken > 0 {
                self.keep(at, has - taken, Reason::Headroom);
            }
        }
    }

    /// How many whole GPUs are free and unreserved here.
    fn offered_gpus(&self) -> u64 {
        let gpus = self
            .pieces
            .iter()
            .filter(|piece| piece.kind == Kind::Gpus && piece.is_shared());
        gpus.map(Piece::milli).sum::<u64>() / ONE
    }

    fn passes_gpus(&self) -> bool {
        self.passing_pieces().any(|piece| piece.kind == Kind::Gpus)
    }

    /// Whether a task could run on what passes of the unreserved.
    fn is_useful(&self) -> bool {
        let unreserved = self.passing_pieces().filter(|piece| !piece.reserved);
        unreserved
            .into_iter()
            .any(|piece| matches!(piece.kind, Kind::Cpus | Kind::Mem) && piece.milli() > 0)
    }
}

fn passing(piece: &Piece, part: Part) -> u64 {
    match part {
        Part::All => piece.milli(),
        Part::Some(milli) => milli,
        Part::Nothing => 0,
    }
}

#[cfg(test)]
mod tests;
