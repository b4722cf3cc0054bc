// SPDX-License-Identifier: Apache-2.0
//! Frameworks that come, fail over, change, keep silent and go.

use serde_json::json;
use testbed::Testbed;
use testbed::http::Client;
use testbed::recordio::Records;
use testbed::scheduler::Framework;

use crate::cluster::{PATIENCE, agent, builder, framework, master, no_offer, offer, options, wait_log};

#[test]
fn suppressed_offers_stop_and_revived_ones_come_back() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    let _agent = agent(&bed);
    let gpus = framework(&master, "gpus", "r", true);
    let first = offer(&gpus);
    gpus.call("SUPPRESS", "suppress", json!({"roles": ["r"]}))
        .unwrap();
    wait_log(&master, "Suppressed offers for roles { r }");
    gpus.decline(&first, 0.0).unwrap();
    no_offer(&gpus, "its role is suppressed");
    gpus.revive().unwrap();
    assert_eq!(offer(&gpus).gpus(), 4.0);
}

#[test]
fn a_request_reaches_the_inner_allocator() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    let gpus = framework(&master, "gpus", "r", true);
    gpus.call("REQUEST", "request", json!({"requests": [{}]}))
        .unwrap();
    wait_log(
        &master,
        &format!("Received resource request from framework {}", gpus.id()),
    );
}

#[test]
fn a_framework_fails_over_and_another_gets_what_the_one_that_goes_had() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    let _agent = agent(&bed);
    let before = framework(&master, "gpus", "r", true);
    assert_eq!(offer(&before).gpus(), 4.0);
    let mut again = options("gpus", "r", true);
    again.id = Some(before.id().to_owned());
    let after = Framework::subscribe(master.address(), &again).unwrap();
    assert_eq!(offer(&after).gpus(), 4.0);

    let other = framework(&master, "other", "q", true);
    after.teardown().unwrap();
    assert_eq!(offer(&other).gpus(), 4.0);
}

#[test]
fn a_framework_that_gains_the_capability_is_offered_gpus() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "strict")]);
    let _agent = agent(&bed);
    let without = framework(&master, "f", "r", false);
    no_offer(&without, "strict hides a GPU agent");
    let mut again = options("f", "r", true);
    again.id = Some(without.id().to_owned());
    let with = Framework::subscribe(master.address(), &again).unwrap();
    assert_eq!(offer(&with).gpus(), 4.0);
}

#[test]
fn a_framework_that_lost_its_connection_is_inactive_until_it_is_back() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    // Subscribed without our framework, whose thread would keep the connection.
    let info = json!({"user": "root", "name": "gpus", "roles": ["r"], "failover_timeout": 600.0,
        "capabilities": [{"type": "MULTI_ROLE"}, {"type": "GPU_RESOURCES"}]});
    let subscribe = json!({"type": "SUBSCRIBE", "subscribe": {"framework_info": info}});
    let client = Client::new(master.address());
    let stream = client.stream("/api/v1/scheduler", &subscribe, "application/json", &[]);
    let mut records = Records::new(stream.unwrap().reader);
    let subscribed: serde_json::Value =
        serde_json::from_slice(&records.next_record().unwrap().unwrap()).unwrap();
    let id = subscribed["subscribed"]["framework_id"]["value"]
        .as_str()
        .unwrap();
    drop(records);
    wait_log(&master, &format!("Deactivated framework {id}"));

    let _agent = agent(&bed);
    let other = framework(&master, "other", "q", true);
    let first = offer(&other);
    assert_eq!(first.gpus(), 4.0);
    let mut again = options("gpus", "r", true);
    again.id = Some(id.to_owned());
    let back = Framework::subscribe(master.address(), &again).unwrap();
    wait_log(&master, &format!("Activated framework {id}"));
    other.decline(&first, 600.0).unwrap();
    assert_eq!(offer(&back).gpus(), 4.0);
}

#[test]
fn only_whitelisted_hosts_are_offered() {
    let bed = Testbed::new().unwrap();
    let whitelist = bed.folder().join("whitelist");
    std::fs::write(&whitelist, "elsewhere\n").unwrap();
    let mut master = builder(&bed, &[("policy", "share")])
        .flag("whitelist", whitelist.display().to_string())
        .start()
        .unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let _agent = agent(&bed);
    let gpus = framework(&master, "gpus", "r", true);
    no_offer(&gpus, "its host is not on the list");
    // The master looks at the file every five seconds.
    std::fs::write(&whitelist, "localhost\n").unwrap();
    assert_eq!(offer(&gpus).gpus(), 4.0);
}
