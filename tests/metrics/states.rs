// SPDX-License-Identifier: Apache-2.0
//! What the books say of each GPU, also where two things are true of it.

use crate::story::{Story, uuid};
use crate::support::driver_proc::proc_gpu;
use crate::support::exposition::{self, of, read};

#[test]
fn a_gpu_that_fell_ill_with_its_holder_is_sick_and_held_and_one_of_strangers_is_foreign() {
    let mut story = Story::with_gpus(3);
    story.launch_for("c0", "e", 1.0);
    story
        .state
        .ledger
        .set_sick(&proc_gpu(0).uuid, Some("it is lost".to_owned()));
    story
        .state
        .ledger
        .set_sick(&proc_gpu(1).uuid, Some("it is lost".to_owned()));
    story
        .state
        .ledger
        .set_foreign(&proc_gpu(2).uuid, Some("processes [7]".to_owned()));
    story.state.show();
    let text = story.published();
    let of_each =
        |name: &str| [0, 1, 2].map(|gpu| exposition::value(&text, name, &[("gpu", &uuid(gpu))]).unwrap());
    assert_eq!(of_each("mesos_gpu_held"), [1.0, 0.0, 0.0]);
    assert_eq!(of_each("mesos_gpu_sick"), [1.0, 1.0, 0.0]);
    assert_eq!(of_each("mesos_gpu_foreign"), [0.0, 0.0, 1.0]);
    assert_eq!(of_each("mesos_gpu_releasing"), [0.0, 0.0, 0.0]);
    let set_aside = of(&read(&text), "mesos_gpu_set_aside")
        .iter()
        .map(|sample| sample.labels["uuid"].clone())
        .collect::<Vec<_>>();
    assert_eq!(set_aside, [uuid(1)]);
}
