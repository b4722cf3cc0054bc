// SPDX-License-Identifier: Apache-2.0
//! Agents that are deactivated, come back, change and go.

use serde_json::json;
use testbed::Testbed;

use crate::cluster::{PATIENCE, agent, framework, master, no_offer, offer, operate};

#[test]
fn a_deactivated_agent_is_not_offered_until_it_is_reactivated() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    let agent = agent(&bed);
    let body = json!({"agent_id": {"value": agent.id().unwrap()}});
    operate(&master, "DEACTIVATE_AGENT", body.clone());
    let gpus = framework(&master, "gpus", "r", true);
    no_offer(&gpus, "its agent is deactivated");
    operate(&master, "REACTIVATE_AGENT", body);
    assert_eq!(offer(&gpus).gpus(), 4.0);
}

#[test]
fn an_agent_that_is_gone_is_not_offered_and_another_is() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    let first = agent(&bed);
    let gone = first.id().unwrap();
    let gpus = framework(&master, "gpus", "r", true);
    assert_eq!(offer(&gpus).agent_id(), gone);
    operate(&master, "MARK_AGENT_GONE", json!({"agent_id": {"value": gone}}));
    no_offer(&gpus, "its agent is gone");
    let second = agent(&bed);
    assert_eq!(offer(&gpus).agent_id(), second.id().unwrap());
}

#[test]
fn an_agent_that_comes_back_with_more_is_offered_with_more() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    let mut agent = agent(&bed);
    let gpus = framework(&master, "gpus", "r", true);
    let first = offer(&gpus);
    assert_eq!(first.gpus(), 4.0);
    agent
        .restart_with(&[
            ("resources", Some("cpus:8;mem:8192;disk:4096;gpus:6")),
            ("reconfiguration_policy", Some("additive")),
        ])
        .unwrap();
    assert_eq!(agent.wait_registered(PATIENCE).unwrap(), first.agent_id());
    gpus.decline(&first, 0.0).ok();
    assert_eq!(gpus.offer_with(&[("gpus", 6.0)], PATIENCE).unwrap().gpus(), 6.0);
}
