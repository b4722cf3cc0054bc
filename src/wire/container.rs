// SPDX-License-Identifier: Apache-2.0
//! What the agent says about a container when it is launched or found running.

use super::container_id::ContainerID;
use super::resource::Resource;
use super::task::{ExecutorID, FrameworkID, TaskID};

/// `mesos.slave.ContainerClass`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ContainerClass {
    /// An ordinary container.
    Default = 1,
    /// A container that looks into its parent and shares what that has.
    Debug = 2,
}

/// `mesos.slave.ContainerConfig`: what `prepare` is told.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerConfig {
    /// The sandbox on the host.
    #[prost(string, required, tag = "3")]
    pub directory: String,
    /// The user who runs the command.
    #[prost(string, optional, tag = "4")]
    pub user: Option<String>,
    /// The root file system of an image, on the host; none for containers that see the host's.
    #[prost(string, optional, tag = "5")]
    pub rootfs: Option<String>,
    /// The Docker image's own description.
    #[prost(message, optional, tag = "7")]
    pub docker: Option<Docker>,
    /// The executor; none for nested and standalone containers.
    #[prost(message, optional, tag = "8")]
    pub executor_info: Option<ExecutorInfo>,
    /// The task; only for command tasks.
    #[prost(message, optional, tag = "9")]
    pub task_info: Option<TaskInfo>,
    /// What kind of container the framework described.
    #[prost(message, optional, tag = "12")]
    pub container_info: Option<ContainerInfo>,
    /// Resources at launch: the executor's and the first task's together.
    #[prost(message, repeated, tag = "13")]
    pub resources: Vec<Resource>,
    /// What the container is for.
    #[prost(enumeration = "ContainerClass", optional, tag = "14")]
    pub container_class: Option<i32>,
}

impl ContainerConfig {
    /// Whether the container only looks into its parent and so gets nothing of its own.
    pub fn is_debug(&self) -> bool {
        self.container_class == Some(ContainerClass::Debug as i32)
    }

    /// What the image says a container of it runs with; none for a root file system without a manifest.
    pub fn image(&self) -> Option<&ImageConfig> {
        self.docker.as_ref()?.manifest.as_ref()?.config.as_ref()
    }

    /// Where volumes are mounted, absolute in the container. One in the sandbox is where that is.
    pub fn volumes(&self) -> impl Iterator<Item = &str> {
        let volumes = self.container_info.iter().flat_map(|info| &info.volumes);
        volumes
            .map(|volume| volume.container_path.as_str())
            .filter(|path| path.starts_with('/'))
    }

    /// Whether a nested container uses its parent's cgroups: what Mesos does unless the framework says otherwise.
    pub fn shares_cgroups(&self) -> bool {
        let linux_info = self
            .container_info
            .as_ref()
            .and_then(|info| info.linux_info.as_ref());
        linux_info.and_then(|info| info.share_cgroups).unwrap_or(true)
    }
}

/// `mesos.slave.ContainerConfig.Docker`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Docker {
    /// The image's manifest, in Docker's first form.
    #[prost(message, optional, tag = "1")]
    pub manifest: Option<ImageManifest>,
}

/// `docker.spec.v1.ImageManifest`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageManifest {
    /// What a container of the image runs with.
    #[prost(message, optional, tag = "9")]
    pub config: Option<ImageConfig>,
}

/// `docker.spec.v1.ImageManifest.Config`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageConfig {
    /// The image's environment, `NAME=value` each.
    #[prost(string, repeated, tag = "3")]
    pub env: Vec<String>,
    /// The image's labels.
    #[prost(message, repeated, tag = "9")]
    pub labels: Vec<ImageLabel>,
}

/// `docker.spec.v1.ImageManifest.Config.LabelsEntry`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ImageLabel {
    /// Its key.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// Its value.
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

/// `mesos.ContainerInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerInfo {
    /// 1: Docker, 2: Mesos.
    #[prost(int32, required, tag = "1")]
    pub r#type: i32,
    /// What is mounted into the container.
    #[prost(message, repeated, tag = "2")]
    pub volumes: Vec<Volume>,
    /// What concerns Linux only.
    #[prost(message, optional, tag = "8")]
    pub linux_info: Option<LinuxInfo>,
}

/// `mesos.Volume`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Volume {
    /// Where, absolute in the container or relative to its sandbox.
    #[prost(string, required, tag = "1")]
    pub container_path: String,
}

/// `mesos.LinuxInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct LinuxInfo {
    /// Whether a nested container uses its parent's cgroups.
    #[prost(bool, optional, tag = "8")]
    pub share_cgroups: Option<bool>,
}

/// `mesos.ExecutorInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ExecutorInfo {
    /// The executor's id, unique inside its framework.
    #[prost(message, required, tag = "1")]
    pub executor_id: ExecutorID,
    /// What the executor itself uses, beside its tasks.
    #[prost(message, repeated, tag = "5")]
    pub resources: Vec<Resource>,
    /// The framework.
    #[prost(message, optional, tag = "8")]
    pub framework_id: Option<FrameworkID>,
}

/// `mesos.TaskInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TaskInfo {
    /// A name for people.
    #[prost(string, required, tag = "1")]
    pub name: String,
    /// The task's id.
    #[prost(message, required, tag = "2")]
    pub task_id: TaskID,
    /// What the task uses.
    #[prost(message, repeated, tag = "4")]
    pub resources: Vec<Resource>,
}

/// `mesos.slave.ContainerState`: a container that was running when the agent stopped. It says nothing of the tasks'
/// resources, so what was granted is read elsewhere.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerState {
    /// The executor; only for top-level containers that have one.
    #[prost(message, optional, tag = "1")]
    pub executor_info: Option<ExecutorInfo>,
    /// Which container.
    #[prost(message, required, tag = "2")]
    pub container_id: ContainerID,
    /// Its first process.
    #[prost(uint64, required, tag = "3")]
    pub pid: u64,
    /// The sandbox on the host.
    #[prost(string, required, tag = "4")]
    pub directory: String,
    /// What kind of container the framework described.
    #[prost(message, optional, tag = "6")]
    pub container_info: Option<ContainerInfo>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::decode;

    /// Writes a field of bytes, as `protoc`'s code would.
    fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        prost::encoding::bytes::encode(number, &bytes.to_vec(), &mut out);
        out
    }

    #[test]
    fn a_container_config_is_read_by_number() {
        let image = [
            field(3, b"A=b"),
            field(9, b"\x0a\x01k\x12\x01v"),
            field(9, b"\x0a\x01l"),
        ]
        .concat(); // env, labels
        let volume = field(2, b"\x18\x01\x0a\x02/c\x12\x02/h"); // mode, container path, host path
        let bytes = [
            field(3, b"/s"),                                                      // directory
            field(4, b"root"),                                                    // user
            field(5, b"/r"),                                                      // rootfs
            field(7, &field(1, &field(9, &image))),                               // docker, manifest, config
            field(8, &[field(1, b"\x0a\x01x"), field(8, b"\x0a\x01f")].concat()), // executor
            field(9, &[field(1, b"n"), field(2, b"\x0a\x01t")].concat()),         // task
            field(11, b"\x1a\x01c"),                                              // command: not declared
            field(
                12,
                &[b"\x08\x02".to_vec(), volume, field(8, b"\x40\x00")].concat(),
            ), // container, Linux, share_cgroups
            field(13, b"\x0a\x04gpus\x10\x00"),                                   // resource
            b"\x70\x02".to_vec(),                                                 // class
        ]
        .concat();
        let config: ContainerConfig = decode("ContainerConfig", &bytes).unwrap();
        assert_eq!(
            (config.directory.as_str(), config.user.as_deref()),
            ("/s", Some("root"))
        );
        assert_eq!(config.rootfs.as_deref(), Some("/r"));
        let docker = config.docker.clone().unwrap().manifest.unwrap().config.unwrap();
        assert_eq!(docker.env, ["A=b"]);
        let labels = docker
            .labels
            .iter()
            .map(|label| (label.key.as_deref(), label.value.as_deref()));
        assert_eq!(
            labels.collect::<Vec<_>>(),
            [(Some("k"), Some("v")), (Some("l"), None)]
        );
        assert_eq!(
            config.container_info.clone().unwrap().volumes[0].container_path,
            "/c"
        );
        let executor = config.executor_info.clone().unwrap();
        assert_eq!(
            (
                executor.executor_id.value.as_str(),
                executor.framework_id.unwrap().value.as_str()
            ),
            ("x", "f")
        );
        let task = config.task_info.clone().unwrap();
        assert_eq!((task.name.as_str(), task.task_id.value.as_str()), ("n", "t"));
        assert_eq!(config.resources[0].name, "gpus");
        assert!(config.is_debug() && !config.shares_cgroups());
        let plain = ContainerConfig::default();
        assert!(!plain.is_debug() && plain.shares_cgroups());
    }

    #[test]
    fn a_container_state_is_read_by_number() {
        let bytes = [
            field(1, &field(1, b"\x0a\x01x")),
            field(2, b"\x0a\x01c"),
            b"\x18\x07".to_vec(),
            field(4, b"/s"),
            field(5, b"/volume"), // ephemeral volumes: not declared
            field(6, b"\x08\x02"),
        ]
        .concat();
        let state: ContainerState = decode("ContainerState", &bytes).unwrap();
        assert_eq!(
            (
                state.container_id.value.as_str(),
                state.pid,
                state.directory.as_str()
            ),
            ("c", 7, "/s")
        );
        assert_eq!(state.executor_info.unwrap().executor_id.value, "x");
        assert_eq!(state.container_info.unwrap().r#type, 2);
    }
}
