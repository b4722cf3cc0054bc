// SPDX-License-Identifier: Apache-2.0
//! A good configuration, which each case spoils in one way.

use super::tool::{World, modules, run_json, tool};
use fake_nvml::Machine;
use serde_json::Value;

/// A modules.json and a command line.
pub struct Setup {
    pub world: World,
    pub file: Value,
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
}

impl Setup {
    /// A good agent with two GPUs.
    pub fn agent() -> Self {
        let world = World::of(&Machine::with_gpus(2));
        let loaded = [
            ("mesos_gpu_Isolator", world.parameters()),
            ("mesos_gpu_Hook", vec![]),
        ];
        let file = modules(&world.text("libmesos_gpu.so"), &loaded);
        let argv = vec![
            world.text("mesos-agent"),
            "--isolation=cgroups/devices,filesystem/linux,mesos_gpu_Isolator".to_owned(),
            "--hooks=mesos_gpu_Hook".to_owned(),
            format!("--work_dir={}", world.text("work")),
        ];
        Self {
            world,
            file,
            argv,
            env: vec![],
        }
    }

    /// A good master.
    pub fn master() -> Self {
        let world = World::of(&Machine::with_gpus(0));
        let file = modules(&world.text("libmesos_gpu.so"), &[("mesos_gpu_Allocator", vec![])]);
        let argv = vec![
            world.text("mesos-master"),
            "--allocator=mesos_gpu_Allocator".to_owned(),
            "--fair_sharing_excluded_resource_names=gpus".to_owned(),
            format!("--work_dir={}", world.text("work")),
        ];
        Self {
            world,
            file,
            argv,
            env: vec![],
        }
    }

    /// Gives a flag, in the place of one of that name.
    pub fn flag(&mut self, name: &str, value: &str) {
        self.without(name);
        self.argv.push(format!("--{name}={value}"));
    }

    /// Takes a flag away.
    pub fn without(&mut self, name: &str) {
        self.argv.retain(|word| !word.starts_with(&format!("--{name}=")));
    }

    /// Gives a parameter to the module at a place, in the place of one of that name.
    pub fn parameter_of(&mut self, module: usize, key: &str, value: &str) {
        let given = self.module(module)["parameters"].as_array_mut().unwrap();
        given.retain(|pair| pair["key"] != key);
        given.push(serde_json::json!({ "key": key, "value": value }));
    }

    /// Gives a parameter to the first module.
    pub fn parameter(&mut self, key: &str, value: &str) {
        self.parameter_of(0, key, value);
    }

    /// The entry of a module.
    pub fn module(&mut self, nth: usize) -> &mut Value {
        &mut self.file["libraries"][0]["modules"][nth]
    }

    /// Loads one more module.
    pub fn load(&mut self, name: &str) {
        let loaded = self.file["libraries"][0]["modules"].as_array_mut().unwrap();
        loaded.push(serde_json::json!({ "name": name }));
    }

    /// The exit status and the findings.
    pub fn check(&self) -> (i32, Vec<Value>) {
        let file = self.world.write("modules.json", &self.file.to_string());
        self.check_with(&["--modules", &file])
    }

    /// The same with these arguments in the place of `--modules`.
    pub fn check_with(&self, arguments: &[&str]) -> (i32, Vec<Value>) {
        let mut command = tool();
        command.arg("check").args(arguments).arg("--json");
        command.arg("--").args(&self.argv).envs(self.env.iter().cloned());
        // The flag for JSON is there already, and stands before the command line.
        let (status, stdout, stderr) = super::tool::run(&mut command);
        let value: Value =
            serde_json::from_str(&stdout).unwrap_or_else(|why| panic!("{why}: {stdout}{stderr}"));
        (status, value["findings"].as_array().unwrap().clone())
    }
}

/// Checks a modules.json alone.
pub fn check_file(path: &str) -> (i32, Vec<Value>) {
    let (status, value) = run_json(tool().args(["check", "--modules", path]));
    (status, value["findings"].as_array().unwrap().clone())
}

/// One seeded mistake: the rule and a part of the cure, and how to make it.
pub type Case = (&'static str, &'static str, &'static str, fn(&mut Setup));

/// Makes each mistake in a good configuration, and expects exactly its rule.
pub fn seed(good: fn() -> Setup, cases: &[Case]) {
    for (rule, severity, cure, spoil) in cases {
        let mut setup = good();
        spoil(&mut setup);
        let (status, findings) = setup.check();
        expect(rule, severity, cure, status, &findings);
    }
}

/// Expects exactly one finding.
pub fn expect(rule: &str, severity: &str, cure: &str, status: i32, findings: &[Value]) {
    let rules: Vec<&str> = findings.iter().map(|one| one["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, [rule], "{findings:#?}");
    assert_eq!(findings[0]["severity"], severity, "{findings:#?}");
    let told = findings[0]["cure"].as_str().unwrap();
    assert!(
        told.contains(cure),
        "{rule}: the cure {told:?} does not say {cure:?}"
    );
    let want = ["note", "warning", "error"]
        .iter()
        .position(|word| *word == severity);
    assert_eq!(status, i32::try_from(want.unwrap()).unwrap(), "{rule}");
}
