// SPDX-License-Identifier: Apache-2.0
//! `mesos-containerizer`: what an agent starts for every container, before the container's own program.

use std::ffi::OsStr;
use std::path::Path;

use nix::mount::{MsFlags, mount};
use serde_json::{Value, json};

use super::flags::Flags;
use crate::error::{Error, Tried};
use crate::native;

const LAUNCH_INFO: &str = "MESOS_CONTAINERIZER_LAUNCH_INFO";
const PROC_DRIVER: &str = "/proc/driver";

pub(super) fn main(program: &Path, arguments: &[String]) -> Result<i32, Error> {
    let rest = arguments.get(1..).unwrap_or_default();
    match rest.first().map(String::as_str) {
        Some("launch") => {
            if let Some(info) = std::env::var(LAUNCH_INFO)
                .ok()
                .and_then(|info| as_on_a_real_machine(&info, has_simulated_driver()))
            {
                native::set_variable(LAUNCH_INFO, OsStr::new(&info));
            }
            super::open(program)?.containerizer_launch(rest)
        }
        Some("network-cni-setup") => super::open(program)?.network_cni_setup(rest),
        Some("mount") => make_rslave(&Flags::parse(&rest[1..])?).map(|()| 0),
        other => Err(Error::new(
            format!("run the subcommand {other:?} of mesos-containerizer"),
            "there are launch, mount and network-cni-setup",
        )),
    }
}

/// The library does not carry this subcommand; it is one system call.
fn make_rslave(flags: &Flags) -> Result<(), Error> {
    let (operation, path) = (flags.require("operation")?, flags.require("path")?);
    if operation != "make-rslave" {
        return Err(Error::new(
            format!("mount with --operation={operation}"),
            "only make-rslave is known",
        ));
    }
    mount(
        None::<&str>,
        path.as_str(),
        None::<&str>,
        MsFlags::MS_SLAVE | MsFlags::MS_REC,
        None::<&str>,
    )
    .tried(|| format!("make the mounts below {path} slaves"))
}

/// An image's root gets a `/proc` of its own. What the build or the simulation of this machine's kernel leaves out of it
/// is mended here. `None` when there is nothing to mend.
fn as_on_a_real_machine(info: &str, simulated: bool) -> Option<String> {
    let mut info: Value = serde_json::from_str(info).ok()?;
    let rootfs = rootfs(&info)?.to_owned();
    let mounts = info.get_mut("mounts")?.as_array_mut()?;
    let dropped = drop_missing(mounts, &rootfs);
    let added = simulated && add_driver(mounts, &rootfs);
    (dropped || added).then(|| info.to_string())
}

/// A real driver is in every `/proc`; a simulated one is only where the agent sees it.
fn has_simulated_driver() -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    table
        .lines()
        .any(|line| line.split(' ').nth(4) == Some(PROC_DRIVER))
}

fn add_driver(mounts: &mut Vec<Value>, rootfs: &str) -> bool {
    let proc = format!("{rootfs}/proc");
    let is_proc = |mount: &Value| mount["type"] == "proc" && mount["target"] == proc;
    let Some(at) = mounts.iter().position(is_proc) else {
        return false;
    };
    let flags = (MsFlags::MS_BIND | MsFlags::MS_REC).bits();
    let driver = json!({"source": PROC_DRIVER, "target": format!("{rootfs}{PROC_DRIVER}"), "flags": flags});
    mounts.insert(at + 1, driver);
    true
}

/// `filesystem/linux` binds `/proc/sysrq-trigger` and others read-only in every image's root, also on kernels that were
/// built without them, where no container could start.
fn drop_missing(mounts: &mut Vec<Value>, rootfs: &str) -> bool {
    let before = mounts.len();
    mounts.retain(|mount| {
        let source = mount.get("source").and_then(Value::as_str).unwrap_or_default();
        match source
            .strip_prefix(rootfs)
            .filter(|path| path.starts_with("/proc/"))
        {
            Some(path) => Path::new(path).exists(),
            None => true,
        }
    });
    mounts.len() < before
}

/// The root of an image: the container's own, or for a command task the one that its executor is told to enter.
fn rootfs(info: &Value) -> Option<&str> {
    let own = || info.get("rootfs")?.as_str();
    let of_task = || {
        let arguments = info.get("command")?.get("arguments")?.as_array()?;
        arguments
            .iter()
            .find_map(|argument| argument.as_str()?.strip_prefix("--rootfs="))
    };
    own().or_else(of_task)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_only_mounts_of_proc_files_that_the_kernel_lacks() {
        let info = r#"{"rootfs":"/r","mounts":[{"source":"/r/proc/none-such","target":"/r/proc/none-such"},
            {"source":"/r/proc/self","target":"/r/proc/self"},{"target":"/r/proc"},{"source":"/none-such"}]}"#;
        let kept: Value = serde_json::from_str(&as_on_a_real_machine(info, false).unwrap()).unwrap();
        assert_eq!(kept["mounts"].as_array().unwrap().len(), 3);
        assert_eq!(as_on_a_real_machine(&kept.to_string(), false), None);
        assert_eq!(as_on_a_real_machine("{}", true), None);
        let of_task = info.replace(
            r#""rootfs":"/r""#,
            r#""command":{"arguments":["mesos-executor","--rootfs=/r"]}"#,
        );
        let kept: Value = serde_json::from_str(&as_on_a_real_machine(&of_task, false).unwrap()).unwrap();
        assert_eq!(kept["mounts"].as_array().unwrap().len(), 3);
    }
    #[test]
    fn a_simulated_driver_is_in_every_new_proc_before_anything_is_put_over_it() {
        let info = r#"{"rootfs":"/r","mounts":[{"source":"/r","target":"/r"},
            {"source":"proc","target":"/r/proc","type":"proc"},{"source":"/p","target":"/r/proc/driver/nvidia/params"}]}"#;
        assert_eq!(as_on_a_real_machine(info, false), None);
        let mended: Value = serde_json::from_str(&as_on_a_real_machine(info, true).unwrap()).unwrap();
        assert_eq!(mended["mounts"][2]["target"], "/r/proc/driver");
        assert_eq!(mended["mounts"][2]["source"], "/proc/driver");
        assert_eq!(mended["mounts"].as_array().unwrap().len(), 4);
        let without_proc = r#"{"rootfs":"/r","mounts":[{"source":"/r","target":"/r"}]}"#;
        assert_eq!(as_on_a_real_machine(without_proc, true), None);
    }
}
