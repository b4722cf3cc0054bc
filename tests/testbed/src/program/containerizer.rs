// SPDX-License-Identifier: Apache-2.0
//! `mesos-containerizer`: what an agent starts for every container, before the container's own program.

use std::ffi::OsStr;
use std::path::Path;

use nix::mount::{MsFlags, mount};
use serde_json::Value;

use super::flags::Flags;
use crate::error::{Error, Tried};
use crate::native;

const LAUNCH_INFO: &str = "MESOS_CONTAINERIZER_LAUNCH_INFO";

pub(super) fn main(program: &Path, arguments: &[String]) -> Result<i32, Error> {
    let rest = arguments.get(1..).unwrap_or_default();
    match rest.first().map(String::as_str) {
        Some("launch") => {
            if let Some(info) = std::env::var(LAUNCH_INFO)
                .ok()
                .and_then(|info| without_missing(&info))
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

/// `filesystem/linux` binds `/proc/sysrq-trigger` and others read-only in every image's root, also on kernels that were
/// built without them, where no container could start. `None` when nothing is missing.
fn without_missing(info: &str) -> Option<String> {
    let mut info: Value = serde_json::from_str(info).ok()?;
    let rootfs = rootfs(&info)?.to_owned();
    let mounts = info.get_mut("mounts")?.as_array_mut()?;
    let before = mounts.len();
    mounts.retain(|mount| {
        let source = mount.get("source").and_then(Value::as_str).unwrap_or_default();
        match source
            .strip_prefix(&rootfs)
            .filter(|path| path.starts_with("/proc/"))
        {
            Some(path) => Path::new(path).exists(),
            None => true,
        }
    });
    (mounts.len() < before).then(|| info.to_string())
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
        let kept: Value = serde_json::from_str(&without_missing(info).unwrap()).unwrap();
        assert_eq!(kept["mounts"].as_array().unwrap().len(), 3);
        assert_eq!(without_missing(&kept.to_string()), None);
        assert_eq!(without_missing("{}"), None);
        let of_task = info.replace(
            r#""rootfs":"/r""#,
            r#""command":{"arguments":["mesos-executor","--rootfs=/r"]}"#,
        );
        let kept: Value = serde_json::from_str(&without_missing(&of_task).unwrap()).unwrap();
        assert_eq!(kept["mounts"].as_array().unwrap().len(), 3);
    }
}
