// SPDX-License-Identifier: Apache-2.0
//! Processes that run: their command line, environment and user are read.

use super::setup::{Setup, expect};
use super::tool::{has_devices, run, run_json, tool};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// A process that does nothing, under an agent's name and flags; it ends with the test.
struct Agent(Child);

impl Agent {
    fn start(setup: &Setup, uid: u32) -> Self {
        let script = setup.world.write("mesos-agent", "#!/bin/sh\nread nothing\n");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let child = Command::new(&script)
            .args(&setup.argv[1..])
            .envs(setup.env.iter().cloned())
            .uid(uid)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let agent = Self(child);
        // Until it is the script and no copy of this program any more.
        let comm = format!("/proc/{}/comm", agent.0.id());
        while std::fs::read_to_string(&comm).unwrap().trim() != "mesos-agent" {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        agent
    }

    fn pid(&self) -> String {
        format!("--pid={}", self.0.id())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn ROOT_CGROUPS_a_running_agent_is_checked_by_its_command_line_environment_and_user() {
    if !has_devices() {
        return;
    }
    let mut setup = Setup::agent();
    let file = setup.world.write("modules.json", &setup.file.to_string());
    setup.flag("modules", &format!("file://{file}"));
    setup.without("isolation");
    let isolation = "cgroups/devices,filesystem/linux,mesos_gpu_Isolator";
    setup
        .env
        .push(("MESOS_ISOLATION".to_owned(), isolation.to_owned()));
    let agent = Agent::start(&setup, 0);
    let (status, found) = run_json(tool().args(["check", &agent.pid()]));
    assert_eq!(
        (status, found["findings"].as_array().unwrap().len()),
        (0, 0),
        "{found:#}"
    );
    // Its books and its GPUs are found through it, too.
    let (status, found) = run_json(tool().args(["status", &agent.pid()]));
    assert_eq!(
        (status, found["gpus"].as_array().unwrap().len()),
        (0, 2),
        "{found:#}"
    );
    drop(agent);

    setup.env[0].1 += ",gpu/nvidia";
    let agent = Agent::start(&setup, 0);
    let (status, found) = run_json(tool().args(["check", &agent.pid()]));
    let findings = found["findings"].as_array().unwrap();
    expect(
        "isolation-built-in",
        "error",
        "remove gpu/nvidia",
        status,
        findings,
    );
    drop(agent);

    setup.env[0].1 = isolation.to_owned();
    open_up(&setup);
    let agent = Agent::start(&setup, 65534);
    let (status, found) = run_json(tool().args(["check", &agent.pid()]));
    expect(
        "not-root",
        "error",
        "as root",
        status,
        found["findings"].as_array().unwrap(),
    );
    drop(agent);
}

/// Lets another user start the script.
fn open_up(setup: &Setup) {
    let folder = setup.world.path("");
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_process_of_another_kind_is_not_taken_for_an_agent() {
    let own = format!("--pid={}", std::process::id());
    let (status, stdout, stderr) = run(tool().args(["check", &own]));
    assert_eq!((status, stdout.as_str()), (64, ""));
    assert!(stderr.contains("neither an agent nor a master"), "{stderr}");
}
