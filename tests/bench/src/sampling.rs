// SPDX-License-Identifier: Apache-2.0
//! What oversubscription costs the agent thread: `bench sampling [--rounds=N] [--json=FILE]`.
//!
//! On the agent thread that is to read the books, to judge, and to answer Mesos. Beside it, on the thread that NVML answers on,
//! the kernel is asked whose each process is; the processes are real, four on each of 16 GPUs. 200 containers are there,
//! which all hold something in the worst case and of which 16 do in the usual one. NVML itself is not measured.

mod setting;

use crate::output::{self, Row};
use crate::rounds::milliseconds;
use crate::stats::Summary;
use mesos_gpu::domain::estimate::{Sample, books};
use mesos_gpu::wire::{Resource, Resources};
pub use setting::Case;
use setting::Setting;
use std::hint::black_box;
use std::time::Instant;
use testbed::Error;

/// The sub-command.
pub fn main(arguments: &[String]) -> Result<(), Error> {
    let (mut rounds, mut json) = (500, None);
    for argument in arguments {
        let wrong = || {
            let usage = "usage: bench sampling [--rounds=N] [--json=FILE], N at least 1";
            Error::new(format!("take the argument {argument:?}"), usage)
        };
        match argument.split_once('=') {
            Some(("--rounds", text)) => rounds = text.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
            Some(("--json", file)) => json = Some(file.to_owned()),
            _ => return Err(wrong()),
        }
    }
    let mut rows = Vec::new();
    for case in Case::ALL {
        rows.extend(self::rows(case, &measure(case, rounds)?));
    }
    println!(
        "{:<22} {:<36} {:>5} {:>9} {:>21} {:>9}",
        "what", "variant", "n", "median", "quartiles", "most"
    );
    for row in &rows {
        let summary = &row.summary;
        println!(
            "{:<22} {:<36} {:>5} {:>6.3} {} {:>9.3} - {:>9.3} {:>9.3}",
            row.what,
            row.variant,
            summary.n,
            summary.median,
            row.unit,
            summary.first_quartile,
            summary.third_quartile,
            summary.most
        );
    }
    output::write(&rows, json.as_deref())
}

/// The figures of one case, in milliseconds.
#[derive(Debug, Default)]
pub struct Taken {
    /// All that the agent thread does at a look.
    pub looks: Vec<f64>,
    /// An answer to Mesos.
    pub answers: Vec<f64>,
    /// On the other thread: whose each process is.
    pub asked: Vec<f64>,
}

/// Measures a case.
pub fn measure(case: Case, rounds: usize) -> Result<Taken, Error> {
    let mut setting = Setting::new(case)?;
    let mut taken = Taken::default();
    for _ in 0..rounds {
        setting.pass();
        let sample: Sample = setting.sample.clone();
        let begin = Instant::now();
        let owners = setting.owners();
        taken.asked.push(milliseconds(begin));

        let begin = Instant::now();
        setting.look(black_box(&sample), owners);
        taken.looks.push(milliseconds(begin));

        let begin = Instant::now();
        let now = books(&setting.units, &setting.ledger, &setting.guests);
        let count = setting.estimation.offerable(&now, 0).len();
        let resources = Resource::revocable_gpus(count).into_iter().collect();
        let bytes = prost::Message::encode_to_vec(&Resources { resources });
        black_box(bytes);
        taken.answers.push(milliseconds(begin));
    }
    Ok(taken)
}

fn rows(case: Case, taken: &Taken) -> [Row; 3] {
    let row = |what, figures: &[f64]| Row {
        what,
        unit: "ms",
        variant: case.name(),
        summary: Summary::of(figures),
    };
    [
        row("a look", &taken.looks),
        row("an answer to Mesos", &taken.answers),
        row("(other thread) whose", &taken.asked),
    ]
}
