// SPDX-License-Identifier: Apache-2.0
//! The promise of the policies: what a framework is offered depends on its capability, the policy and the agent, and on
//! nothing else. `--nocapture` shows the table.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::thread;

use crate::common::{Allocator, Amounts, Cluster, amounts_of, lacking, options};
use testbed::scheduler::Framework;

/// So long may a framework be without another offer before it has seen all.
const QUIET: u64 = 8;
const AGENTS: [(&str, &str); 5] = [
    ("unreserved", "cpus:4;mem:4096;disk:1024;gpus:2"),
    (
        "reserved",
        "cpus:2;mem:2048;disk:1024;gpus:1;cpus(prod):2;mem(prod):1024;gpus(prod):2",
    ),
    ("taken", "cpus:4;mem:4096;disk:1024;gpus:2"),
    ("zero", "cpus:4;mem:4096;disk:1024;gpus:0"),
    ("chopped", "cpus:4;mem:4096;disk:1024;gpus:2"),
];

/// What is offered of one agent, without and with the capability.
type Cell = [Amounts; 2];

const fn cell(without: (f64, f64, f64), with: (f64, f64, f64)) -> Cell {
    [
        Amounts::new(without.0, without.1, without.2),
        Amounts::new(with.0, with.1, with.2),
    ]
}

const NOTHING: (f64, f64, f64) = (0.0, 0.0, 0.0);

/// Each agent with the role that looks at it. Of the last, the GPUs of all agents count together, since the quota is one.
const ROLES: [(&str, &str); 5] = [
    ("unreserved", "other"),
    ("reserved", "prod"),
    ("taken", "other"),
    ("zero", "other"),
    ("chopped", "chopped"),
];

#[test]
fn ROOT_what_is_offered_follows_from_capability_policy_and_agent() {
    if lacking("table of what is offered") {
        return;
    }
    let hidden = |chopped| {
        [
            cell(NOTHING, (2.0, 4.0, 4096.0)),
            cell(NOTHING, (3.0, 4.0, 3072.0)),
            cell(NOTHING, (0.0, 3.5, 4032.0)),
            cell((0.0, 4.0, 4096.0), (0.0, 4.0, 4096.0)),
            cell(NOTHING, (chopped, 3.5, 4032.0)),
        ]
    };
    let headroom = [("cpus_per_gpu", "1"), ("mem_per_gpu", "512")];
    let with_headroom = |policy| [&[("policy", policy)][..], &headroom].concat();
    let (strict, share, open) = (
        with_headroom("strict"),
        with_headroom("share"),
        with_headroom("open"),
    );
    let columns: [(&str, Allocator<'_>, [Cell; 5]); 4] = [
        // Mesos alone: half a GPU, which nobody can use.
        ("Mesos alone", None, hidden(0.5)),
        ("strict", Some(&strict), hidden(0.0)),
        (
            "share",
            Some(&share),
            [
                cell((0.0, 2.0, 3072.0), (2.0, 4.0, 4096.0)),
                // The reserved, and of the rest what the one unreserved GPU leaves.
                cell((0.0, 3.0, 2560.0), (3.0, 4.0, 3072.0)),
                cell((0.0, 3.5, 4032.0), (0.0, 3.5, 4032.0)),
                cell((0.0, 4.0, 4096.0), (0.0, 4.0, 4096.0)),
                cell((0.0, 2.5, 3520.0), (0.0, 3.5, 4032.0)),
            ],
        ),
        (
            "open",
            Some(&open),
            [
                cell((2.0, 4.0, 4096.0), (2.0, 4.0, 4096.0)),
                cell((3.0, 4.0, 3072.0), (3.0, 4.0, 3072.0)),
                cell((0.0, 3.5, 4032.0), (0.0, 3.5, 4032.0)),
                cell((0.0, 4.0, 4096.0), (0.0, 4.0, 4096.0)),
                cell((0.0, 3.5, 4032.0), (0.0, 3.5, 4032.0)),
            ],
        ),
    ];
    let seen: Vec<[Cell; 5]> = thread::scope(|scope| {
        let columns = columns.iter();
        let all: Vec<_> = columns
            .map(|(_, allocator, _)| scope.spawn(move || look(*allocator)))
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let names = columns.each_ref().map(|(name, _, _)| *name);
    println!("{}", draw(&names, &seen));
    for ((name, _, wanted), seen) in columns.iter().zip(&seen) {
        for (at, (agent, _)) in ROLES.iter().enumerate() {
            assert_eq!(seen[at], wanted[at], "{name}, {agent} agent, without and with");
        }
    }
}

/// One column.
fn look(allocator: Allocator<'_>) -> [Cell; 5] {
    let cluster = Cluster::start(allocator, "100ms", &AGENTS);
    let operator = cluster.master.operator();
    operator.set_quota("chopped", &[], &[("gpus", 1.5)]).unwrap();
    let small = [("cpus", 0.5), ("mem", 64.0)];
    let users = [("taken", 2.0, "user"), ("chopped", 1.0, "chopped")].map(|(host, gpus, role)| {
        let user = cluster.framework(host, role, true);
        cluster.hold(&user, host, "user", &[&small[..], &[("gpus", gpus)]].concat());
        user
    });
    let mut cells = [cell(NOTHING, NOTHING); 5];
    for role in ["other", "prod", "chopped"] {
        for capable in [false, true] {
            cluster.wait_unoffered(&[]);
            let framework =
                Framework::subscribe(cluster.master.address(), &options("probe", role, capable)).unwrap();
            let offers = cluster.offers(&framework, QUIET);
            let offers = offers.iter();
            let offered: Vec<(String, Amounts)> = offers
                .map(|offer| (offer.hostname().to_owned(), Amounts::of(offer.resources())))
                .collect();
            framework.teardown().unwrap();
            for (at, (host, _)) in ROLES.iter().enumerate().filter(|(_, (_, own))| *own == role) {
                let seen = &mut cells[at][usize::from(capable)];
                *seen = amounts_of(&offered, host);
                if role == "chopped" {
                    seen.gpus = offered.iter().fold(0.0, |sum, (_, amounts)| sum + amounts.gpus);
                }
            }
        }
    }
    drop(users);
    cells
}

fn draw(names: &[&str], columns: &[[Cell; 5]]) -> String {
    let mut lines = vec!["offered of one agent: gpus / cpus / mem".to_owned()];
    lines.push(
        format!("{:<11} {:<11}", "agent", "GPUs")
            + &names.iter().map(|name| format!("{name:>18}")).collect::<String>(),
    );
    for (at, (agent, _)) in ROLES.iter().enumerate() {
        for (side, capable) in ["not taken", "taken"].iter().enumerate() {
            let cells = columns.iter().map(|column| {
                let Amounts { gpus, cpus, mem } = column[at][side];
                format!("{:>18}", format!("{gpus} / {cpus} / {mem}"))
            });
            lines.push(format!("{agent:<11} {capable:<11}") + &cells.collect::<String>());
        }
    }
    lines.join("\n")
}
