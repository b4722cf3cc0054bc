// SPDX-License-Identifier: Apache-2.0
//! What one sample says of the owner, as tables: alone, and beside a guest.

use super::*;
use crate::domain::gpu::UnitId;

const MIB: u64 = 1 << 20;
const OWNER: u32 = 10;
const GUEST: u32 = 20;
const STRANGER: u32 = 30;

/// The kinds of processes by their ids: 1x the owner's, 2x the guest's, others nobody's.
fn whose(pid: u32) -> Option<ContainerId> {
    match pid / 10 {
        1 => Some(ContainerId::root_of("owner")),
        2 => Some(ContainerId::root_of("guest")),
        _ => None,
    }
}

/// A GPU with 100,000 MiB: utilisation, MiB in use, and of each process its id, utilisation and MiB.
fn gpu(utilization: u32, used: u64, processes: &[(u32, u32, u64)]) -> GpuSample {
    let of = |(pid, utilization, mib): &(u32, u32, u64)| ProcessUse {
        pid: *pid,
        utilization: Percent::told(*utilization),
        memory: Some(mib * MIB),
    };
    GpuSample {
        uuid: UnitId::new("GPU-1"),
        utilization: Percent::told(utilization),
        memory: MemoryUse::told(used * MIB, 100_000 * MIB),
        processes: Some(processes.iter().map(of).collect()),
        power: None,
        temperature: None,
    }
}

fn judged(gpu: &GpuSample, guests: &[&str]) -> Activity {
    let guests: Vec<ContainerId> = guests.iter().map(|guest| ContainerId::root_of(guest)).collect();
    let holding = Holding {
        holders: vec![ContainerId::root_of("owner")],
        guests: guests.clone(),
        placeable: true,
    };
    of_owner(gpu, &holding, &guests, &whose, &Thresholds::default())
}

#[test]
fn an_owner_alone_is_quiet_only_below_both_thresholds() {
    let computes = |share| Activity::Active(Cause::Computes(share));
    let holds = |mib: u64| Activity::Active(Cause::Holds(mib * MIB));
    for (gpu, want) in [
        (gpu(0, 0, &[]), Activity::Quiet),
        // A bare CUDA context on an H200.
        (gpu(0, 526, &[(OWNER, 0, 518)]), Activity::Quiet),
        (gpu(5, 1024, &[(OWNER, 5, 1024)]), Activity::Quiet),
        (gpu(6, 0, &[(OWNER, 0, 0)]), computes(6)),
        (gpu(0, 0, &[(OWNER, 6, 0)]), computes(6)),
        (gpu(0, 0, &[(OWNER, 3, 0), (OWNER + 1, 3, 0)]), computes(6)),
        (gpu(0, 1025, &[(OWNER, 0, 0)]), holds(1025)),
        (gpu(0, 0, &[(OWNER, 0, 600), (STRANGER, 0, 500)]), holds(1100)),
        (gpu(0, 0, &[(STRANGER, 9, 0)]), computes(9)),
        // Nobody can say whose a process is while nobody else is there.
        (gpu(0, 0, &[(GUEST, 9, 0)]), computes(9)),
    ] {
        assert_eq!(judged(&gpu, &[]), want, "{gpu:?}");
    }
}

#[test]
fn memory_held_with_0_percent_utilisation_is_in_use() {
    let holds = judged(&gpu(0, 20 << 10, &[(OWNER, 0, 20 << 10)]), &[]);
    assert_eq!(holds, Activity::Active(Cause::Holds(20 << 30)));
    let told_by_the_gpu_only = judged(&gpu(0, 20 << 10, &[]), &[]);
    assert_eq!(told_by_the_gpu_only, Activity::Active(Cause::Holds(20 << 30)));
}

#[test]
fn beside_a_guest_an_owner_is_judged_by_its_own_and_by_what_is_nobodys() {
    let guest = (GUEST, 90, 50_000);
    for (gpu, want) in [
        (gpu(100, 50_000, &[guest]), Activity::Quiet),
        (gpu(100, 50_600, &[guest, (OWNER, 5, 600)]), Activity::Quiet),
        (
            gpu(100, 50_600, &[guest, (OWNER, 6, 600)]),
            Activity::Active(Cause::Computes(6)),
        ),
        (
            gpu(100, 60_000, &[guest, (OWNER, 0, 1025)]),
            Activity::Active(Cause::Holds(1025 * MIB)),
        ),
        (
            gpu(100, 50_000, &[guest, (STRANGER, 7, 0)]),
            Activity::Active(Cause::Computes(7)),
        ),
        (
            gpu(100, 50_000, &[guest, (STRANGER, 0, 2000)]),
            Activity::Active(Cause::Holds(2000 * MIB)),
        ),
    ] {
        assert_eq!(judged(&gpu, &["guest"]), want, "{gpu:?}");
    }
    // Another guest's name makes nobody a guest.
    let gpu = gpu(100, 50_000, &[guest]);
    assert_eq!(judged(&gpu, &["other"]), Activity::Active(Cause::Computes(90)));
}

#[test]
fn a_container_that_holds_the_gpu_is_not_its_guest_whatever_the_books_say() {
    let sample = gpu(50, 0, &[(OWNER, 50, 0)]);
    assert_eq!(
        judged(&sample, &["owner", "guest"]),
        Activity::Active(Cause::Computes(50))
    );
}

#[test]
fn what_nobody_claims_counts_as_the_owners() {
    let unclaimed = Activity::Active(Cause::Unclaimed(Percent::told(80).unwrap()));
    assert_eq!(judged(&gpu(80, 0, &[(GUEST, 0, 9)]), &["guest"]), unclaimed);
    assert_eq!(judged(&gpu(80, 0, &[]), &["guest"]), unclaimed);
}

#[test]
fn not_supported_counters_and_sentinel_values_are_unknown_alone_and_beside_a_guest() {
    let full = || gpu(0, 0, &[(OWNER, 0, 0), (GUEST, 0, 0)]);
    let without = |change: &dyn Fn(&mut GpuSample)| {
        let mut gpu = full();
        change(&mut gpu);
        gpu
    };
    let own = |change: fn(&mut ProcessUse)| without(&|gpu| change(&mut gpu.processes.as_mut().unwrap()[0]));
    let sentinel = u32::MAX;
    for (gpu, what) in [
        (without(&|gpu| gpu.memory = None), "its memory"),
        (without(&|gpu| gpu.utilization = None), "its utilisation"),
        (
            without(&|gpu| gpu.utilization = Percent::told(sentinel)),
            "its utilisation",
        ),
        (without(&|gpu| gpu.processes = None), "its processes"),
        (
            own(|own| own.utilization = None),
            "the utilisation of each process",
        ),
        (
            own(|own| own.utilization = Percent::told(101)),
            "the utilisation of each process",
        ),
        (own(|own| own.memory = None), "the memory of each process"),
    ] {
        for guests in [&[][..], &["guest"]] {
            let want = Activity::Unknown(Doubt::NotTold(what));
            assert_eq!(judged(&gpu, guests), want, "{gpu:?} {guests:?}");
        }
    }
    for guests in [&[][..], &["guest"]] {
        assert_eq!(judged(&full(), guests), Activity::Quiet);
        // More than there is cannot be.
        let too_much = own(|own| own.memory = Some(u64::MAX));
        assert_ne!(judged(&too_much, guests), Activity::Quiet);
    }
}

#[test]
fn what_a_guest_does_not_tell_is_not_the_owners_doubt() {
    let mut sample = gpu(90, 0, &[(OWNER, 0, 0), (GUEST, 90, 0), (GUEST + 1, 0, 0)]);
    let guest = &mut sample.processes.as_mut().unwrap()[2];
    (guest.utilization, guest.memory) = (None, None);
    assert_eq!(judged(&sample, &["guest"]), Activity::Quiet);
}

#[test]
fn what_is_known_to_be_in_use_counts_whatever_else_is_not_known() {
    let mut sample = gpu(0, 0, &[(OWNER, 50, 0)]);
    sample.memory = None;
    sample.utilization = None;
    assert_eq!(judged(&sample, &["guest"]), Activity::Active(Cause::Computes(50)));
}
