// SPDX-License-Identifier: Apache-2.0
//! `Images` without a file system: it remembers what was wanted, and fits at once.

use super::agent::{FakeAgent, answer, id};
use super::nvml::{nvml_gpu, survey};
use mesos_gpu::agent::settings::ImageSettings;
use mesos_gpu::domain::driver_file::DRIVER_FOLDER;
use mesos_gpu::domain::image::injection::DriverFilesPolicy;
use mesos_gpu::domain::mount::Mount;
use mesos_gpu::isolator;
use mesos_gpu::ports::driver_proc::DriverProc;
use mesos_gpu::ports::images::{Done, DriverOutfit, Images, NodeWant, Outfit, Shown, Want};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What operators get who set nothing.
pub fn image_settings() -> ImageSettings {
    ImageSettings {
        driver_files: DriverFilesPolicy::Asked,
        cuda_compat: true,
        requirements: true,
        sandbox: "/mnt/mesos/sandbox".to_owned(),
    }
}

impl FakeAgent {
    /// `isolate`.
    pub fn isolate(&mut self, name: &str, pid: u32) {
        let told = self.ask(|state, reply| isolator::isolate::isolate(state, &id(name), pid, &reply));
        answer(&told).unwrap();
    }

    /// What NVML tells of products at the agent's start.
    pub fn learn_products(&mut self) {
        let gpus = self.driver.read().gpus;
        let listed = gpus.iter().zip(0..).map(|(gpu, index)| nvml_gpu(index, gpu));
        let survey = survey("580.159.04", listed.collect());
        self.state.products.learn(&survey);
    }
}

/// What the fake was told, and what it answers.
#[derive(Default)]
struct Inner {
    wanted: Vec<Want>,
    shown: Vec<(u32, Vec<NodeWant>)>,
    ended: Vec<String>,
    refusal: Option<String>,
    holds: bool,
    held: Vec<Box<dyn FnOnce() + Send>>,
}

/// Images. Clones are the same.
#[derive(Clone, Default)]
pub struct FakeImages(Arc<Mutex<Inner>>);

impl FakeImages {
    /// From now on nothing can be fitted, for this reason.
    pub fn refuse(&self, why: &str) {
        self.0.lock().unwrap().refusal = Some(why.to_owned());
    }

    /// From now on a fit takes until [`Self::go_on`].
    pub fn hold(&self) {
        self.0.lock().unwrap().holds = true;
    }

    /// Ends [`Self::hold`].
    pub fn go_on(&self) {
        let held = {
            let mut inner = self.0.lock().unwrap();
            inner.holds = false;
            std::mem::take(&mut inner.held)
        };
        for answer in held {
            answer();
        }
    }

    /// What was wanted so far.
    pub fn wanted(&self) -> Vec<Want> {
        self.0.lock().unwrap().wanted.clone()
    }

    /// The nodes that were shown to running containers, by their first process.
    pub fn shown(&self) -> Vec<(u32, Vec<NodeWant>)> {
        self.0.lock().unwrap().shown.clone()
    }

    /// The containers that ended.
    pub fn ended_so_far(&self) -> Vec<String> {
        self.0.lock().unwrap().ended.clone()
    }
}

/// The driver first, then the nodes.
fn outfit(want: &Want) -> Outfit {
    let bind = |source: PathBuf, target: &str, recursive| Mount {
        source,
        target: want.root.join(target.trim_start_matches('/')),
        recursive,
        read_only: !recursive,
    };
    let driver = want
        .driver
        .iter()
        .map(|_| bind("/run/driver".into(), DRIVER_FOLDER, true));
    let node = |node: &NodeWant| {
        bind(
            PathBuf::from("/run/nodes").join(&node.path),
            &format!("/dev/{}", node.path),
            false,
        )
    };
    Outfit {
        mounts: driver.chain(want.nodes.iter().map(node)).collect(),
        driver: want.driver.as_ref().map(|_| DriverOutfit::default()),
        notes: Vec::new(),
    }
}

impl Images for FakeImages {
    fn fit(&self, want: Want, done: Done) {
        let answer = {
            let mut inner = self.0.lock().unwrap();
            inner.wanted.push(want.clone());
            let answer = inner.refusal.clone().map_or_else(|| Ok(outfit(&want)), Err);
            if inner.holds {
                return inner.held.push(Box::new(move || done(answer)));
            }
            answer
        };
        done(answer);
    }

    fn show(&self, process: u32, nodes: Vec<NodeWant>, shown: Shown) {
        let refusal = {
            let mut inner = self.0.lock().unwrap();
            inner.shown.push((process, nodes));
            inner.refusal.clone()
        };
        shown(refusal.map_or(Ok(()), Err));
    }

    fn ended(&self, container: &str) {
        self.0.lock().unwrap().ended.push(container.to_owned());
    }
}
