// SPDX-License-Identifier: Apache-2.0
//! The contract of `ModuleLoader`, held by the real one over small scripts in the place of NVIDIA's helper, and by the
//! fake alike; and what only the real one can show: time limits, a clean environment, nothing left running.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::ports::dev_nodes::{DevNodes, NodeState};
use mesos_gpu::ports::module_loader::ModuleLoader;
use mesos_gpu::system::module_loader::NvidiaModprobe;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use support::{FakeDevNodes, FakeModuleLoader};

/// Long enough for a script on a busy machine.
const AMPLE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(700);

enum Situation {
    Works,
    Fails(&'static str),
}

/// What every side promises; `set` brings the helper into a situation, `made` tells whether the nodes are there.
fn contract(loader: &dyn ModuleLoader, set: &dyn Fn(Situation), made: &dyn Fn() -> bool) {
    set(Situation::Fails("module not found"));
    for _ in 0..2 {
        let error = loader.load_uvm().unwrap_err();
        assert!(
            error.starts_with("cannot load the unified-memory module"),
            "{error}"
        );
        assert!(
            error.contains("module not found") && !error.contains('\n'),
            "{error}"
        );
        assert!(!made());
    }
    // No failure sticks, and what is there already is no error.
    set(Situation::Works);
    for _ in 0..2 {
        assert_eq!(loader.load_uvm(), Ok(()));
        assert!(made());
    }
}

/// A script that is still open for writing in a child of another test cannot be run, so one test at a time writes any.
static SCRIPTS: Mutex<()> = Mutex::new(());

/// Runs `work` in a folder of its own, in which [`script`] may be used.
fn in_folder(work: impl FnOnce(&Path)) {
    let _alone = SCRIPTS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    work(folder.path());
}

/// Puts a shell script in the helper's place.
fn script(folder: &Path, lines: &str) {
    let path = folder.join("helper");
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn loader(folder: &Path, limit: Duration) -> NvidiaModprobe {
    NvidiaModprobe::new(folder.join("helper"), limit)
}

/// Whether the process runs. One that has ended but was not waited for by init does not.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.trim().chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[test]
fn the_fake_holds_the_contract() {
    let nodes = FakeDevNodes::new();
    let fake = FakeModuleLoader::making(&nodes);
    contract(
        &fake,
        &|situation| match situation {
            Situation::Works => fake.heal(),
            Situation::Fails(why) => fake.fail(why),
        },
        &|| matches!(nodes.stat("nvidia-uvm"), Ok(NodeState::Device(_))),
    );
    assert_eq!(fake.calls(), 4);
}

#[test]
fn the_real_helper_holds_the_contract() {
    in_folder(|folder| {
        let node = folder.join("nvidia-uvm");
        contract(
            &loader(folder, AMPLE),
            &|situation| match situation {
                Situation::Works => script(folder, &format!("echo \"$@\" > {}", node.display())),
                Situation::Fails(why) => script(folder, &format!("echo first\necho '{why}' >&2\nexit 3")),
            },
            &|| node.exists(),
        );
        assert_eq!(fs::read_to_string(&node).unwrap(), "-u -c 0\n");
    });
}

#[test]
fn a_failure_tells_the_status_and_the_end_of_what_was_said() {
    in_folder(|folder| {
        script(
            folder,
            "head -c 300000 /dev/zero | tr '\\0' x\necho the end >&2\nexit 3",
        );
        let error = loader(folder, AMPLE).load_uvm().unwrap_err();
        assert!(
            error.contains("it ended with exit status: 3; it said \"xxx"),
            "{error}"
        );
        assert!(error.ends_with("the end\"") && error.len() < 4500, "{error}");
        script(folder, "kill -SEGV $$");
        let error = loader(folder, AMPLE).load_uvm().unwrap_err();
        assert!(
            error.contains("signal: 11") && error.ends_with("it said nothing"),
            "{error}"
        );
    });
}

#[test]
fn a_hanging_helper_is_killed_with_its_children_and_leaves_no_zombie() {
    in_folder(|folder| {
        script(
            folder,
            &format!(
                "cd {}\necho $$ > leader\nsleep 600 &\necho $! > child\necho waiting\nwait",
                folder.display()
            ),
        );
        let begin = Instant::now();
        let error = loader(folder, SHORT).load_uvm().unwrap_err();
        let took = begin.elapsed();
        assert!(took >= SHORT && took < SHORT + Duration::from_secs(5), "{took:?}");
        let told = format!("it did not end within {SHORT:?} and was killed; it said \"waiting\"");
        assert!(error.ends_with(&told), "{error}");

        let leader = fs::read_to_string(folder.join("leader")).unwrap();
        assert!(
            !Path::new("/proc").join(leader.trim()).exists(),
            "a zombie is left"
        );
        let child = fs::read_to_string(folder.join("child")).unwrap();
        // The kernel ends it soon, not at once.
        while runs(&child) {
            assert!(begin.elapsed() < AMPLE, "process {child} still runs");
            thread::sleep(Duration::from_millis(5));
        }
    });
}

#[test]
fn a_helper_that_never_stops_talking_is_killed_too() {
    in_folder(|folder| {
        script(folder, "exec yes");
        let begin = Instant::now();
        let error = loader(folder, SHORT).load_uvm().unwrap_err();
        assert!(
            error.contains("was killed; it said") && error.len() < 10_000,
            "{error}"
        );
        assert!(begin.elapsed() < SHORT + Duration::from_secs(5));
    });
}

#[test]
fn what_the_helper_leaves_behind_is_not_waited_for() {
    in_folder(|folder| {
        let left = folder.join("left");
        script(folder, &format!("sleep 600 &\necho $! > {}", left.display()));
        let begin = Instant::now();
        assert_eq!(loader(folder, AMPLE).load_uvm(), Ok(()));
        assert!(begin.elapsed() < AMPLE / 2);
        let pid: i32 = fs::read_to_string(&left).unwrap().trim().parse().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGKILL).unwrap();
    });
}

/// The environment of a process cannot be set from within, so the test runs once more, as a child with one that is full
/// of what must be kept out.
#[test]
fn nothing_of_the_agents_environment_and_input_reaches_the_helper() {
    let dirty = [
        "NVIDIA_VISIBLE_DEVICES",
        "CUDA_VISIBLE_DEVICES",
        "LD_LIBRARY_PATH",
    ];
    if dirty
        .iter()
        .any(|name| std::env::var_os(name).is_none_or(|value| value != "/dirty"))
    {
        in_folder(|_| {
            let child = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "nothing_of_the_agents_environment_and_input_reaches_the_helper",
                ])
                .envs(dirty.map(|name| (name, "/dirty")))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&child.stdout);
            assert!(child.status.success() && said.contains("1 passed"), "{said}");
        });
        return;
    }
    in_folder(|folder| {
        script(
            folder,
            &format!("cd {}\nenv > env\ncat > input\npwd > /dev/null", folder.display()),
        );
        assert_eq!(loader(folder, AMPLE).load_uvm(), Ok(()));
        let printed = fs::read_to_string(folder.join("env")).unwrap();
        // The shell adds these by itself.
        let own = ["PWD=", "OLDPWD=", "SHLVL=", "_="];
        let handed: Vec<&str> = printed
            .lines()
            .filter(|line| !own.iter().any(|name| line.starts_with(name)))
            .collect();
        assert_eq!(handed, ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]);
        assert_eq!(fs::read_to_string(folder.join("input")).unwrap(), "");
    });
}

#[test]
fn a_helper_that_is_not_installed_is_told_with_where_it_was_looked_for() {
    in_folder(|folder| {
        // By name it is looked for in the system's folders, not in PATH and not in the current folder.
        let error = NvidiaModprobe::new("no-such-nvidia-modprobe".into(), AMPLE)
            .load_uvm()
            .unwrap_err();
        assert!(
            error.ends_with(
                "\"no-such-nvidia-modprobe -u -c 0\": it is not installed in /usr/bin, /usr/sbin, /bin, /sbin, \
                 /usr/local/bin, /usr/local/nvidia/bin"
            ),
            "{error}"
        );
        let error = loader(folder, AMPLE).load_uvm().unwrap_err();
        assert!(
            error.ends_with("helper -u -c 0\": there is no such program"),
            "{error}"
        );
        fs::write(folder.join("helper"), "not executable").unwrap();
        assert!(loader(folder, AMPLE).load_uvm().is_err());
        script(folder, "");
        fs::write(folder.join("helper"), "#!/no/such/interpreter\n").unwrap();
        let error = loader(folder, AMPLE).load_uvm().unwrap_err();
        assert!(error.contains("cannot be started: No such file"), "{error}");
    });
}
