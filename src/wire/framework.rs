// SPDX-License-Identifier: Apache-2.0
//! What a framework says of itself when it registers.

/// `mesos.FrameworkInfo.Capability.Type`: it knows what `gpus` are.
pub const GPU_RESOURCES: i32 = 3;

/// `mesos.FrameworkInfo`, as far as it says who it is and what it may have.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct FrameworkInfo {
    /// Its name, which need not be its own.
    #[prost(string, required, tag = "2")]
    pub name: String,
    /// Its role, where it has one only.
    #[prost(string, optional, tag = "6")]
    pub role: Option<String>,
    /// What it can handle.
    #[prost(message, repeated, tag = "10")]
    pub capabilities: Vec<Capability>,
    /// Its roles, where it may have several.
    #[prost(string, repeated, tag = "12")]
    pub roles: Vec<String>,
}

impl FrameworkInfo {
    /// Whether it may be offered GPUs.
    pub fn has_gpu_resources(&self) -> bool {
        self.capabilities
            .iter()
            .any(|one| one.r#type == Some(GPU_RESOURCES))
    }

    /// The roles that it subscribes to.
    pub fn subscribed(&self) -> Vec<&str> {
        match self.roles.as_slice() {
            [] => vec![self.role.as_deref().unwrap_or("*")],
            roles => roles.iter().map(String::as_str).collect(),
        }
    }
}

/// `mesos.FrameworkInfo.Capability`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Capability {
    /// `mesos.FrameworkInfo.Capability.Type`.
    #[prost(int32, optional, tag = "1")]
    pub r#type: Option<i32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::decode;

    #[test]
    fn a_framework_is_read_by_number() {
        // 1 user, 2 name, 6 role, 10 capabilities (MULTI_ROLE, GPU_RESOURCES), 12 roles
        let bytes =
            b"\x0a\x01u\x12\x05spark\x32\x01r\x52\x02\x08\x06\x52\x02\x08\x03\x62\x01a\x62\x03b/c".as_slice();
        let info: FrameworkInfo = decode("FrameworkInfo", bytes).unwrap();
        assert_eq!(info.name, "spark");
        assert!(info.has_gpu_resources());
        assert_eq!(info.subscribed(), ["a", "b/c"]);
    }

    #[test]
    fn without_roles_it_has_one_and_without_any_the_default() {
        let info = FrameworkInfo {
            role: Some("r".to_owned()),
            ..FrameworkInfo::default()
        };
        assert_eq!(info.subscribed(), ["r"]);
        assert_eq!(FrameworkInfo::default().subscribed(), ["*"]);
        assert!(!info.has_gpu_resources());
    }
}
