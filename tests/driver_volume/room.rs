// SPDX-License-Identifier: Apache-2.0
//! Where the tests take place: mount namespaces of single threads, a driver, and containers.

use mesos_gpu::domain::driver_file::{DriverFile, DriverFiles, Place};
use mesos_gpu::system::driver_volume::DriverVolumes;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

const NONE: Option<&str> = None;

/// A folder for one test, in a mount namespace of its own.
pub struct Room {
    folder: tempfile::TempDir,
}

/// Runs a test in a room, or says what it lacks.
pub fn in_room(test: impl FnOnce(&Room) + Send + 'static) {
    if !nix::unistd::geteuid().is_root() {
        return fake_nvml::skip("root, to make mount namespaces");
    }
    if let Err(errno) = std::thread::spawn(|| unshare(CloneFlags::CLONE_NEWNS))
        .join()
        .unwrap()
    {
        return fake_nvml::skip(&format!("the right to make mount namespaces ({errno})"));
    }
    let folder = tempfile::tempdir().unwrap();
    // A thread of its own: with one test thread, the test would be on the one that starts all others.
    let run = move || {
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        propagate(MsFlags::MS_PRIVATE);
        // As on a host with systemd.
        propagate(MsFlags::MS_SHARED);
        let room = Room { folder };
        for name in ["agent", "driver"] {
            fs::create_dir(room.path(name)).unwrap();
        }
        test(&room);
    };
    if let Err(panic) = std::thread::spawn(run).join() {
        std::panic::resume_unwind(panic);
    }
}

impl Room {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder that agents are given.
    pub fn folder(&self) -> PathBuf {
        self.path("agent")
    }

    /// Where the driver is installed.
    pub fn sources(&self) -> PathBuf {
        self.path("driver")
    }

    /// What an agent that starts has.
    pub fn open(&self) -> DriverVolumes {
        DriverVolumes::open(&self.folder())
    }

    /// Every folder that is left below those of the agents, relative.
    pub fn volumes_left(&self) -> Vec<String> {
        let agents = fs::read_dir(self.folder().join("volumes")).unwrap();
        let volumes = agents.flat_map(|agent| fs::read_dir(agent.unwrap().path()).unwrap());
        let mut names: Vec<String> = volumes
            .map(|volume| volume.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Installs a driver: every file says where it belongs and its version.
    pub fn driver(&self, version: &str) -> DriverFiles {
        let library = format!("libcuda.so.{version}");
        let icd = Place::Share("vulkan/icd.d".to_owned());
        let files = [
            (Place::Bin, "nvidia-smi", vec![]),
            (Place::Lib64, &*library, vec!["libcuda.so", "libcuda.so.1"]),
            (Place::Lib32, &*library, vec!["libcuda.so"]),
            (icd, "nvidia.json", vec![]),
            (Place::Firmware, "gsp.bin", vec![]),
        ];
        let install = |(place, name, links): (Place, &str, Vec<&str>)| {
            let folder = self.sources().join(place.folder());
            let source = folder.join(name);
            fs::create_dir_all(&folder).unwrap();
            // As an installer does: the file is a new one.
            let _ = fs::remove_file(&source);
            if place == Place::Bin {
                fs::copy("/bin/echo", &source).unwrap();
            } else {
                fs::write(&source, format!("{} {version}", place.folder())).unwrap();
                fs::set_permissions(&source, Permissions::from_mode(0o644)).unwrap();
            }
            let links = links.into_iter().map(str::to_owned).collect();
            DriverFile {
                source,
                place,
                name: name.to_owned(),
                links,
            }
        };
        DriverFiles {
            version: version.to_owned(),
            files: files.into_iter().map(install).collect(),
            notes: Vec::new(),
        }
    }
}

type Job = Box<dyn FnOnce(&Path) + Send>;

/// A running container: a mount namespace in which changes of the host are seen, but not the reverse, and in it the volume,
/// where a container with an image has it.
pub struct Container {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Container {
    /// Starts one that gets the volume by one recursive bind mount.
    pub fn start(volume: &Path) -> Self {
        Self::launch(Some(volume.to_owned()))
    }

    /// Starts one that gets none, and has the host's file system.
    pub fn without_volume() -> Self {
        Self::launch(None)
    }

    fn launch(volume: Option<PathBuf>) -> Self {
        let (jobs, todo) = channel();
        let (started, wait) = channel();
        let life = move || {
            unshare(CloneFlags::CLONE_NEWNS).unwrap();
            propagate(MsFlags::MS_SLAVE);
            let root = tempfile::tempdir().unwrap();
            let nvidia = root.path().join("usr/local/nvidia");
            fs::create_dir_all(&nvidia).unwrap();
            if let Some(volume) = volume {
                let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
                mount(Some(&volume), &nvidia, NONE, flags, NONE).unwrap();
            }
            started.send(()).unwrap();
            work(&todo, &nvidia);
            let _ = nix::mount::umount2(&nvidia, nix::mount::MntFlags::MNT_DETACH);
        };
        // A thread inherits the namespace of the one that makes it.
        let thread = std::thread::spawn(life);
        wait.recv().expect("the container does not start");
        Self {
            jobs: Some(jobs),
            thread: Some(thread),
        }
    }

    /// Runs something in it, with the path of its `/usr/local/nvidia`.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce(&Path) -> T + Send + 'static) -> T {
        let (done, wait) = channel();
        let job: Job = Box::new(move |nvidia| done.send(job(nvidia)).unwrap());
        self.jobs.as_ref().unwrap().send(job).unwrap();
        wait.recv().expect("what ran in the container failed, see above")
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.jobs = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn work(todo: &Receiver<Job>, nvidia: &Path) {
    for job in todo {
        job(nvidia);
    }
}

fn propagate(how: MsFlags) {
    mount(NONE, "/", NONE, MsFlags::MS_REC | how, NONE).unwrap();
}

/// Mounts a tmpfs, with options.
pub fn mount_tmpfs(path: &Path, options: &str) {
    let (mut flags, mut data) = (MsFlags::empty(), Vec::new());
    for option in options.split(',') {
        match option {
            "noexec" => flags |= MsFlags::MS_NOEXEC,
            "nodev" => flags |= MsFlags::MS_NODEV,
            other => data.push(other),
        }
    }
    mount(
        Some("tmpfs"),
        path,
        Some("tmpfs"),
        flags,
        Some(data.join(",").as_str()),
    )
    .unwrap();
}

/// Mounts an overlay of a folder on the folder itself.
pub fn mount_overlay(folder: &Path, work: &Path) -> nix::Result<()> {
    fs::create_dir_all(work).unwrap();
    let options = format!("lowerdir={}:{}", work.display(), folder.display());
    mount(
        Some("overlay"),
        folder,
        Some("overlay"),
        MsFlags::MS_RDONLY,
        Some(options.as_str()),
    )
}

/// The targets of the mounts at and below `folder` in this thread's namespace.
pub fn mounts_below(folder: &Path) -> Vec<String> {
    let table = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    let targets = table.lines().filter_map(|line| line.split(' ').nth(4));
    let below = targets.filter(|target| Path::new(target).starts_with(folder));
    below.map(str::to_owned).collect()
}

/// Every name below `folder`, with its mode or, for a link, where that leads.
pub fn listing(folder: &Path) -> Vec<String> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let metadata = path.symlink_metadata().unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            if metadata.is_dir() {
                found.push(format!("{name}/ {mode:o}"));
                walk(root, &path, found);
            } else if metadata.is_symlink() {
                found.push(format!("{name} -> {}", fs::read_link(&path).unwrap().display()));
            } else {
                found.push(format!("{name} {mode:o}"));
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found.sort();
    found
}
