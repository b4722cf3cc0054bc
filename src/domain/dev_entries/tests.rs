// SPDX-License-Identifier: Apache-2.0
//! Each kind of entry once, and each way in which one can be odd: people act on these lines.

use super::*;

fn device(major: u32, minor: u32) -> NodeState {
    NodeState::Device(DeviceNumber { major, minor })
}

fn other(what: &str) -> NodeState {
    NodeState::Other(what.to_owned())
}

#[test]
fn what_the_drivers_make_is_known() {
    for (name, state, expected) in [
        ("nvidia0", device(195, 0), DevEntry::Gpu(0)),
        ("nvidia253", device(195, 253), DevEntry::Gpu(253)),
        ("nvidiactl", device(195, 255), DevEntry::Control),
        ("nvidia-modeset", device(195, 254), DevEntry::Control),
        ("nvidia-uvm", device(511, 0), DevEntry::Control),
        ("nvidia-uvm-tools", device(238, 1), DevEntry::Control),
        ("nvidia-caps", other(A_DIRECTORY), DevEntry::Caps),
        ("nvidia-nvlink", device(240, 0), DevEntry::Unused),
        ("nvidia-nvswitchctl", device(239, 255), DevEntry::Unused),
        ("nvidia-nvswitch3", device(239, 3), DevEntry::Unused),
        ("nvidia-caps-imex-channels", other(A_DIRECTORY), DevEntry::Unused),
    ] {
        assert_eq!(classify(name, &state), expected, "{name}");
    }
}

#[test]
fn what_does_not_belong_there_is_told_with_its_reason() {
    for (name, state, why) in [
        (
            "nvidia0",
            other(A_DIRECTORY),
            "it is a directory, not a GPU's node",
        ),
        (
            "nvidia0",
            other("a regular file"),
            "it is a regular file, not a GPU's node",
        ),
        (
            "nvidia0",
            NodeState::Missing,
            "it is a link to nothing, or gone meanwhile, not a GPU's node",
        ),
        (
            "nvidia0",
            device(194, 0),
            "it is device 194:0, and GPUs have major number 195",
        ),
        (
            "nvidia0",
            device(195, 1),
            "it is device 195:1, another GPU than its name says",
        ),
        (
            "nvidia255",
            device(195, 255),
            "it is device 195:255, which is no GPU but a control node",
        ),
        (
            "nvidiactl",
            device(195, 0),
            "it is device 195:0 instead of 195:255",
        ),
        (
            "nvidia-modeset",
            device(10, 254),
            "it is device 10:254 instead of 195:254",
        ),
        (
            "nvidia-uvm",
            device(195, 0),
            "it is device 195:0, and major number 195 is that of the GPUs",
        ),
        (
            "nvidia-uvm",
            other("a named pipe"),
            "it is a named pipe, not a control node",
        ),
        (
            "nvidia-caps",
            device(241, 1),
            "it is device 241:1, not a directory",
        ),
        (
            "nvidia-caps",
            other("a regular file"),
            "it is a regular file, not a directory",
        ),
    ] {
        assert_eq!(
            classify(name, &state),
            DevEntry::Foreign(why.to_owned()),
            "{name}"
        );
    }
    for name in [
        "nvidia",
        "nvidia-foo",
        "nvidia00",
        "nvidia+1",
        "nvidia-1",
        "nvidia4294967296",
    ] {
        let entry = classify(name, &device(195, 0));
        assert!(
            matches!(&entry, DevEntry::Foreign(why) if why.starts_with("no driver")),
            "{name}: {entry:?}"
        );
    }
}

#[test]
fn only_oddities_have_lines() {
    let entries = [
        ("nvidia0", Ok(device(195, 0))),
        ("nvidia1", Ok(device(195, 2))),
        ("nvidia-\n", Ok(device(195, 0))),
        ("nvidia2", Err("cannot look at it".to_owned())),
    ];
    let lines = oddities(entries.iter().map(|(name, state)| (*name, state)));
    assert_eq!(
        lines,
        [
            "device entry \"nvidia1\" is left alone: it is device 195:2, another GPU than its name says",
            "device entry \"nvidia-\\n\" is left alone: no driver of NVIDIA's is known to make such an entry",
            "cannot look at it",
        ]
    );
}
