// SPDX-License-Identifier: Apache-2.0
//! Quota and weights: what an operator says of roles.

use std::time::{Duration, Instant};

use serde_json::json;
use testbed::Testbed;

use crate::cluster::{PATIENCE, agent, builder, framework, master, offer, operate};

#[test]
fn a_quota_limits_what_a_role_is_offered_also_after_the_master_restarts() {
    let bed = Testbed::new().unwrap();
    let mut master = builder(&bed, &[("policy", "share")])
        // The registry that survives.
        .flag("registry", "replicated_log")
        .flag("quorum", "1")
        .flag("allocator_recovery_timeout", "2secs")
        // An agent looks for a new master when the old one has been silent for this long.
        .flag("agent_ping_timeout", "1secs")
        .flag("max_agent_ping_timeouts", "2")
        .start()
        .unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let quota =
        json!({"quota_configs": [{"role": "r", "limits": {"gpus": {"value": 2.0}, "cpus": {"value": 3.0}}}]});
    operate(&master, "UPDATE_QUOTA", quota);
    let mut agent = agent(&bed);
    let before = framework(&master, "before", "r", true);
    let limited = offer(&before);
    assert_eq!(
        (limited.gpus(), limited.cpus(), limited.mem()),
        (2.0, 3.0, 8192.0)
    );

    master.kill9().unwrap();
    master.restart().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    let after = framework(&master, "after", "r", true);
    let limited = offer(&after);
    assert_eq!(
        (limited.gpus(), limited.cpus(), limited.mem()),
        (2.0, 3.0, 8192.0)
    );
}

#[test]
fn a_weight_decides_who_is_offered_first() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    let weights =
        json!({"weight_infos": [{"role": "heavy", "weight": 100.0}, {"role": "light", "weight": 1.0}]});
    operate(&master, "UPDATE_WEIGHTS", weights);
    let answer = operate(&master, "GET_WEIGHTS", json!(null));
    assert_eq!(
        answer["get_weights"]["weight_infos"].as_array().map(Vec::len),
        Some(2),
        "{answer}"
    );
    let (heavy, light) = (
        framework(&master, "heavy", "heavy", true),
        framework(&master, "light", "light", true),
    );
    // One agent after the other goes to the role with the lower share by its weight; with equal weights each role
    // would have two.
    let end = Instant::now() + PATIENCE;
    let (mut of_heavy, mut of_light) = (0, 0);
    let mut agents = Vec::new();
    for offered in 1..=4 {
        agents.push(agent(&bed));
        while of_heavy + of_light < offered {
            assert!(Instant::now() < end, "{}", master.log());
            let short = Duration::from_millis(50);
            of_heavy += usize::from(heavy.next_offer(short).is_ok());
            of_light += usize::from(light.next_offer(short).is_ok());
        }
    }
    assert_eq!((of_heavy, of_light), (3, 1));
}
