// SPDX-License-Identifier: Apache-2.0
//! Reservations and tasks: what changes who holds what of an agent.

use serde_json::{Value, json};
use testbed::Testbed;
use testbed::scheduler::{Offer, Task};

use crate::cluster::{PATIENCE, agent, framework, master, offer, operate};

/// How many GPUs of an offer are reserved to a role, as a framework is told that does not refine reservations.
fn reserved(offer: &Offer, role: &str) -> f64 {
    let of_role = |one: &&Value| one["name"] == "gpus" && one["role"] == role;
    let amounts = offer.resources().iter().filter(of_role);
    amounts.filter_map(|one| one["scalar"]["value"].as_f64()).sum()
}

fn reservation(role: &str) -> Value {
    json!([{"name": "gpus", "type": "SCALAR", "scalar": {"value": 2.0},
        "reservations": [{"type": "DYNAMIC", "role": role}]}])
}

#[test]
fn an_operator_reserves_and_unreserves_gpus() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    let agent = agent(&bed);
    let id = agent.id().unwrap();
    master.operator().reserve(&id, "r", &[("gpus", 2.0)]).unwrap();
    let gpus = framework(&master, "gpus", "r", true);
    let first = offer(&gpus);
    assert_eq!(
        (first.gpus(), reserved(&first, "r")),
        (4.0, 2.0),
        "{:?}",
        first.raw()
    );
    let body = json!({"agent_id": {"value": id}, "resources": reservation("r")});
    operate(&master, "UNRESERVE_RESOURCES", body);
    // The master rescinds what it needs for it.
    gpus.decline(&first, 0.0).ok();
    loop {
        let next = offer(&gpus);
        if reserved(&next, "r") == 0.0 {
            assert_eq!(next.gpus(), 4.0);
            break;
        }
        gpus.decline(&next, 0.0).ok();
    }
}

#[test]
fn a_framework_reserves_gpus_of_its_offer() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    let _agent = agent(&bed);
    let gpus = framework(&master, "gpus", "r", true);
    let first = offer(&gpus);
    let mut resources = reservation("r");
    resources[0]["allocation_info"] = json!({"role": "r"});
    let reserve = json!({"type": "RESERVE", "reserve": {"resources": resources}});
    gpus.accept(&[&first], vec![reserve], 0.0).unwrap();
    let next = offer(&gpus);
    assert_eq!(
        (next.gpus(), reserved(&next, "r")),
        (4.0, 2.0),
        "{:?}",
        next.raw()
    );
}

#[test]
fn a_task_takes_gpus_and_gives_them_back() {
    let bed = Testbed::new().unwrap();
    let master = master(&bed, &[("policy", "share")]);
    let _agent = agent(&bed);
    let gpus = framework(&master, "gpus", "r", true);
    let task = Task::new("t", "sleep 1000").resources(&[("cpus", 1.0), ("mem", 64.0), ("gpus", 1.0)]);
    gpus.launch(&offer(&gpus), &[task]).unwrap();
    let running = gpus.wait_state("t", "TASK_RUNNING", PATIENCE).unwrap();
    let rest = offer(&gpus);
    assert_eq!(rest.gpus(), 3.0);
    gpus.decline(&rest, 0.0).unwrap();
    gpus.kill("t", &running.agent_id.unwrap()).unwrap();
    gpus.wait_terminal("t", PATIENCE).unwrap();
    let all = gpus
        .offer_with(&[("gpus", 4.0), ("cpus", 8.0)], PATIENCE)
        .unwrap();
    assert_eq!((all.gpus(), all.cpus(), all.mem()), (4.0, 8.0, 8192.0));
}
