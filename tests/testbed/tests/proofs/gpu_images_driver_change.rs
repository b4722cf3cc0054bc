// SPDX-License-Identifier: Apache-2.0
//! A driver that is replaced while containers use the old one, agents that share a host, agents that are killed: each
//! container keeps the driver that it was started with, new ones get the new one, and nothing of the old one is left when
//! its last user has ended. The agents live in the host's own mount namespace here, as they do on a real machine.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use fake_nvml::{DriverFiles, Machine, Simulation};
use testbed::image_probe::Sight;
use testbed::operator::LaunchContainer;
use testbed::{Agent, Master, Testbed};

use crate::common;
use common::images::{
    self, NEXT_VERSION, assert_driver, assert_nodes, ended, lay_out_driver, probe, probe_image, resources,
};
use common::{PATIENCE, eventually};

/// A host with a driver, and its agents in one mount namespace with it.
struct Host {
    agents: Vec<Agent>,
    _master: Master,
    machine: Machine,
    simulation: Simulation,
    driver: DriverFiles,
    images: PathBuf,
    bed: Testbed,
}

impl Host {
    /// With an agent for each choice of GPUs; all put images together in the same folder.
    fn start(gpus: &[&str]) -> Self {
        let bed = Testbed::new().unwrap();
        let machine = Machine::with_gpus(2);
        let simulation = Simulation::lay_out(&bed.folder().join("host"), &machine).unwrap();
        let driver = lay_out_driver(&bed.folder().join("driver"), &machine.driver_version);
        let images = bed.folder().join("fitted");
        let mut master = bed.master().start().unwrap();
        master.wait_ready(PATIENCE).unwrap();
        let text = |path: &Path| path.display().to_string();
        let places = [
            ("proc_dir", text(&simulation.proc_driver().join("nvidia"))),
            ("dev_dir", text(&simulation.dev())),
            ("nvml_library", text(&simulation.library())),
            ("image_dir", text(&images)),
        ];
        let agents = gpus.iter().map(|gpus| {
            let parameters = places.iter().map(|(key, value)| (*key, value.as_str()));
            let parameters: Vec<_> = parameters.chain([("gpus", *gpus)]).collect();
            let mut agent = images::agent(&bed, &[probe_image("probe")], &driver, &parameters)
                .start()
                .unwrap();
            agent.wait_registered(PATIENCE).unwrap();
            agent
        });
        Self {
            agents: agents.collect(),
            _master: master,
            machine,
            simulation,
            driver,
            images,
            bed,
        }
    }

    /// Installs the next driver over this one, as a package does: the old files go.
    fn replace_driver(&mut self) -> DriverFiles {
        let (folder, old) = (self.driver.folder().to_owned(), self.driver.version().to_owned());
        for below in ["lib64", "lib"] {
            for entry in fs::read_dir(folder.join(below)).unwrap().flatten() {
                if entry.file_name().to_str().unwrap().ends_with(&old) {
                    fs::remove_file(entry.path()).unwrap();
                }
            }
        }
        self.machine.driver_version = NEXT_VERSION.to_owned();
        let next = lay_out_driver(&folder, NEXT_VERSION);
        self.simulation.update(&self.machine).unwrap();
        next
    }

    /// A container that looks once now, and again when it is told.
    fn start_waiting(&self, agent: usize, id: &str) {
        let command = "until test -e again; do sleep 0.05; done; exec image-probe";
        let launch = LaunchContainer::new(&[id], &format!("cd /mnt/mesos/sandbox; {command}"))
            .image("probe")
            .resources(&resources(1));
        self.agents[agent].operator().launch_container(&launch).unwrap();
    }

    fn look_again(&self, agent: usize, id: &str) -> Sight {
        let sandbox = self.agents[agent].work_dir().join("containers").join(id);
        fs::write(sandbox.join("again"), "").unwrap();
        ended(&self.agents[agent], &[id])
    }

    /// Driver volumes that are mounted on the host, by folder.
    fn volumes(&self) -> Vec<String> {
        let volumes = self.images.join("volumes");
        let points = mount_points()
            .into_iter()
            .filter(|point| Path::new(point).starts_with(&volumes));
        points
            .filter(|point| Path::new(point).parent().and_then(Path::parent) == Some(&volumes))
            .collect()
    }
}

/// The same sight with libraries that have no name on the host any more told like others.
fn still_there(mut seen: Sight) -> Sight {
    for library in [&mut seen.cuda, &mut seen.nvml].into_iter().flatten() {
        if let Some(place) = library.strip_suffix(" (deleted)") {
            *library = place.to_owned();
        }
    }
    seen.bare = seen.bare.map(|bare| Box::new(still_there(*bare)));
    seen
}

/// What is mounted in this test's, which is the host's, mount namespace.
fn mount_points() -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    points.map(str::to_owned).collect()
}

/// Asserts that nothing below a folder that is gone is mounted on the host or in any process.
fn assert_nothing_left(folder: &Path) {
    assert!(!folder.exists());
    let folder = folder.display().to_string();
    eventually("every mount to go", || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut tables =
            processes.filter_map(|entry| fs::read_to_string(entry.path().join("mountinfo")).ok());
        (!tables.any(|table| table.contains(&folder))).then_some(())
    });
}

#[test]
fn ROOT_CGROUPS_a_replaced_driver_is_seen_by_new_containers_only_and_the_old_one_goes_with_its_last_user() {
    if common::lacking("a driver that is replaced") {
        return;
    }
    let mut host = Host::start(&["all"]);
    let folder = host.bed.folder().to_owned();
    let old = host.driver.clone();
    host.start_waiting(0, "old");
    assert_eq!(host.volumes().len(), 1);
    let next = host.replace_driver();
    let launch = probe(&["new"], "probe").resources(&resources(1));
    host.agents[0].operator().launch_container(&launch).unwrap();
    let seen = ended(&host.agents[0], &["new"]);
    assert_driver(&seen, &next);
    assert_nodes(&seen, &host.machine, 1);
    let both = host.volumes();
    assert_eq!(both.len(), 2, "{both:?}");

    // The first one does not notice.
    let seen = still_there(host.look_again(0, "old"));
    assert_nodes(&seen, &host.machine, 1);
    assert_driver(&seen, &old);
    let left = eventually("the old driver's volume to go", || {
        Some(host.volumes()).filter(|left| left.len() < 2)
    });
    assert!(left.len() == 1 && left[0].contains(NEXT_VERSION), "{left:?}");
    drop(host);
    assert_nothing_left(&folder);
}

#[test]
fn ROOT_CGROUPS_a_container_keeps_its_driver_over_a_kill_9_of_the_agent_and_what_that_left_is_cleared() {
    if common::lacking("a driver over a restart") {
        return;
    }
    let mut host = Host::start(&["all"]);
    let folder = host.bed.folder().to_owned();
    host.start_waiting(0, "old");
    let before = host.volumes();
    host.agents[0].kill9().unwrap();
    assert_eq!(host.volumes(), before, "nobody is there to remove it");
    host.agents[0].restart().unwrap();
    host.agents[0].wait_registered(PATIENCE).unwrap();
    let launch = probe(&["new"], "probe").resources(&resources(1));
    host.agents[0].operator().launch_container(&launch).unwrap();
    let seen = ended(&host.agents[0], &["new"]);
    assert_nodes(&seen, &host.machine, 1);
    assert_driver(&seen, &host.driver);
    let after = host.volumes();
    assert!(after.len() == 1 && after != before, "{before:?} {after:?}");
    let seen = host.look_again(0, "old");
    assert_nodes(&seen, &host.machine, 1);
    assert_driver(&seen, &host.driver);
    drop(host);
    assert_nothing_left(&folder);
}

#[test]
fn ROOT_CGROUPS_two_agents_of_one_host_fit_images_at_once_and_the_death_of_one_costs_the_other_nothing() {
    if common::lacking("two agents on one host") {
        return;
    }
    let mut host = Host::start(&["0", "1"]);
    let folder = host.bed.folder().to_owned();
    let look = |agent: &Agent, id: &str| {
        let launch = probe(&[id], "probe").resources(&resources(1));
        agent.operator().launch_container(&launch).unwrap();
        let seen = ended(agent, &[id]);
        assert_nodes(&seen, &host.machine, 1);
        assert_driver(&seen, &host.driver);
        seen.environment["NVIDIA_VISIBLE_DEVICES"].clone()
    };
    thread::scope(|scope| {
        let both = host.agents.iter().map(|agent| {
            scope.spawn(|| {
                (0..3)
                    .map(|round| look(agent, &format!("c{round}")))
                    .collect::<Vec<_>>()
            })
        });
        let both: Vec<_> = both.collect();
        for (agent, gpus) in both.into_iter().enumerate() {
            let own = &host.machine.gpus[agent].uuid;
            assert!(gpus.join().unwrap().iter().all(|gpu| gpu == own));
        }
    });
    host.start_waiting(0, "old");
    host.start_waiting(1, "other");
    host.agents[0].kill9().unwrap();
    let seen = host.look_again(1, "other");
    assert_driver(&seen, &host.driver);
    look(&host.agents[1], "after");
    drop(host);
    assert_nothing_left(&folder);
}
