// SPDX-License-Identifier: Apache-2.0
//! What is withheld of an offer is taken out exactly, kept whole in all else, and there for whoever may have it.

use testbed::Testbed;
use testbed::scheduler::Offer;

use crate::cluster::{PATIENCE, agent, builder, framework, master, no_offer, offer};

fn amounts(offer: &Offer) -> (f64, f64, f64, f64) {
    (offer.gpus(), offer.cpus(), offer.mem(), offer.amount("disk"))
}

#[test]
fn what_is_withheld_is_exact_to_a_thousandth_and_goes_to_another() {
    let bed = Testbed::new().unwrap();
    let parameters = [
        ("policy", "share"),
        ("cpus_per_gpu", "1.001"),
        ("mem_per_gpu", "1000"),
    ];
    let master = master(&bed, &parameters);
    let _agent = agent(&bed);
    let without = framework(&master, "without", "a", false);
    let guest = offer(&without);
    let approximately = |got: f64, want: f64| (got - want).abs() < 1e-6;
    let (gpus, cpus, mem, disk) = amounts(&guest);
    assert!(
        gpus == 0.0 && approximately(cpus, 3.996) && approximately(mem, 4192.0) && disk == 4096.0,
        "{:?}",
        guest.raw()
    );
    let has_ports = |offer: &Offer| offer.resources().iter().any(|one| one["name"] == "ports");
    assert!(has_ports(&guest));

    // The rest is there at once, and nothing else.
    let with = framework(&master, "with", "b", true);
    let rest = offer(&with);
    let (gpus, cpus, mem, disk) = amounts(&rest);
    assert!(
        gpus == 4.0 && approximately(cpus, 4.004) && approximately(mem, 4000.0) && disk == 0.0,
        "{:?}",
        rest.raw()
    );
    with.decline(&rest, 0.0).unwrap();
    without
        .call("SUPPRESS", "suppress", serde_json::json!({}))
        .unwrap();
    without.decline(&guest, 0.0).unwrap();
    let all = with.offer_with(
        &[("gpus", 4.0), ("cpus", 8.0), ("mem", 8192.0), ("disk", 4096.0)],
        PATIENCE,
    );
    assert_eq!(amounts(&all.unwrap()), (4.0, 8.0, 8192.0, 4096.0));
}

#[test]
fn an_offer_of_which_everything_is_withheld_is_not_made() {
    let bed = Testbed::new().unwrap();
    let parameters = [
        ("policy", "share"),
        ("cpus_per_gpu", "2"),
        ("mem_per_gpu", "2048"),
    ];
    let master = master(&bed, &parameters);
    let mut agent = crate::cluster::agent_builder(&bed)
        .resources("cpus:8;mem:8192;disk:0;gpus:4;ports:[]")
        .start()
        .unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    let without = framework(&master, "without", "a", false);
    no_offer(&without, "all of it is what the free GPUs need");
    let with = framework(&master, "with", "b", true);
    assert_eq!(offer(&with).gpus(), 4.0);
}

#[test]
fn what_is_reserved_to_a_role_is_offered_to_it_whatever_else_is_withheld() {
    let bed = Testbed::new().unwrap();
    let parameters = [
        ("policy", "share"),
        ("cpus_per_gpu", "2"),
        ("mem_per_gpu", "2048"),
    ];
    let master = master(&bed, &parameters);
    let agent = agent(&bed);
    let id = agent.id().unwrap();
    master
        .operator()
        .reserve(&id, "a", &[("cpus", 1.5), ("mem", 512.0)])
        .unwrap();
    let without = framework(&master, "without", "a", false);
    let (gpus, cpus, mem, _) = amounts(&offer(&without));
    assert!(gpus == 0.0 && cpus >= 1.5 && mem >= 512.0, "{gpus} {cpus} {mem}");
}

#[test]
fn where_the_operator_switched_mesos_own_filter_off_strict_hides_nothing_and_share_still_does() {
    for (policy, gpus) in [("strict", 4.0), ("share", 0.0)] {
        let bed = Testbed::new().unwrap();
        let mut master = builder(&bed, &[("policy", policy)])
            .flag("filter_gpu_resources", "false")
            .start()
            .unwrap();
        master.wait_ready(PATIENCE).unwrap();
        let _agent = agent(&bed);
        let without = framework(&master, "without", "r", false);
        assert_eq!(offer(&without).gpus(), gpus, "{policy}");
        // What is not so is not said.
        let told = master.log().contains("nothing of agents with GPUs");
        assert!(!told, "{policy}: {}", master.log());
    }
}
