// SPDX-License-Identifier: Apache-2.0
//! A newcomer's walk through the README: its commands are taken from its text, in its order, and run as they are printed,
//! with the machine's folders and addresses replaced by those of a test bed. A command that nobody here knows fails the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

#[allow(dead_code, reason = "only the commands are walked here")]
#[path = "../../readme/text.rs"]
mod text;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use fake_nvml::Machine;
use testbed::base::Base;
use testbed::{Agent, Master, Testbed, support};

const PATIENCE: Duration = Duration::from_secs(60);

/// Commands that are walked by who started this test, or cannot be walked in one: builds, all the tests, the service manager.
const WALKED_ELSEWHERE: [(&str, &str); 4] = [
    ("tests/run", "tests/run"),
    ("cargo build --release", "tests/run"),
    ("systemctl daemon-reload", "tests/install.rs"),
    ("target/release/bench", "tests/bench/tests/smoke.rs"),
];

/// The machine of the walk.
struct Walk {
    bed: Testbed,
    master: Option<Master>,
    agent: Option<Agent>,
}

impl Walk {
    fn new() -> Self {
        let bed = Testbed::new().unwrap();
        // What `cargo build --release` makes, as far as this walk can tell.
        let built = bed.folder().join("target/release");
        fs::create_dir_all(&built).unwrap();
        fs::create_dir_all(bed.folder().join("etc/systemd/system")).unwrap();
        let tool = Testbed::program().unwrap().with_file_name("mesos-gpu");
        assert!(
            tool.is_file(),
            "no {}: cargo build --workspace makes it",
            tool.display()
        );
        symlink(&tool, built.join("mesos-gpu")).unwrap();
        symlink(Testbed::module_library().unwrap(), built.join("libmesos_gpu.so")).unwrap();
        Self {
            bed,
            master: None,
            agent: None,
        }
    }

    fn start_master(&mut self, flags: &[(String, String)]) {
        let mut builder = self.bed.master();
        for (name, value) in flags {
            builder = builder.flag(name, value);
        }
        let mut master = builder.start().unwrap();
        master.wait_ready(PATIENCE).unwrap();
        self.master = Some(master);
    }

    /// The flags are the printed ones; the test bed adds those that keep agents of one machine apart.
    fn start_agent(&mut self, flags: &[(String, String)]) {
        let mut builder = self.bed.agent().machine(&Machine::with_gpus(2));
        for (name, value) in flags.iter().filter(|(name, _)| name != "work_dir") {
            builder = builder.flag(name, value);
        }
        let mut agent = builder.start().unwrap();
        agent.wait_registered(PATIENCE).unwrap();
        self.agent = Some(agent);
    }

    fn path(&self, below: &str) -> PathBuf {
        self.bed.folder().join(below)
    }

    /// The machine's folders and addresses, in a word of a command.
    fn here(&self, text: &str) -> String {
        let mut text = text.replace("127.0.0.1:5050", &self.bed.master_address());
        if let Some(agent) = &self.agent {
            text = text.replace("/var/lib/mesos/agent", agent.work_dir().to_str().unwrap());
        }
        for folder in ["/usr/local", "/etc"] {
            text = text.replace(
                &format!("{folder}/"),
                &format!("{}/", self.path(&folder[1..]).display()),
            );
        }
        text
    }

    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("sh");
        shell
            .arg("-euc")
            .arg(self.here(command))
            .current_dir(text::root());
        shell
    }

    fn walk(&mut self, command: &str) {
        let program = command.split(' ').next().unwrap();
        match program {
            "packaging/install.sh" => {
                let mut shell = self.shell(command);
                shell
                    .env("PREFIX", self.path("usr/local"))
                    .env("SYSCONFDIR", self.path("etc"));
                shell
                    .env_remove("DESTDIR")
                    .env("CARGO_TARGET_DIR", self.path("target"));
                well(command, &shell.output().unwrap());
            }
            "cp" => drop(well(command, &self.shell(command).output().unwrap())),
            "mesos-agent" => {
                let command = self.here(command);
                let words = command.split(' ').skip(1);
                let flags: Vec<_> = words.map(|word| pair(word.strip_prefix("--").unwrap())).collect();
                self.start_agent(&flags);
            }
            "mesos-gpu" => self.ask_tool(command),
            "mesos-execute" => {
                let mut shell = self.shell(&command.replacen("mesos-execute", "\"$0\" execute", 1));
                let said = well(command, &shell.arg(Testbed::program().unwrap()).output().unwrap());
                assert!(said.contains("TASK_FINISHED") && said.contains("GPU-"), "{said}");
            }
            "cargo" if command.ends_with("-- demo") => {
                let said = well(
                    command,
                    &Command::new(Testbed::program().unwrap())
                        .arg("demo")
                        .output()
                        .unwrap(),
                );
                assert!(said.contains("two-gpus"), "{said}");
            }
            _ => {
                let known = WALKED_ELSEWHERE
                    .iter()
                    .find(|(begin, _)| command.starts_with(begin));
                let (_, place) = known.unwrap_or_else(|| panic!("nobody walks {command:?}"));
                assert!(text::root().join(place).is_file(), "{place}");
            }
        }
    }

    /// The installed tool, in the simulated machine of the agent.
    fn ask_tool(&self, command: &str) {
        let agent = self
            .agent
            .as_ref()
            .expect("the agent is started before it is asked about");
        let simulation = agent.simulation().unwrap();
        let mut nsenter = Command::new("nsenter");
        nsenter
            .arg(format!("--target={}", agent.pid()))
            .args(["--mount", "--", "sh", "-euc"]);
        nsenter.arg(self.here(command)).envs(simulation.environment());
        let path = std::env::var("PATH").unwrap_or_default();
        nsenter.env("PATH", format!("{}:{path}", self.path("usr/local/bin").display()));
        let said = well(command, &nsenter.output().unwrap());
        match command.split(' ').nth(1).unwrap() {
            "check" => assert!(said.contains("0 errors, 0 warnings"), "{said}"),
            _ => assert_eq!(said.matches("GPU-").count(), 2, "{said}"),
        }
    }
}

/// What a command said that went well.
fn well(command: &str, output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{command}: {}\n{said}", output.status);
    said
}

#[test]
fn ROOT_CGROUPS_every_command_of_the_readme_is_walked() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&lacking);
    }
    let commands = text::commands(&text::readme());
    assert!(commands.len() >= 12, "{commands:?}");
    let mut walk = Walk::new();
    walk.start_master(&[]);
    for command in &commands {
        walk.walk(command);
    }
    // And what the running agent is told of itself.
    walk.ask_tool(&format!(
        "mesos-gpu check --pid={}",
        walk.agent.as_ref().unwrap().pid()
    ));
}

/// What the drop-in of a unit gives to Mesos, as flags.
fn drop_in(walk: &Walk, unit: &str) -> Vec<(String, String)> {
    let path = format!("usr/local/share/mesos-gpu/systemd/{unit}.service.d/mesos-gpu.conf");
    let text = fs::read_to_string(walk.path(&path)).unwrap();
    let variables = text
        .lines()
        .filter_map(|line| line.strip_prefix("Environment=MESOS_"));
    let flags = variables
        .map(pair)
        .map(|(name, value)| (name.to_ascii_lowercase(), value));
    flags.collect()
}

#[test]
fn ROOT_CGROUPS_a_real_master_and_agent_start_with_what_the_drop_ins_give_them() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&lacking);
    }
    let mut walk = Walk::new();
    walk.walk("packaging/install.sh");
    walk.start_master(&drop_in(&walk, "mesos-master"));
    walk.start_agent(&drop_in(&walk, "mesos-agent"));
    let task = text::commands(&text::readme())
        .into_iter()
        .find(|command| command.starts_with("mesos-execute"));
    walk.walk(&task.unwrap());
    walk.ask_tool(&format!(
        "mesos-gpu check --pid={}",
        walk.agent.as_ref().unwrap().pid()
    ));
    walk.ask_tool(&format!(
        "mesos-gpu check --pid={}",
        walk.master.as_ref().unwrap().pid()
    ));
}

fn pair(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or_else(|| panic!("{text}"));
    (name.to_owned(), value.to_owned())
}

/// The controllers of cgroup v1 are mounted as docs/install.md has it, in a mount namespace of the walk's own.
#[test]
fn ROOT_CGROUPS_the_controllers_are_mounted_as_the_documentation_has_it() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&lacking);
    }
    let folder = tempfile::tempdir().unwrap();
    let mounts = |command: &String| command.starts_with("mkdir") || command.starts_with("mount");
    let commands = text::commands(&text::read("docs/install.md"))
        .into_iter()
        .filter(mounts);
    let mut script: Vec<String> = commands.collect();
    assert_eq!(script.len(), 3, "{script:?}");
    script.extend(["devices", "freezer"].map(|name| format!("test -f /run/mesos-cgroup/{name}/tasks")));
    let script = script
        .join("\n")
        .replace("/run/mesos-cgroup", folder.path().to_str().unwrap());
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-euc", &script])
        .output();
    well(&script, &output.unwrap());
}

/// Every flag that the documents name is one of the real Mesos.
#[test]
fn every_flag_that_the_documents_name_is_one_of_mesoss() {
    let library = fs::read(Base::obtain().unwrap().library()).unwrap();
    let list = fs::read_to_string(text::root().join("tests/readme/flags.rs")).unwrap();
    let list = list
        .split("pub const MESOS")
        .nth(1)
        .unwrap()
        .split("];")
        .next()
        .unwrap();
    let flags: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert!(flags.len() > 20, "{flags:?}");
    let library = String::from_utf8_lossy(&library);
    for flag in flags {
        // A name that another text ends with does not stand alone; Mesos's help speaks of it as of a flag.
        assert!(
            library.contains(&format!("\0{flag}\0")) || library.contains(&format!("--{flag}")),
            "Mesos has no --{flag}"
        );
    }
}
