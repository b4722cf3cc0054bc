// SPDX-License-Identifier: Apache-2.0
//! Tables of the parameters of oversubscription.

use super::*;

fn with(change: impl FnOnce(&mut Oversubscription)) -> Config {
    let mut config = default();
    change(&mut config.oversubscription);
    config
}

#[test]
fn every_parameter_of_oversubscription_reaches_its_setting() {
    let percent = |share| Percent::told(share).unwrap();
    for (key, value, want) in [
        ("oversubscribe", "on", with(|o| o.on = true)),
        (
            "idle_window",
            "5mins",
            with(|o| o.thresholds.window = Duration::from_secs(300)),
        ),
        (
            "idle_window",
            "5secs",
            with(|o| o.thresholds.window = Duration::from_secs(5)),
        ),
        (
            "idle_utilization",
            "0",
            with(|o| o.thresholds.utilization = percent(0)),
        ),
        (
            "idle_utilization",
            "50",
            with(|o| o.thresholds.utilization = percent(50)),
        ),
        (
            "idle_memory",
            "0B",
            with(|o| o.thresholds.memory = MemoryLimit::Bytes(0)),
        ),
        (
            "idle_memory",
            "512MB",
            with(|o| o.thresholds.memory = MemoryLimit::Bytes(512 << 20)),
        ),
        (
            "idle_memory",
            "3KB",
            with(|o| o.thresholds.memory = MemoryLimit::Bytes(3 << 10)),
        ),
        (
            "idle_memory",
            "1TB",
            with(|o| o.thresholds.memory = MemoryLimit::Bytes(1 << 40)),
        ),
        (
            "idle_memory",
            "1%",
            with(|o| o.thresholds.memory = MemoryLimit::Share(percent(1))),
        ),
        (
            "sample_interval",
            "500ms",
            with(|o| o.thresholds.interval = Duration::from_millis(500)),
        ),
        ("guests_per_gpu", "16", with(|o| o.thresholds.guests_per_gpu = 16)),
        (
            "oversubscribe_pause",
            "0secs",
            with(|o| o.thresholds.pause = Duration::ZERO),
        ),
        (
            "oversubscribe_share",
            "1",
            with(|o| o.thresholds.share = percent(1)),
        ),
    ] {
        assert_eq!(config(&[(key, value)], &[]).as_ref(), Ok(&want), "{key}={value}");
    }
}

#[test]
fn a_wrong_value_of_oversubscription_is_refused_with_key_value_and_accepted_form() {
    for (key, values) in [
        ("oversubscribe", &["", "yes", "On", "true"][..]),
        ("idle_window", &["", "0secs", "60", "2hrs"]),
        (
            "idle_utilization",
            &["", "51", "5%", "-1", "5.0", "+5", "99999999999999999999"],
        ),
        (
            "idle_memory",
            &[
                "",
                "1",
                "GB",
                "1gb",
                "1.5GB",
                "-1GB",
                "1 GB",
                "2TB",
                "51%",
                "%",
                "1.5%",
                "999999999999999999TB",
            ],
        ),
        ("sample_interval", &["0ns", "fast"]),
        ("guests_per_gpu", &["0", "17", "one", ""]),
        ("oversubscribe_pause", &["-1secs", "2hrs", "5"]),
        ("oversubscribe_share", &["0", "101", "100%", "half"]),
    ] {
        for value in values {
            let (text, form) = refused(key, value);
            assert!(text.ends_with(&format!("accepted: {form}")), "{text}");
        }
    }
}

#[test]
fn parameters_of_oversubscription_that_contradict_others_are_refused() {
    for (parameters, want) in [
        (
            [("oversubscribe", "on"), ("mode", "observe")],
            "parameter oversubscribe=\"on\" contradicts mode=\"observe\", in which no GPU is handed out; accepted: off",
        ),
        (
            [("idle_window", "10secs"), ("sample_interval", "11secs")],
            "parameter idle_window=\"10secs\" is shorter than sample_interval=\"11secs\", so nobody would look in between; \
             accepted: at least the interval",
        ),
    ] {
        let error = config(&parameters, &[]).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ConfigErrorKind::Contradiction, want.to_owned())
        );
    }
    assert!(config(&[("oversubscribe", "off"), ("mode", "observe")], &[]).is_ok());
}
