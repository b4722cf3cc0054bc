// SPDX-License-Identifier: Apache-2.0
//! The status, for people and for machines.

use super::{Line, Witnesses};
use crate::tool::finding::{self, Finding};
use crate::tool::list::names;
use crate::tool::machine::holders::Written;
use crate::tool::table::{Cell, Tone, table};
use serde_json::{Value, json as object};

/// For people: a table, and what contradicts.
pub fn text(witnesses: &Witnesses, findings: &[Finding], colour: bool) -> String {
    let head = [
        "INDEX",
        "MINOR",
        "UUID",
        "HOLDER",
        "GUESTS",
        "KERNEL",
        "PROCESSES",
    ];
    let rows: Vec<Vec<Cell>> = witnesses
        .lines()
        .iter()
        .map(|line| cells(witnesses, line))
        .collect();
    table(&head, &rows, colour) + &finding::text(findings, colour)
}

fn cells(witnesses: &Witnesses, line: &Line) -> Vec<Cell> {
    let number = |number: Option<String>| Cell::plain(number.unwrap_or_else(|| "-".to_owned()));
    let known = |containers: &[_], is_known: bool| match names(containers) {
        _ if !is_known => Cell::of("?", Tone::Faint),
        none if none.is_empty() => Cell::plain("-"),
        some => Cell::plain(some),
    };
    let processes: Vec<String> = line.processes.iter().map(|(pid, _)| pid.to_string()).collect();
    let nothing = processes.is_empty();
    vec![
        number(line.index.map(|index| index.to_string())),
        number(line.minor.map(|minor| minor.to_string())),
        Cell::plain(line.id.as_str()),
        known(&line.written, is_known(&witnesses.written)),
        known(&line.guests, is_known(&witnesses.written)),
        known(&line.granted, witnesses.granted.is_ok()),
        Cell::plain(if nothing {
            "-".to_owned()
        } else {
            processes.join(", ")
        }),
    ]
}

fn is_known(written: &Written) -> bool {
    matches!(written, Written::Record(_) | Written::EarlierBoot)
}

/// For machines.
pub fn json(witnesses: &Witnesses, findings: &[Finding]) -> Value {
    let gpus: Vec<Value> = witnesses
        .lines()
        .iter()
        .map(|line| one(witnesses, line))
        .collect();
    object!({ "gpus": gpus, "findings": finding::json(findings) })
}

fn one(witnesses: &Witnesses, line: &Line) -> Value {
    let texts = |containers: &[crate::domain::container::ContainerId]| -> Vec<String> {
        containers.iter().map(ToString::to_string).collect()
    };
    let processes = line.processes.iter().map(
        |(pid, container)| object!({ "pid": pid, "container": container.as_ref().map(ToString::to_string) }),
    );
    object!({
        "index": line.index,
        "minor": line.minor,
        "uuid": line.id.as_str(),
        "holders": is_known(&witnesses.written).then(|| texts(&line.written)),
        "guests": is_known(&witnesses.written).then(|| texts(&line.guests)),
        "kernel": witnesses.granted.is_ok().then(|| texts(&line.granted)),
        "processes": processes.collect::<Vec<Value>>(),
    })
}
