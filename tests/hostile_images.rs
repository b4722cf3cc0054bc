// SPDX-License-Identifier: Apache-2.0
//! Images made to harm the host: each is fitted with everything inside it, or refused with a reason, and what is outside
//! stays as it was to the last bit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "hostile_images/attack.rs"]
mod attack;
#[path = "hostile_images/launcher.rs"]
mod launcher;
#[path = "hostile_images/listing.rs"]
mod listing;
mod support;
#[path = "hostile_images/target.rs"]
mod target;

use attack::{ATTACKS, Attack, PLACES};
use listing::{listing, of_the_host};
use std::fs;
use std::path::{Path, PathBuf};
use support::own_mounts::{bind, in_own_mounts};
use target::Target;

const IMAGES: usize = 64;

/// Whether the image is fitted; that it is so safely, or refused safely, is proven here.
fn prove(what: &str, scratch: &Path, attacks: &[(Attack, &str)], read_only: bool, launches: bool) -> bool {
    let target = Target::new(scratch);
    for (attack, place) in attacks {
        target.put(*attack, place);
    }
    let root = target.root();
    if read_only {
        bind(&root, &root, true).unwrap();
    }
    let before = listing(scratch, &root);
    let outcome = target.fit();
    if let Ok(outfit) = &outcome {
        for mount in &outfit.mounts {
            let below = mount.target.strip_prefix(&root);
            assert!(
                below.is_ok_and(|below| below.iter().count() > 0),
                "{what}: {mount:?}"
            );
            let there = mount
                .target
                .ancestors()
                .find(|above| above.symlink_metadata().is_ok())
                .unwrap();
            assert_eq!(
                fs::canonicalize(there).unwrap(),
                there,
                "{what}: a link is left in {mount:?}"
            );
        }
        if launches {
            let wanted: Vec<_> = outfit.mounts.iter().map(|mount| mount.target.clone()).collect();
            let found = launcher::launch(&root, &outfit.mounts);
            let found: Vec<_> = found.iter().map(PathBuf::from).collect();
            assert_eq!(found, wanted, "{what}");
        }
    }
    let after = listing(scratch, &root);
    assert!(
        before == after,
        "{what}: outside is changed: {before:#?} {after:#?}"
    );
    if !read_only {
        for (attack, place) in attacks {
            target.take_away(*attack, place);
        }
    }
    match outcome {
        Ok(_) => true,
        Err(why) => {
            let names_it = why.contains(root.to_str().unwrap()) && !why.contains('\n');
            assert!(names_it, "{what}: a reason that says nothing: {why:?}");
            false
        }
    }
}

/// Kinds of link that would lead out of an image, if they were followed as text.
const ESCAPES: [Attack; 5] = [
    Attack::AbsoluteLink,
    Attack::RelativeLink,
    Attack::Chain,
    Attack::MagicLink,
    Attack::LinkToNothing,
];

/// The attacks of one image: the same ones at every run, at least one of which is a way out, and together every place and
/// every kind.
fn of_image(number: usize) -> Vec<(Attack, &'static str)> {
    let mut chosen = Vec::new();
    // A generator of fixed constants, so that an image is known by its number.
    let mut state = number as u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    chosen.push((
        ATTACKS[number % ATTACKS.len()],
        PLACES[(number * 5) % PLACES.len()],
    ));
    chosen.push((ESCAPES[random(ESCAPES.len())], PLACES[random(PLACES.len())]));
    for _ in 0..number % 3 {
        chosen.push((ATTACKS[random(ATTACKS.len())], PLACES[random(PLACES.len())]));
    }
    chosen
}

#[test]
fn sixty_four_hostile_images_change_nothing_outside() {
    let (mut fitted, mut refused) = (0, 0);
    let host = of_the_host();
    // Without mounts of its own, which it says once, the test still sees what is made outside.
    let mounts = in_own_mounts(|_| ()).is_some();
    for number in 0..IMAGES {
        let (attacks, read_only) = (of_image(number), number % 16 == 15);
        let what = format!("image {number}, {attacks:?}, read-only: {read_only}");
        let proven = mounts
            .then(|| in_own_mounts(|scratch| prove(&what, scratch, &attacks, read_only, true)))
            .flatten();
        let fits = proven.unwrap_or_else(|| {
            let scratch = tempfile::tempdir().unwrap();
            prove(&what, scratch.path(), &attacks, false, false)
        });
        *(if fits { &mut fitted } else { &mut refused }) += 1;
    }
    println!("{IMAGES} hostile images: {fitted} fitted inside, {refused} refused with a reason");
    assert_eq!(fitted + refused, IMAGES);
    assert!(fitted > 0 && refused > 0, "{fitted} fitted, {refused} refused");
    assert_eq!(of_the_host(), host);
}

/// A folder in memory, where there is one: the test makes tens of thousands of files.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

#[test]
fn every_attack_at_every_place_changes_nothing_outside() {
    let (mut fitted, mut refused) = (0, 0);
    let host = of_the_host();
    for place in PLACES {
        for attack in ATTACKS {
            let scratch = in_memory();
            let what = format!("{attack:?} at {place}");
            let fits = prove(&what, scratch.path(), &[(attack, place)], false, false);
            *(if fits { &mut fitted } else { &mut refused }) += 1;
        }
    }
    println!(
        "{} attacks: {fitted} fitted inside, {refused} refused with a reason",
        fitted + refused
    );
    assert!(fitted > 0 && refused > 0, "{fitted} fitted, {refused} refused");
    assert_eq!(of_the_host(), host);
}

#[test]
fn the_images_have_every_attack_and_every_place() {
    let all: Vec<_> = (0..IMAGES).flat_map(of_image).collect();
    for attack in ATTACKS {
        assert!(all.iter().any(|(one, _)| *one == attack), "{attack:?}");
    }
    for place in PLACES {
        assert!(all.iter().any(|(_, one)| *one == place), "{place}");
    }
}

/// The images are as dangerous as they are meant to be, and the listing sees it.
#[test]
fn a_path_joined_as_text_is_caught() {
    let mut caught = 0;
    for number in 0..IMAGES {
        let scratch = tempfile::tempdir().unwrap();
        let target = Target::new(scratch.path());
        for (attack, place) in of_image(number) {
            target.put(attack, place);
        }
        let root = target.root();
        let before = listing(scratch.path(), &root);
        // Not the places that a link could take to the host's own.
        let joined = root.join("usr/local/nvidia/made");
        let leads_out = joined
            .ancestors()
            .find_map(|above| fs::canonicalize(above).ok())
            .unwrap();
        if leads_out.starts_with(scratch.path()) {
            let _ = fs::create_dir_all(&joined);
        }
        caught += usize::from(listing(scratch.path(), &root) != before);
        for (attack, place) in of_image(number) {
            target.take_away(attack, place);
        }
    }
    println!("{caught} of {IMAGES} images lead a joined path out");
    assert!(caught > 0);
}

#[test]
fn no_program_is_started_to_fit_an_image() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/system");
    let mut looked_at = 0;
    let mut folders = vec![source];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let of_images = ["image_root", "image_fit", "device_copies", "driver_params"]
                .iter()
                .any(|name| path.to_str().unwrap().contains(name));
            if of_images {
                looked_at += 1;
                let text = fs::read_to_string(&path).unwrap();
                let starts = ["Command", "exec", "spawn", "fork"];
                for word in starts {
                    let found = text
                        .split(|c: char| !c.is_alphanumeric() && c != '_')
                        .any(|one| one == word);
                    assert!(!found, "{} says {word}", path.display());
                }
            }
        }
    }
    assert!(
        looked_at >= 9,
        "only {looked_at} files: the test no longer sees them"
    );
}
