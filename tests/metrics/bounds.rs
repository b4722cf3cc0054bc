// SPDX-License-Identifier: Apache-2.0
//! Series begin and end with what they are about.

use crate::story::{Story, uuid};
use crate::support::agent::answer;
use crate::support::driver_proc::proc_gpu;
use crate::support::exposition::{of, read};
use crate::support::nvml::{Answer, gpu_sample};
use mesos_gpu::agent::sampling;
use mesos_gpu::domain::estimate::Thresholds;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Every series by name and labels.
fn series(text: &str) -> BTreeSet<String> {
    let samples = read(text).into_iter().flat_map(|family| family.samples);
    samples
        .map(|sample| format!("{}{:?}", sample.name, sample.labels))
        .collect()
}

#[test]
fn a_thousand_containers_leave_no_series_behind() {
    let mut story = Story::with_gpus(4);
    story.tell((0..4).map(|gpu| gpu_sample(&proc_gpu(gpu), 0, 0, &[])).collect());
    story.samples(1);
    let before = series(&story.published());
    let mut most = 0;
    for round in 0..250 {
        let names: Vec<String> = (0..4).map(|n| format!("c{round}-{n}")).collect();
        for name in &names {
            story.launch_for(name, &format!("e-{name}"), 1.0);
        }
        if round % 50 == 0 {
            story.samples(1);
            let text = story.published();
            most = most.max(series(&text).len());
            assert!(names.iter().all(|name| text.contains(name.as_str())));
        }
        for name in &names {
            story.end(name);
        }
    }
    story.samples(1);
    let text = story.published();
    assert_eq!(series(&text), before);
    assert!(!text.contains("container="), "{text}");
    // Three a container that holds one GPU.
    assert_eq!(most, before.len() + 4 * 3);
}

#[test]
fn a_container_that_waits_is_told_and_is_no_longer_when_it_has_what_it_waited_for() {
    let mut story = Story::with_gpus(1);
    story.launch_for("a", "first", 1.0);
    // Its process is still there.
    story.processes(&[(0, &[77])]);
    story.end("a");
    story.make_cgroup("b");
    let waits = story.prepare_later(
        &crate::support::agent::id("b"),
        &crate::support::agent::config(1.0),
    );
    assert_eq!(
        story.value("mesos_gpu_releasing", &[("gpu", &uuid(0))]),
        Some(1.0)
    );
    assert_eq!(
        story.value("mesos_gpu_container_waiting", &[("container", "b")]),
        Some(1.0)
    );
    assert_eq!(story.value("mesos_gpu_waiting", &[]), Some(1.0));
    assert_eq!(story.value("mesos_gpu_waited_for", &[]), Some(1.0));
    story.processes(&[]);
    story.pass(Duration::from_secs(5));
    answer(&waits).unwrap();
    let text = story.published();
    assert_eq!(of(&read(&text), "mesos_gpu_container_waiting"), Vec::<&_>::new());
    assert_eq!(
        story.value("mesos_gpu_container_gpu", &[("container", "b")]),
        Some(1.0)
    );
}

#[test]
fn many_changes_at_once_are_one_file() {
    let mut story = Story::with_gpus(2);
    story.published();
    let before = (story.metrics.count(), story.jobs.count());
    for round in 0..50 {
        let name = format!("c{round}");
        story.launch_for(&name, "e", 2.0);
        story.end(&name);
    }
    story.launch_for("last", "e", 1.0);
    assert_eq!(
        (story.metrics.count(), story.jobs.count()),
        before,
        "no launch pays for it"
    );
    story.published();
    assert_eq!(story.metrics.count(), before.0 + 1);
}

#[test]
fn the_metrics_and_the_estimate_ask_nvml_one_question_for_both() {
    let mut story = Story::with_gpus(1);
    let seconds = Arc::clone(&story.seconds);
    let clock = Box::new(move || Duration::from_secs(seconds.load(Ordering::SeqCst)));
    story.state.estimate = sampling::Estimation::on(Thresholds::default(), clock);
    story.launch_for("c0", "e", 1.0);
    story.tell(vec![gpu_sample(&proc_gpu(0), 0, 0, &[])]);
    story.samples(13);
    assert_eq!(story.nvml.sampled(), 13);
    assert_eq!(sampling::offerable(&story.state, 0), [proc_gpu(0).uuid]);
    assert_eq!(
        story.value("mesos_gpu_container_utilization_ratio", &[]),
        Some(0.0)
    );
}

#[test]
fn a_panic_over_the_metrics_costs_the_metrics_and_no_gpu() {
    let mut story = Story::with_gpus(1);
    story.metrics.break_down();
    story.launch_for("a", "e", 1.0);
    story.samples(2);
    story.pass(Duration::from_secs(1));
    story.end("a");
    story.launch_for("b", "e", 1.0);
    story.state.sound().unwrap();
}

#[test]
fn there_are_as_many_lines_as_the_documentation_says() {
    let lines = |gpus: u8, containers: u8| {
        let mut story = Story::with_gpus(gpus);
        story.tell(
            (0..gpus)
                .map(|gpu| gpu_sample(&proc_gpu(gpu), 0, 0, &[]))
                .collect(),
        );
        for n in 0..containers {
            story.launch_for(&format!("c{n}"), "e", 1.0);
        }
        story.samples(1);
        series(&story.published()).len()
    };
    let (none, one, used) = (lines(1, 0), lines(2, 0), lines(2, 2));
    assert!((145..155).contains(&(2 * none - one)), "{none} {one}");
    assert!(one - none <= 12, "{none} {one}");
    assert_eq!(used - one, 2 * 3);
    let chapter = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md")).unwrap();
    assert!(
        chapter.contains("has some 150 lines, at most 12 more a GPU, three for each GPU of each container")
    );
}

#[test]
fn without_metrics_and_oversubscription_nvml_is_never_asked_for_a_sample() {
    let mut story = Story::with_gpus(1);
    story.state.readings = sampling::Readings::off();
    sampling::watch(&mut story.agent.state);
    story.pass(Duration::from_secs(3600));
    assert_eq!(story.nvml.sampled(), 0);
    assert_eq!(story.value("mesos_gpu_nvml_up", &[]), None);
    story.nvml.usual_sample(Answer::Never);
    story.launch_for("c0", "e", 1.0);
    assert_eq!(
        story.value("mesos_gpu_container_gpu", &[]),
        Some(1.0),
        "the books are told"
    );
}
