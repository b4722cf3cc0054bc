// SPDX-License-Identifier: Apache-2.0
//! What an agent that does nothing takes of a processor, by the kernel's own count of its time.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use super::fleet::Fleet;
use super::goal::Goal;
use super::options::Options;
use super::report::{Samples, what};
use crate::images::agents::Setting;
use testbed::{Agent, Error};

/// What follows a start is over by then, where the time that is looked at is longer.
const SETTLED: Duration = Duration::from_secs(5);
/// The time is cut into so many parts, to see how it varies.
const WINDOWS: u32 = 6;
/// In percent of one processor.
const MOST: f64 = 0.1;

/// Measures all three at the same time.
pub fn measure(options: &Options, setting: &Setting, samples: &mut Samples) -> Result<(), Error> {
    let name = format!("processor of an idle agent, {} s", options.idle);
    let what = what(name, "%").goal(Goal::MoreThanNone(MOST));
    let mut fleet = Fleet::start(setting)?;
    let idle = Duration::from_secs(options.idle);
    std::thread::sleep(SETTLED.min(idle));
    let clocks = fleet.agents.iter().map(|(_, agent)| clock(agent));
    let clocks = clocks.collect::<Result<Vec<_>, _>>()?;
    for _ in 0..WINDOWS {
        let begin = Instant::now();
        let before = clocks
            .iter()
            .map(|clock| seconds(*clock))
            .collect::<Result<Vec<_>, _>>()?;
        std::thread::sleep(idle / WINDOWS);
        for (((variant, _), clock), before) in fleet.agents.iter().zip(&clocks).zip(before) {
            let used = seconds(*clock)? - before;
            samples.add(&what, *variant, used / begin.elapsed().as_secs_f64() * 100.0);
        }
    }
    fleet.end()
}

/// Counts what all threads of an agent use, also those that end meanwhile.
fn clock(agent: &Agent) -> Result<ClockId, Error> {
    let failed = |why: &dyn std::fmt::Display| Error::new("find the clock of an agent's processor time", why);
    let pid = i32::try_from(agent.pid()).map_err(|e| failed(&e))?;
    clock_getcpuclockid(Pid::from_raw(pid)).map_err(|e| failed(&e))
}

fn seconds(clock: ClockId) -> Result<f64, Error> {
    let time = clock_gettime(clock).map_err(|e| Error::new("read an agent's processor time", e))?;
    Ok(Duration::from(time).as_secs_f64())
}
