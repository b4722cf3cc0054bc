// SPDX-License-Identifier: Apache-2.0
//! The tool as a person starts it, over a simulated driver and a stand-in for the library: shared by its tests.
//! (`mod.rs`, because `tests/tool.rs` would be a test program of its own.)
#![allow(dead_code)]

use fake_nvml::{Machine, Simulation};
use serde_json::{Value, json};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

/// What a stand-in library exports.
const MODULES: [&str; 5] = [
    "mesos_gpu_Isolator",
    "mesos_gpu_Hook",
    "mesos_gpu_ResourceEstimator",
    "mesos_gpu_QoSController",
    "mesos_gpu_Allocator",
];

/// A machine in a folder: a driver, libraries and programs that stand in for ours and Mesos's, a work_dir.
pub struct World {
    folder: TempDir,
    pub simulation: Simulation,
}

impl World {
    /// With this machine's GPUs.
    pub fn of(machine: &Machine) -> Self {
        // A temporary folder may be on a file system in memory, which is something to be told.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let simulation = Simulation::lay_out(&folder.path().join("driver"), machine).unwrap();
        let world = Self { folder, simulation };
        for (name, program) in compiled() {
            std::fs::write(world.path(name), program).unwrap();
            std::fs::set_permissions(world.path(name), Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::create_dir(world.path("work")).unwrap();
        world
    }

    /// A path in it.
    pub fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// A path in it, as text.
    pub fn text(&self, below: &str) -> String {
        self.path(below).to_str().unwrap().to_owned()
    }

    /// Writes a file.
    pub fn write(&self, below: &str, text: &str) -> String {
        std::fs::write(self.path(below), text).unwrap();
        self.text(below)
    }

    /// Compiles C in the place of what stands there.
    pub fn compile(&self, to: &str, source: &str, flags: &[&str]) {
        compile(self.folder.path(), to, source, flags);
    }

    /// The parameters that make the modules see the simulated driver.
    pub fn parameters(&self) -> Vec<(String, String)> {
        let path = |path: PathBuf| path.to_str().unwrap().to_owned();
        let simulation = &self.simulation;
        [
            ("proc_dir", path(simulation.proc_driver().join("nvidia"))),
            ("dev_dir", path(simulation.dev())),
            ("nvml_library", path(simulation.library())),
            ("image_dir", self.text("images")),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }
}

/// Compiles C, as everybody can who builds this.
fn compile(folder: &Path, to: &str, source: &str, flags: &[&str]) {
    let from = folder.join("source.c");
    std::fs::write(&from, source).unwrap();
    let mut command = Command::new("cc");
    let done = command
        .arg("-o")
        .arg(folder.join(to))
        .arg(from)
        .args(flags)
        .status()
        .unwrap();
    assert!(done.success());
}

/// What stands in for our library and for Mesos's programs, compiled once.
fn compiled() -> &'static [(&'static str, Vec<u8>)] {
    static FILES: OnceLock<Vec<(&'static str, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        compile(
            folder,
            "libmesos_gpu.so",
            &library("1.11.0", &MODULES),
            &["-shared", "-fPIC"],
        );
        compile(
            folder,
            "libmesos-1.11.0.so",
            "",
            &["-shared", "-Wl,-soname,libmesos-1.11.0.so"],
        );
        let mesos = folder.join("libmesos-1.11.0.so");
        for program in ["mesos-agent", "mesos-master"] {
            let flags = ["-Wl,--no-as-needed", mesos.to_str().unwrap()];
            compile(folder, program, "int main(void) { return 0; }", &flags);
        }
        ["libmesos_gpu.so", "mesos-agent", "mesos-master"]
            .map(|name| (name, std::fs::read(folder.join(name)).unwrap()))
            .into()
    })
}

/// A library whose records name a release of Mesos, as C.
pub fn library(release: &str, modules: &[&str]) -> String {
    let record = |name: &&str| format!("struct record {name} = {{\"2\", \"{release}\", \"kind\"}};\n");
    let records: String = modules.iter().map(record).collect();
    format!("struct record {{ const char *api, *release, *kind; }};\n{records}")
}

/// A modules.json with one library.
pub fn modules(file: &str, modules: &[(&str, Vec<(String, String)>)]) -> Value {
    let parameters = |pairs: &[(String, String)]| -> Vec<Value> {
        pairs
            .iter()
            .map(|(key, value)| json!({ "key": key, "value": value }))
            .collect()
    };
    let modules: Vec<Value> = modules
        .iter()
        .map(|(name, pairs)| json!({ "name": name, "parameters": parameters(pairs) }))
        .collect();
    json!({ "libraries": [{ "file": file, "modules": modules }] })
}

/// The tool, without what this environment says of Mesos.
pub fn tool() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mesos-gpu"));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("MESOS_")) {
            command.env_remove(name);
        }
    }
    command
}

/// Containers and the GPUs that each is on.
pub type Containers<'a> = &'a [(&'a str, &'a [&'a str])];

/// A checkpoint in the world's `work` folder: who holds what.
pub fn checkpoint(world: &World, boot_id: &str, held: Containers) {
    checkpoint_with_guests(world, boot_id, held, &[]);
}

/// The same, with who is a guest on what.
pub fn checkpoint_with_guests(world: &World, boot_id: &str, held: Containers, guests: Containers) {
    let list = |all: Containers| -> Vec<Value> {
        all.iter()
            .map(|(container, units)| json!({ "container": [container], "units": units }))
            .collect()
    };
    let text = json!({
        "version": 1, "boot_id": boot_id, "advertised": null, "held": list(held), "guests": list(guests)
    });
    std::fs::create_dir_all(world.path("work/mesos-gpu")).unwrap();
    world.write("work/mesos-gpu/checkpoint.json", &text.to_string());
}

/// The id of this boot.
pub fn this_boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    id.trim().to_owned()
}

/// Parameters as words of a command line.
pub fn words(parameters: &[(String, String)]) -> Vec<String> {
    let word = |(key, value): &(String, String)| format!("{key}={value}");
    parameters.iter().map(word).collect()
}

/// Its exit status and what it prints.
pub fn run(command: &mut Command) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// What it prints as JSON, and its exit status.
pub fn run_json(command: &mut Command) -> (i32, Value) {
    let (status, stdout, stderr) = run(command.arg("--json"));
    let value = serde_json::from_str(&stdout).unwrap_or_else(|why| panic!("{why}: {stdout}{stderr}"));
    (status, value)
}

/// Whether device nodes can be made, and the kernel controls devices by cgroup v1; says SKIPPED if not.
pub fn has_devices() -> bool {
    if !super::support::is_root() {
        return false;
    }
    let found = mesos_gpu::system::cgroup_v1::DevicesHierarchy::find(Path::new("/sys/fs/cgroup"));
    if let Err(why) = &found {
        super::support::skip(why);
    }
    found.is_ok()
}
