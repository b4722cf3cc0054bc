// SPDX-License-Identifier: Apache-2.0
//! A driver that hangs, fails, or keeps something to itself.

use crate::story::{Story, quiet, uuid};
use crate::support::agent::id;
use crate::support::nvml::Answer;
use mesos_gpu::domain::estimate::{Doubt, Eviction, GpuSample, Percent, Sample, Verdict};
use mesos_gpu::ports::nvml::NvmlFailure;
use std::time::Duration;

#[test]
fn a_hung_driver_ends_every_offer_is_asked_nothing_more_and_keeps_the_guests_for_a_window() {
    let mut story = Story::idle(2);
    story.guest("g0", 0, 100);
    assert_eq!(story.offered(), [uuid(1)]);
    story.nvml.usual_sample(Answer::Late);
    story.looks(1);
    let asked = story.nvml.sampled();
    story.looks(1);
    assert_eq!(story.offered(), []);
    let silence = Doubt::NoSample("NVML has not answered yet".to_owned());
    assert_eq!(
        story.state.estimate.verdict(&uuid(1)),
        Verdict::Unknown(silence.clone())
    );
    story.looks(11);
    assert_eq!(story.evicted(), []);
    story.looks(2);
    assert_eq!(
        story.evicted(),
        [(uuid(0), vec![id("g0")], Eviction::OwnerUnseen(silence))]
    );
    assert_eq!(
        story.nvml.sampled(),
        asked,
        "one question is under way, and no second"
    );

    // Its late answer says nothing of now; it is asked again, and the window begins anew.
    story
        .nvml
        .usual_sample(Answer::Now(Ok(Sample { gpus: quiet(2) })));
    story.nvml.release_samples(Ok(Sample { gpus: quiet(2) }));
    story.settle();
    let late = Doubt::NoSample("NVML took 70 s for its answer".to_owned());
    assert_eq!(story.state.estimate.verdict(&uuid(1)), Verdict::Unknown(late));
    story.state.guests.remove(&id("g0"));
    story.looks(12);
    assert_eq!(story.offered(), []);
    story.looks(60);
    assert_eq!(story.offered().len(), 2);
}

#[test]
fn every_kind_of_silence_ends_every_offer() {
    let timeout = NvmlFailure::Timeout {
        call: "nvmlDeviceGetUtilizationRates on GPU 0".to_owned(),
        limit: Duration::from_secs(30),
    };
    let library = NvmlFailure::Library {
        library: "libnvidia-ml.so.1".to_owned(),
        reason: "gone".to_owned(),
    };
    let untold = |change: fn(&mut GpuSample)| {
        let mut gpus = quiet(1);
        change(&mut gpus[0]);
        Ok(Sample { gpus })
    };
    for answer in [
        Err(timeout),
        Err(library),
        Ok(Sample::default()),
        untold(|gpu| gpu.utilization = None),
        untold(|gpu| gpu.memory = None),
        untold(|gpu| gpu.processes = None),
        untold(|gpu| gpu.utilization = Percent::told(u32::MAX)),
    ] {
        let mut story = Story::idle(1);
        assert_eq!(story.offered(), [uuid(0)]);
        story.nvml.usual_sample(Answer::Now(answer.clone()));
        story.looks(1);
        assert_eq!(
            (story.offered(), story.resources()),
            (vec![], vec![]),
            "{answer:?}"
        );
        story.looks(100);
        assert_eq!(story.offered(), [], "{answer:?}");
    }
}
