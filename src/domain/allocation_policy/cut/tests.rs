// SPDX-License-Identifier: Apache-2.0
//! Who is offered what, as a table.

use super::*;

const fn piece(kind: Kind, amount: f64) -> Piece {
    Piece {
        kind,
        amount,
        reserved: false,
        revocable: false,
    }
}

const fn gpus(amount: f64) -> Piece {
    piece(Kind::Gpus, amount)
}

const fn cpus(amount: f64) -> Piece {
    piece(Kind::Cpus, amount)
}

const fn mem(amount: f64) -> Piece {
    piece(Kind::Mem, amount)
}

const fn reserved(piece: Piece) -> Piece {
    Piece {
        reserved: true,
        ..piece
    }
}

const fn revocable(piece: Piece) -> Piece {
    Piece {
        revocable: true,
        ..piece
    }
}

const PORTS: Piece = piece(Kind::Other, 0.0);

/// One cpu and 1000 MB for each GPU.
const HEADROOM: Headroom = Headroom {
    cpus: 1000,
    mem: 1_000_000,
    disk: 0,
};

fn case(pieces: &[Piece], policy: Policy, capable: bool) -> Case<'_> {
    Case {
        pieces,
        policy,
        capable,
        room: None,
        free: 0,
        headroom: HEADROOM,
    }
}

/// What passes, and that the rest is withheld exactly.
#[track_caller]
fn check(case: Case<'_>, want: &[Piece], reasons: &[Reason]) {
    let cut = Cut::of(&case);
    assert_eq!(cut.passing_pieces().collect::<Vec<_>>(), want, "{case:?}");
    assert_eq!(cut.reasons, reasons, "{case:?}");
    assert_eq!(cut.is_whole(), reasons.is_empty());
    assert_conserves(case.pieces, &cut);
}

#[track_caller]
fn assert_conserves(pieces: &[Piece], cut: &Cut<'_>) {
    let mut sum = cut.passing();
    for (at, amount) in cut.withheld() {
        sum.add(&pieces[at], super::super::piece::milli(amount));
    }
    assert_eq!(
        sum,
        Amounts::of(pieces),
        "what passes and what does not is the offer"
    );
}

const MACHINE: [Piece; 4] = [gpus(4.0), cpus(16.0), mem(64_000.0), PORTS];

#[test]
fn a_framework_with_the_capability_is_offered_everything_under_every_policy() {
    for policy in [Policy::Strict, Policy::Share, Policy::Open] {
        check(case(&MACHINE, policy, true), &MACHINE, &[]);
        let mixed = [gpus(2.0), reserved(gpus(1.0)), revocable(gpus(1.0)), cpus(1.0)];
        check(case(&mixed, policy, true), &mixed, &[]);
    }
}

#[test]
fn a_framework_without_it_is_offered_what_the_policy_says() {
    check(case(&MACHINE, Policy::Strict, false), &[], &[Reason::Capability]);
    check(case(&MACHINE, Policy::Open, false), &MACHINE, &[]);
    check(
        case(&MACHINE, Policy::Share, false),
        &[cpus(12.0), mem(60_000.0), PORTS],
        &[Reason::Capability, Reason::Headroom],
    );
}

#[test]
fn with_no_free_gpu_all_of_the_agent_is_shared() {
    let pieces = [cpus(3.0), mem(100.0), PORTS];
    check(case(&pieces, Policy::Share, false), &pieces, &[]);
    // Those of which not one is whole need nothing either.
    check(
        case(&[gpus(0.5), cpus(3.0)], Policy::Share, false),
        &[cpus(3.0)],
        &[Reason::Capability],
    );
}

#[test]
fn what_is_reserved_passes_but_for_gpus_without_the_capability() {
    let own = [reserved(cpus(2.0)), reserved(mem(10.0))];
    let pieces = [
        gpus(4.0),
        cpus(4.0),
        mem(4000.0),
        own[0],
        own[1],
        reserved(gpus(1.0)),
    ];
    check(
        case(&pieces, Policy::Share, false),
        &own,
        &[Reason::Capability, Reason::Headroom],
    );
    // GPUs that are reserved for someone need nothing of what is shared.
    let pieces = [reserved(gpus(2.0)), cpus(4.0), own[0]];
    check(
        case(&pieces, Policy::Share, false),
        &[cpus(4.0), own[0]],
        &[Reason::Capability],
    );
}

#[test]
fn where_neither_cpus_nor_mem_are_left_nothing_shared_passes() {
    for pieces in [
        vec![gpus(4.0), cpus(4.0), mem(4000.0), PORTS],
        vec![gpus(4.0), cpus(1.0), PORTS],
        vec![gpus(4.0), piece(Kind::Disk, 7.0)],
    ] {
        let cut = Cut::of(&case(&pieces, Policy::Share, false));
        assert!(cut.barred && cut.guest, "{pieces:?}");
        assert_eq!(cut.passing_pieces().count(), 0, "{pieces:?}");
        assert_conserves(&pieces, &cut);
    }
    // What can be taken back needs not be kept, and is of use.
    let pieces = [gpus(4.0), cpus(1.0), revocable(cpus(3.0)), revocable(gpus(1.0))];
    check(
        case(&pieces, Policy::Share, false),
        &[revocable(cpus(3.0))],
        &[Reason::Capability, Reason::Headroom],
    );
}

#[test]
fn the_headroom_is_for_gpus_that_a_quota_hides_as_well() {
    let pieces = [cpus(16.0), mem(64_000.0)];
    let hidden = Case {
        free: 4,
        ..case(&pieces, Policy::Share, false)
    };
    check(hidden, &[cpus(12.0), mem(60_000.0)], &[Reason::Headroom]);
    let chopped = [gpus(1.5), cpus(16.0)];
    let chopped = Case {
        pieces: &chopped,
        ..hidden
    };
    check(chopped, &[cpus(12.0)], &[Reason::Capability, Reason::Headroom]);
}

#[test]
fn gpus_are_whole_piece_by_piece_under_every_policy() {
    for policy in [Policy::Strict, Policy::Share, Policy::Open] {
        check(
            case(&[gpus(1.5), reserved(gpus(0.5)), cpus(2.0)], policy, true),
            &[gpus(1.0), cpus(2.0)],
            &[Reason::Fraction],
        );
        check(case(&[gpus(0.9999999)], policy, true), &[gpus(0.9999999)], &[]);
    }
    check(
        case(&[gpus(1.5)], Policy::Open, false),
        &[gpus(1.0)],
        &[Reason::Fraction],
    );
}

#[test]
fn a_cap_leaves_what_the_other_gpus_need() {
    let capped = |policy, room| Case {
        room: Some(room),
        ..case(&MACHINE, policy, true)
    };
    for policy in [Policy::Strict, Policy::Share] {
        check(
            capped(policy, 2000),
            &[gpus(2.0), cpus(14.0), mem(62_000.0), PORTS],
            &[Reason::Cap, Reason::Headroom],
        );
        check(capped(policy, 4000), &MACHINE, &[]);
    }
    check(
        capped(Policy::Open, 2000),
        &[gpus(2.0), cpus(16.0), mem(64_000.0), PORTS],
        &[Reason::Cap],
    );
    // Half a GPU of room is none.
    check(
        capped(Policy::Open, 1500),
        &[gpus(1.0), cpus(16.0), mem(64_000.0), PORTS],
        &[Reason::Cap],
    );
}

#[test]
fn at_its_cap_a_framework_is_treated_as_one_without_the_capability() {
    let capped = |policy| Case {
        room: Some(0),
        ..case(&MACHINE, policy, true)
    };
    check(capped(Policy::Strict), &[], &[Reason::Cap]);
    check(
        capped(Policy::Share),
        &[cpus(12.0), mem(60_000.0), PORTS],
        &[Reason::Cap, Reason::Headroom],
    );
    check(
        capped(Policy::Open),
        &[cpus(16.0), mem(64_000.0), PORTS],
        &[Reason::Cap],
    );
    // Where no GPU is free nothing is kept from it.
    let pieces = [cpus(1.0)];
    let none_free = Case {
        pieces: &pieces,
        ..capped(Policy::Strict)
    };
    check(none_free, &pieces, &[]);
}

#[test]
fn reserved_gpus_pass_a_cap_and_take_up_its_room() {
    let pieces = [gpus(4.0), reserved(gpus(1.0)), cpus(16.0)];
    let capped = |room| Case {
        pieces: &pieces,
        room: Some(room),
        ..case(&MACHINE, Policy::Share, true)
    };
    check(
        capped(2000),
        &[gpus(1.0), reserved(gpus(1.0)), cpus(13.0)],
        &[Reason::Cap, Reason::Headroom],
    );
    check(
        capped(0),
        &[reserved(gpus(1.0)), cpus(12.0)],
        &[Reason::Cap, Reason::Headroom],
    );
}

#[test]
fn only_who_is_given_no_gpu_is_a_guest() {
    let guest = |case: Case<'_>| Cut::of(&case).guest;
    assert!(guest(case(&MACHINE, Policy::Share, false)));
    assert!(!guest(case(&MACHINE, Policy::Share, true)));
    assert!(!guest(case(&MACHINE, Policy::Open, false)));
    assert!(!guest(case(&[cpus(1.0)], Policy::Share, false)));
}
