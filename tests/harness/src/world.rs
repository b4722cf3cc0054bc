// SPDX-License-Identifier: Apache-2.0
//! What is around a test: a simulated NVIDIA machine with a driver, a private folder, a root in the `devices` hierarchy, the
//! manifests to load, and the flags of an agent, which modules read from the process they are in. It goes with the test.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use fake_nvml::{DriverTree, Machine, Simulation};
use serde_json::{Value, json};
use testbed::bed::cgroups::Hierarchies;
use testbed::{Error, Testbed, support};

use crate::SIMULATION;

/// How many GPUs the machine has.
pub const GPUS: u32 = 4;

/// Names the library as it is shipped.
const RELEASE: &str = "MESOS_GPU_RELEASE_LIBRARY";

type Parameters<'a> = &'a [(&'a str, &'a str)];

const ISOLATOR: &str = "mesos_gpu_Isolator";
const ALLOCATOR: &str = "mesos_gpu_Allocator";

/// The manifests: a name, and the module whose parameters are not those of modules.json.
const MANIFESTS: [(&str, &str, Parameters); 6] = [
    ("shipped", ISOLATOR, &[]),
    ("one", ISOLATOR, &[("gpus", "0")]),
    ("twice", ISOLATOR, &[("gpus", "0,0")]),
    ("unknown", ISOLATOR, &[("gpu", "all")]),
    (
        "shared",
        ISOLATOR,
        &[
            ("oversubscribe", "on"),
            ("idle_window", "500ms"),
            ("sample_interval", "100ms"),
            ("oversubscribe_pause", "0secs"),
        ],
    ),
    ("sharing", ALLOCATOR, &[("policy", "share")]),
];

/// Those whose parameter is a place in the folder of the test.
const PLACED: [(&str, &str, &str); 2] = [
    ("numbers", "metrics_file", "gpus.prom"),
    ("driver", "driver_root", "driver"),
];

/// A test's surroundings.
#[derive(Debug)]
pub struct World {
    folder: tempfile::TempDir,
    work: tempfile::TempDir,
    root: String,
    hierarchies: Option<Hierarchies>,
    variables: Vec<(String, String)>,
}

impl World {
    /// Lays everything out.
    ///
    /// # Errors
    /// What could not be made.
    pub fn new() -> Result<Self, Error> {
        let tried = |error: std::io::Error| Error::new("lay out a machine for a test", error);
        let root = unique_name();
        let folder = tempfile::Builder::new()
            .prefix(&format!("{root}-"))
            .tempdir()
            .map_err(tried)?;
        let path = folder.path();
        let machine = Machine::with_gpus(GPUS);
        let simulation = Simulation::lay_out(&path.join("machine"), &machine).map_err(tried)?;
        let driver = DriverTree::new(&path.join("driver"))
            .version(&machine.driver_version)
            .lay_out()
            .map_err(tried)?;
        // As a distribution has it below its root.
        symlink(".", driver.folder().join("usr")).map_err(tried)?;
        fake_nvml::trimmed_loader_cache_with(&simulation.loader_cache(), &[driver.lib64(), driver.lib32()])
            .map_err(tried)?;
        let library = place_library(path).map_err(tried)?;
        for name in ["run", "sandbox"] {
            fs::create_dir(path.join(name)).map_err(tried)?;
        }
        manifests(path).map_err(tried)?;
        let mut world = Self {
            hierarchies: support::is_root().then(Hierarchies::find).and_then(Result::ok),
            variables: Vec::new(),
            work: work_dir(&root).map_err(tried)?,
            root,
            folder,
        };
        let search = format!("{}:{}", library.display(), simulation.library_folder().display());
        world.set("LD_LIBRARY_PATH", search);
        world.set(
            fake_nvml::MACHINE_VARIABLE,
            simulation.machine_file().display().to_string(),
        );
        if simulation.has_nodes() {
            world.set(SIMULATION, simulation.folder().display().to_string());
        }
        world.set("PATH", format!("{}:{}", driver.bin().display(), search_path()));
        world.flags()?;
        Ok(world)
    }

    /// Sets a variable of the test's process.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.push((name.to_owned(), value.into()));
    }

    /// All variables; of one that was set twice, the last counts.
    pub fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// The private folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The flags that the agent would have been started with, and where things are.
    fn flags(&mut self) -> Result<(), Error> {
        let folder = self.folder().display().to_string();
        self.set("HARNESS_FOLDER", folder.clone());
        self.set("HARNESS_ROOT", self.root.clone());
        self.set("LIBPROCESS_IP", "127.0.0.1");
        self.set("MESOS_WORK_DIR", self.work.path().display().to_string());
        self.set("MESOS_RUNTIME_DIR", format!("{folder}/run"));
        self.set(
            "MESOS_ISOLATION",
            format!("cgroups/devices,filesystem/linux,{ISOLATOR}"),
        );
        self.set("MESOS_RESOURCE_ESTIMATOR", "mesos_gpu_ResourceEstimator");
        self.set("MESOS_QOS_CONTROLLER", "mesos_gpu_QoSController");
        self.set("MESOS_CGROUPS_ROOT", self.root.clone());
        if let Some(hierarchies) = &self.hierarchies {
            let hierarchy = hierarchies.folder().to_owned();
            let devices = hierarchy.join("devices").join(&self.root);
            fs::create_dir(&devices)
                .map_err(|error| Error::new(format!("make the cgroup {}", devices.display()), error))?;
            self.set("MESOS_CGROUPS_HIERARCHY", hierarchy.display().to_string());
            self.set("HARNESS_DEVICES", devices.display().to_string());
        }
        Ok(())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(hierarchies) = &self.hierarchies
            && let Err(error) = hierarchies.remove(&self.root)
        {
            eprintln!("harness: {error}");
        }
    }
}

/// A folder in which the loader finds the module library by its name, as an operator installs it.
fn place_library(folder: &Path) -> std::io::Result<PathBuf> {
    // Where the library was built as it is shipped, that one.
    let built = match std::env::var_os(RELEASE) {
        Some(path) => PathBuf::from(path),
        None => Testbed::module_library().map_err(std::io::Error::other)?,
    };
    let lib = folder.join("lib");
    fs::create_dir(&lib)?;
    symlink(built, lib.join("libmesos_gpu.so"))?;
    Ok(lib)
}

/// Each manifest in a folder of its own, which is what the module manager loads.
fn manifests(folder: &Path) -> std::io::Result<()> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../modules.json");
    let shipped = fs::read_to_string(shipped)?;
    let place = |name: &str, module: &str, given: Parameters| {
        let place = folder.join("modules").join(name);
        fs::create_dir_all(&place)?;
        fs::write(
            place.join("modules.json"),
            with_parameters(&shipped, module, given)?,
        )
    };
    for (name, module, given) in MANIFESTS {
        place(name, module, given)?;
    }
    for (name, key, file) in PLACED {
        place(name, ISOLATOR, &[(key, &folder.join(file).display().to_string())])?;
    }
    Ok(())
}

/// The manifest with parameters for a module, byte for byte where there are none.
fn with_parameters(manifest: &str, name: &str, given: Parameters) -> std::io::Result<String> {
    if given.is_empty() {
        return Ok(manifest.to_owned());
    }
    let mut manifest: Value = serde_json::from_str(manifest)?;
    let modules = manifest
        .pointer_mut("/libraries/0/modules")
        .and_then(Value::as_array_mut);
    let mut modules = modules.into_iter().flatten();
    let module = modules
        .find(|module| module["name"] == name)
        .ok_or_else(|| std::io::Error::other(format!("modules.json does not name {name}")))?;
    let parameters = given
        .iter()
        .map(|(key, value)| json!({"key": key, "value": value}));
    module["parameters"] = parameters.collect();
    Ok(manifest.to_string())
}

/// `--work_dir`. Checkpoints are waited for until the disk has them, and no test here is about the disk.
fn work_dir(name: &str) -> std::io::Result<tempfile::TempDir> {
    let mut folder = tempfile::Builder::new();
    let prefix = format!("{name}-work-");
    let folder = folder.prefix(&prefix);
    folder.tempdir_in("/dev/shm").or_else(|_| folder.tempdir())
}

/// A name that no other test and no agent has, in the form by which `testbed clean` knows what a crashed run left behind.
fn unique_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!(
        "tb{}x{}-gtest",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

fn search_path() -> String {
    std::env::var("PATH").unwrap_or_else(|_| "/usr/sbin:/usr/bin:/sbin:/bin".to_owned())
}
