// SPDX-License-Identifier: Apache-2.0
//! This library's own share: the calls that Mesos's containerizer makes of the isolator, made by a process without an agent
//! that has loaded it as an agent does (`testbed isolator-bench`). Each time is from the call until the answer is there, so
//! it holds all that crosses the border to Mesos, the agent thread, the checkpoint, and what the kernel does to device rules.

use std::time::Duration;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use serde::Deserialize;

use super::goal::Goal;
use super::options::Options;
use super::report::{Samples, what};
use crate::images::agents::Setting;
use crate::variant::Variant;
use testbed::{Error, Testbed};

const PATIENCE: Duration = Duration::from_secs(300);
const OURS: Variant = Variant::Ours;
/// Containers with an image; each has a root file system to unpack.
const MOST_IMAGES: usize = 60;
/// What comes before those that count.
const WARM_UP: usize = 5;
/// Of a whole launch, in milliseconds.
const MOST: f64 = 1.0;

/// What the process tells, in microseconds.
#[derive(Deserialize)]
struct Measured {
    create: f64,
    recover: f64,
    launches: Vec<Launched>,
}

#[derive(Deserialize)]
struct Launched {
    gpus: u32,
    image: bool,
    prepare: f64,
    isolate: f64,
    update: f64,
    grow: Option<f64>,
    cleanup: f64,
}

/// Measures launches, growth and cleanup, and a recovery in each round.
pub fn measure(options: &Options, setting: &Setting, samples: &mut Samples) -> Result<(), Error> {
    let bed = Testbed::new()?;
    let roots = Roots::unpack(setting, bed.folder(), WARM_UP + options.native.min(MOST_IMAGES))?;
    let launches = options.native.to_string();
    let flags = [
        ("launches", launches.as_str()),
        ("gpus", "1,2,8"),
        ("roots", &roots.path),
    ];
    let mut bench = setting.agent(OURS, &bed).isolator_bench(&flags, PATIENCE)?;
    let measured = read(&bench.measured()?)?;
    samples.add(
        &what("own share of a start", "ms"),
        OURS,
        measured.create / 1000.0,
    );
    for launched in &measured.launches {
        add(launched, samples);
    }
    let count = options.recovered_native.to_string();
    let nothing = [("launches", None), ("roots", None)];
    bench.again(&[nothing[0], nothing[1], ("leave", Some(count.as_str()))])?;
    #[allow(clippy::cast_precision_loss)] // There are not that many.
    let most = options.recovered_native as f64;
    let recovery =
        what(format!("own share of the recovery of {count} containers"), "ms").goal(Goal::Median(most));
    for _ in 0..options.rounds {
        bench.again(&[
            nothing[0],
            nothing[1],
            ("leave", None),
            ("recover", Some(count.as_str())),
        ])?;
        samples.add(&recovery, OURS, read(&bench.measured()?)?.recover / 1000.0);
    }
    Ok(())
}

fn add(launched: &Launched, samples: &mut Samples) {
    let place = if launched.image { "image" } else { "host" };
    let plural = if launched.gpus == 1 { "" } else { "s" };
    let launch = format!("own share of a launch, {} GPU{plural}, {place}", launched.gpus);
    let whole = launched.prepare + launched.isolate + launched.update;
    let launch = what(launch, "ms").goal(Goal::NinetyNinth(MOST));
    samples.add(&launch, OURS, whole / 1000.0);
    if launched.gpus == 1 {
        let cleanup = what(format!("own share of a cleanup, {place}"), "ms");
        samples.add(&cleanup, OURS, launched.cleanup / 1000.0);
        if let Some(grow) = launched.grow {
            samples.add(&what("own share of a growth", "ms"), OURS, grow / 1000.0);
        }
    }
}

fn read(text: &str) -> Result<Measured, Error> {
    serde_json::from_str(text).map_err(|e| Error::new("read what isolator-bench measured", e))
}

/// Root file systems in memory: what a disk's file system takes to make a file depends on what was deleted there a moment
/// ago.
struct Roots {
    path: String,
}

impl Roots {
    fn unpack(setting: &Setting, folder: &std::path::Path, count: usize) -> Result<Self, Error> {
        let path = folder.join("roots");
        let failed =
            |why: &dyn std::fmt::Display| Error::new(format!("make {} in memory", path.display()), why);
        std::fs::create_dir(&path).map_err(|e| failed(&e))?;
        let kind = Some("tmpfs");
        mount(kind, &path, kind, MsFlags::empty(), None::<&str>).map_err(|e| failed(&e))?;
        let roots = Self {
            path: path.display().to_string(),
        };
        for number in 0..count {
            setting.image.unpack(&path.join(number.to_string()))?;
        }
        Ok(roots)
    }
}

impl Drop for Roots {
    fn drop(&mut self) {
        if let Err(error) = umount2(self.path.as_str(), MntFlags::MNT_DETACH) {
            eprintln!("bench: cannot unmount {}: {error}", self.path);
        }
    }
}
