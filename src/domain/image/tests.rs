// SPDX-License-Identifier: Apache-2.0
//! What is read from an image's manifest, beside the tables of its rules.

use super::*;

fn wishes(env: &[&str]) -> Wishes {
    Wishes::read(env.iter().copied(), [])
}

#[test]
fn the_first_entry_of_a_name_decides_and_a_value_may_have_equals_signs() {
    let wishes = wishes(&[
        "PATH=/a",
        "PATH=/b",
        "LD_LIBRARY_PATH=/x=y",
        "NVIDIA_DRIVER_CAPABILITIES=video",
        "NVIDIA_DRIVER_CAPABILITIES=all",
    ]);
    assert_eq!(wishes.variable("PATH"), Some("/a"));
    assert_eq!(wishes.variable("LD_LIBRARY_PATH"), Some("/x=y"));
    assert_eq!(wishes.capabilities, [Capability::Video].into());
    assert_eq!(wishes.variable("HOME"), None);
}

#[test]
fn an_image_without_a_word_asks_for_nothing_and_has_the_default_capabilities() {
    let silent = wishes(&[]);
    assert!(!silent.asks_for_driver() && !silent.asks_for_graphics() && !silent.orders_devices());
    assert_eq!(
        silent.capabilities,
        [Capability::Compute, Capability::Utility].into()
    );
    assert!(silent.requirements.is_empty() && silent.warnings.is_empty());
}

#[test]
fn graphics_display_and_all_ask_for_graphics() {
    for (value, want) in [
        ("graphics", true),
        ("display", true),
        ("all", true),
        ("compute,utility,video", false),
        ("", false),
    ] {
        let wishes = wishes(&[&format!("NVIDIA_DRIVER_CAPABILITIES={value}")]);
        assert_eq!(wishes.asks_for_graphics(), want, "{value}");
    }
}

#[test]
fn an_order_of_devices_that_the_image_chose_is_seen() {
    assert!(wishes(&["CUDA_DEVICE_ORDER=FASTEST_FIRST"]).orders_devices());
    assert!(!wishes(&["CUDA_DEVICE_ORDER"]).orders_devices());
}

#[test]
fn an_unknown_capability_and_an_entry_without_a_value_are_warned_of() {
    let wishes = wishes(&[
        "NVIDIA_DRIVER_CAPABILITIES=compute,telepathy\n",
        "NVIDIA_VISIBLE_DEVICES",
        "OTHER",
    ]);
    assert_eq!(
        wishes.warnings,
        [
            "\"NVIDIA_VISIBLE_DEVICES\" of the image has no value",
            "NVIDIA_DRIVER_CAPABILITIES of the image: \"telepathy\" is unknown"
        ]
    );
}

#[test]
fn a_hostile_image_costs_a_few_short_lines() {
    let word = "é".repeat(5000);
    let entries: Vec<String> = (0..5000).map(|n| format!("NVIDIA_{n}{word}")).collect();
    let many = format!("NVIDIA_DRIVER_CAPABILITIES={}", "x,".repeat(5000));
    let env = entries
        .iter()
        .map(String::as_str)
        .chain([many.as_str(), "", "=", "=x", "NVIDIA_REQUIRE_="]);
    let wishes = Wishes::read(env, []);
    assert_eq!(wishes.warnings.len(), WARNINGS + 1);
    assert!(
        wishes
            .warnings
            .iter()
            .all(|line| line.len() < 400 && !line.contains('\n'))
    );
    assert_eq!(
        wishes.requirements,
        [("NVIDIA_REQUIRE_".to_owned(), String::new())]
    );
}
