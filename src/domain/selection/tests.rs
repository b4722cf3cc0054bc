// SPDX-License-Identifier: Apache-2.0
//! Tables of what a value of `gpus` means and how each wrong one is refused.

use super::*;
use crate::domain::gpu::UnitKind;

fn gpu(id: &str, pci: &str, index: Option<u32>) -> Unit {
    let (kind, pci) = (UnitKind::Gpu, pci.parse().unwrap());
    Unit {
        id: UnitId::new(id),
        kind,
        pci,
        minor: 0,
        index,
        model: None,
        memory_bytes: None,
    }
}

fn mig(id: &str, parent: &str, pci: &str, gpu_instance: u32, compute_instance: u32) -> Unit {
    let parent = UnitId::new(parent);
    let kind = UnitKind::Mig {
        parent,
        gpu_instance,
        compute_instance,
        profile: None,
    };
    Unit {
        kind,
        ..gpu(id, pci, None)
    }
}

/// Three GPUs whose NVML has not answered, the last of them cut into three instances in two GPU instances.
fn machine() -> Vec<Unit> {
    vec![
        gpu("GPU-a", "0000:06:00.0", None),
        gpu("GPU-b", "0000:3b:00.0", None),
        mig("MIG-x", "GPU-c", "0000:af:00.0", 1, 0),
        mig("MIG-y", "GPU-c", "0000:af:00.0", 1, 1),
        mig("MIG-z", "GPU-c", "0000:af:00.0", 2, 0),
    ]
}

fn chosen(text: &str, units: &[Unit]) -> Result<String, String> {
    let ids = Selection::parse(text)
        .and_then(|selection| selection.choose(units))
        .map_err(|e| e.to_string())?;
    Ok(ids.iter().map(UnitId::as_str).collect::<Vec<_>>().join(" "))
}

#[test]
fn every_form_names_what_it_says_in_the_machines_order() {
    for (text, want) in [
        ("all", "GPU-a GPU-b MIG-x MIG-y MIG-z"),
        (" all , !0 ", "GPU-b MIG-x MIG-y MIG-z"),
        ("1", "GPU-b"),
        ("1,0", "GPU-a GPU-b"),
        ("0-1", "GPU-a GPU-b"),
        ("0-0", "GPU-a"),
        ("GPU-b", "GPU-b"),
        ("gpu-B", "GPU-b"),
        ("MIG-y", "MIG-y"),
        ("0000:3b:00.0", "GPU-b"),
        ("00000000:3B:00.0", "GPU-b"),
        ("3b:00.0", "GPU-b"),
        ("0000:3b:00", "GPU-b"),
        ("2:2", "MIG-z"),
        ("GPU-c:2", "MIG-z"),
        ("2:1", "MIG-x MIG-y"),
        ("2", "MIG-x MIG-y MIG-z"),
        ("GPU-c", "MIG-x MIG-y MIG-z"),
        ("0000:af:00.0", "MIG-x MIG-y MIG-z"),
        ("!GPU-a", "GPU-b MIG-x MIG-y MIG-z"),
        ("!0,!2:1", "GPU-b MIG-z"),
        ("0-2,!1,!MIG-x", "GPU-a MIG-y MIG-z"),
        ("!0-2", ""),
    ] {
        assert_eq!(chosen(text, &machine()), Ok(want.to_owned()), "{text}");
    }
    assert_eq!(chosen("all", &[]), Ok(String::new()));
}

#[test]
fn the_old_spelling_of_an_instances_uuid_is_one_uuid() {
    let units = [mig("MIG-GPU-c/1/0", "GPU-c", "0000:af:00.0", 1, 0)];
    assert_eq!(chosen("MIG-GPU-c/1/0", &units), Ok("MIG-GPU-c/1/0".to_owned()));
}

#[test]
fn nvmls_index_goes_before_the_rank() {
    let units = [
        gpu("GPU-a", "0000:06:00.0", Some(1)),
        gpu("GPU-b", "0000:3b:00.0", Some(0)),
    ];
    assert_eq!(chosen("0", &units), Ok("GPU-b".to_owned()));
}

#[test]
fn a_malformed_term_is_refused_with_the_accepted_form() {
    for (text, term, reason) in [
        ("", "", "it is empty"),
        ("0,,1", "", "it is empty"),
        ("0,", "", "it is empty"),
        ("!", "!", "it is empty"),
        ("!!0", "!!0", "no index, UUID or PCI address"),
        ("!all", "!all", "all cannot be excluded"),
        ("ALL", "ALL", "no index, UUID or PCI address"),
        ("+1", "+1", "no index, UUID or PCI address"),
        ("-1", "-1", "an end of the range is no index"),
        ("0x1", "0x1", "no index, UUID or PCI address"),
        ("4294967296", "4294967296", "no index, UUID or PCI address"),
        ("1.5", "1.5", "no PCI address"),
        ("3-0", "3-0", "the range is reversed"),
        ("0-", "0-", "an end of the range is no index"),
        ("0-1-2", "0-1-2", "an end of the range is no index"),
        ("GPU-", "GPU-", "no UUID"),
        ("GPU-a b", "GPU-a b", "no UUID"),
        ("0:x", "0:x", "the instance after the colon is no number"),
        (
            "3b:00",
            "3b:00",
            "the GPU before the colon is no index and no GPU UUID",
        ),
        (
            "MIG-x:1",
            "MIG-x:1",
            "the GPU before the colon is no index and no GPU UUID",
        ),
        (
            "GPU-a:1:2",
            "GPU-a:1:2",
            "the instance after the colon is no number",
        ),
        ("0000:zz:00.0", "0000:zz:00.0", "no PCI address"),
    ] {
        let want = format!("{term:?} is not a GPU ({reason}); accepted: {FORM}");
        assert_eq!(Selection::parse(text).unwrap_err().to_string(), want, "{text}");
    }
}

#[test]
fn a_repeated_term_is_refused() {
    for (text, first, second) in [
        ("3,3", "3", "3"),
        ("0-3,2", "0-3", "2"),
        ("0-3,3-5", "0-3", "3-5"),
        ("!1,!0-2", "!1", "!0-2"),
        ("GPU-a,gpu-A", "GPU-a", "gpu-A"),
        ("3b:00.0,0000:3B:00.0", "0000:3b:00.0", "0000:3B:00.0"),
        ("GPU-a:1,gpu-a:1", "GPU-a:1", "gpu-a:1"),
        ("0:1,0:1", "0:1", "0:1"),
        ("all,all", "all", "all"),
        ("all,3", "all", "3"),
        ("3,all", "all", "3"),
        ("1,!1", "1", "!1"),
    ] {
        let want = format!("{second:?} repeats {first:?}; name each GPU once");
        assert_eq!(
            Selection::parse(text).map_err(|e| e.to_string()),
            Err(want),
            "{text}"
        );
    }
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    let there = "there are 0 = GPU-a at 0000:06:00.0, 1 = GPU-b at 0000:3b:00.0, 2:1 = MIG-x, 2:1 = MIG-y, 2:2 = MIG-z";
    for (text, term) in [
        ("3", "3"),
        ("0-4000000000", "3"),
        ("GPU-q", "GPU-q"),
        ("MIG-q", "MIG-q"),
        ("0000:01:00.0", "0000:01:00.0"),
        ("2:3", "2:3"),
        ("0:1", "0:1"),
        ("GPU-c:7", "GPU-c:7"),
        ("!3", "!3"),
    ] {
        assert_eq!(
            chosen(text, &machine()),
            Err(format!("{term:?} does not exist; {there}")),
            "{text}"
        );
    }
    assert_eq!(
        chosen("0", &[]),
        Err("\"0\" does not exist; there are no GPUs".to_owned())
    );
}

#[test]
fn two_names_of_one_unit_are_refused() {
    for (text, first, second, unit) in [
        ("0,GPU-a", "0", "GPU-a", "GPU-a"),
        ("0000:06:00.0,0-1", "0000:06:00.0", "0-1", "GPU-a"),
        ("2:1,MIG-y", "2:1", "MIG-y", "MIG-y"),
        ("2,2:2", "2", "2:2", "MIG-z"),
        ("!0,!GPU-a", "!0", "!GPU-a", "GPU-a"),
    ] {
        let want = format!("{first:?} and {second:?} both name {unit}; name each GPU once");
        assert_eq!(chosen(text, &machine()), Err(want), "{text}");
    }
}

#[test]
fn an_exclusion_must_exclude_something() {
    let want = "\"!1\" excludes GPU-b, which no other term chooses";
    assert_eq!(chosen("0,!1", &machine()), Err(want.to_owned()));
}

#[test]
fn a_selection_is_written_as_it_is_read() {
    for text in ["all", "all,!0", "0-3,!2", "GPU-a,0:1,0000:3b:00.0"] {
        assert_eq!(Selection::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(Selection::parse("!0").unwrap().to_string(), "all,!0");
    assert_eq!(Selection::all(), Selection::parse("all").unwrap());
}
