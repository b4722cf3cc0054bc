// SPDX-License-Identifier: Apache-2.0
//! Maintenance: offers with an end, inverse offers, and what frameworks answer to them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testbed::{Master, Testbed};

use crate::cluster::{PATIENCE, agent, framework, master, offer, operate};

fn statuses(master: &Master) -> Value {
    operate(master, "GET_MAINTENANCE_STATUS", json!(null))["get_maintenance_status"]["status"]
        ["draining_machines"][0]["statuses"]
        .clone()
}

#[test]
fn a_schedule_reaches_offers_and_answers_to_inverse_offers_come_back() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    let _agent = agent(&bed);
    let gpus = framework(&master, "gpus", "r", true);
    // Only who holds something is asked to leave it.
    let held = offer(&gpus);
    let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(3600);
    let nanoseconds = u64::try_from(start.as_nanos()).unwrap();
    let unavailability =
        json!({"start": {"nanoseconds": nanoseconds}, "duration": {"nanoseconds": 3_600_000_000_000u64}});
    let machines = json!([{"hostname": "localhost", "ip": "127.0.0.1"}]);
    let windows = json!([{"machine_ids": machines, "unavailability": unavailability}]);
    operate(
        &master,
        "UPDATE_MAINTENANCE_SCHEDULE",
        json!({"schedule": {"windows": windows}}),
    );

    let inverse = gpus.next_inverse_offer(PATIENCE).unwrap();
    assert_eq!(
        inverse["unavailability"]["start"]["nanoseconds"], nanoseconds,
        "{inverse}"
    );
    let accept = json!({"inverse_offer_ids": [inverse["id"]], "filters": {"refuse_seconds": 600.0}});
    gpus.call("ACCEPT_INVERSE_OFFERS", "accept_inverse_offers", accept)
        .unwrap();
    let end = Instant::now() + PATIENCE;
    while statuses(&master)[0]["status"] != "ACCEPT" {
        assert!(Instant::now() < end, "{}\n{}", statuses(&master), master.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(statuses(&master)[0]["framework_id"]["value"], gpus.id());

    gpus.decline(&held, 0.0).ok();
    let next = gpus.offer_with(&[("gpus", 4.0)], PATIENCE).unwrap();
    assert_eq!(
        next.raw()["unavailability"]["start"]["nanoseconds"],
        nanoseconds,
        "{}",
        next.raw()
    );
    operate(
        &master,
        "UPDATE_MAINTENANCE_SCHEDULE",
        json!({"schedule": {"windows": []}}),
    );
    gpus.decline(&next, 0.0).ok();
    loop {
        let next = offer(&gpus);
        if next.raw().get("unavailability").is_none() {
            break;
        }
        gpus.decline(&next, 0.0).ok();
    }
}
