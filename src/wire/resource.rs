// SPDX-License-Identifier: Apache-2.0
//! Resources and attributes: what the agent has and what containers were given.

use super::WireError;
use crate::domain::request::GpuShare;

/// The name of the resource that this library hands out.
pub const GPUS: &str = "gpus";

/// `mesos.Value.Type`: a number.
pub const SCALAR: i32 = 0;
/// `mesos.Value.Type`: a text.
pub const TEXT: i32 = 3;

/// `mesos.Resource`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Resource {
    /// What it is of: `gpus`, `cpus`, …
    #[prost(string, required, tag = "1")]
    pub name: String,
    /// `mesos.Value.Type`: 0 scalar, 1 ranges, 2 set.
    #[prost(int32, required, tag = "2")]
    pub r#type: i32,
    /// How much, when it is a scalar.
    #[prost(message, optional, tag = "3")]
    pub scalar: Option<Scalar>,
    /// The role it is reserved for, in the form before reservations could be refined.
    #[prost(string, optional, tag = "6")]
    pub role: Option<String>,
    /// Present when it can be taken back at any time.
    #[prost(message, optional, tag = "9")]
    pub revocable: Option<RevocableInfo>,
    /// Present when several tasks may use it at once.
    #[prost(message, optional, tag = "10")]
    pub shared: Option<SharedInfo>,
    /// The role it is allocated to.
    #[prost(message, optional, tag = "11")]
    pub allocation_info: Option<AllocationInfo>,
    /// The reservations, each refining the one before.
    #[prost(message, repeated, tag = "13")]
    pub reservations: Vec<ReservationInfo>,
}

impl Resource {
    /// An unreserved amount, as the agent itself writes it in memory: no role and no reservation.
    pub fn scalar(name: &str, value: f64) -> Self {
        Self {
            name: name.to_owned(),
            r#type: SCALAR,
            scalar: Some(Scalar { value }),
            ..Self::default()
        }
    }

    /// Whole `gpus` that can be taken back at any time, for whomever (role `*`); nothing for none of them. Mesos's agent
    /// aborts on a resource of an estimate that is not revocable, and on one in memory that has the old field `role`:
    /// without it and without reservations a resource is the role's `*`.
    pub fn revocable_gpus(count: usize) -> Option<Self> {
        let count = u32::try_from(count).ok().filter(|count| *count > 0)?;
        Some(Self {
            revocable: Some(RevocableInfo {}),
            ..Self::scalar(GPUS, f64::from(count))
        })
    }
}

/// The entries named `gpus`, for [`gpus_wanted`](crate::domain::request::gpus_wanted).
pub fn gpu_shares(resources: &[Resource]) -> Result<Vec<GpuShare>, WireError> {
    let share = |resource: &Resource| match &resource.scalar {
        Some(scalar) => Ok(GpuShare {
            amount: scalar.value,
            revocable: resource.revocable.is_some(),
        }),
        None => Err(WireError::NotScalar {
            name: resource.name.clone(),
        }),
    };
    resources
        .iter()
        .filter(|resource| resource.name == GPUS)
        .map(share)
        .collect()
}

/// `mesos.Value.Scalar`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Scalar {
    /// The number; Mesos counts three decimal digits of it.
    #[prost(double, required, tag = "1")]
    pub value: f64,
}

/// `mesos.Resource.RevocableInfo`: its presence is what it says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct RevocableInfo {}

/// `mesos.Resource.SharedInfo`: its presence is what it says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct SharedInfo {}

/// `mesos.Resource.AllocationInfo`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct AllocationInfo {
    /// The role.
    #[prost(string, optional, tag = "1")]
    pub role: Option<String>,
}

/// `mesos.Resource.ReservationInfo`, as far as it names the role.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ReservationInfo {
    /// The role.
    #[prost(string, optional, tag = "3")]
    pub role: Option<String>,
}

/// Several resources in one message. Mesos has none for that, so the bridge writes one: each resource's bytes as a field
/// with number 1.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Resources {
    /// The resources.
    #[prost(message, repeated, tag = "1")]
    pub resources: Vec<Resource>,
}

/// `mesos.Attribute`: what an agent says about its machine.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Attribute {
    /// Its name.
    #[prost(string, required, tag = "1")]
    pub name: String,
    /// `mesos.Value.Type`: 0 scalar, 3 text.
    #[prost(int32, required, tag = "2")]
    pub r#type: i32,
    /// Its value, when it is a number.
    #[prost(message, optional, tag = "3")]
    pub scalar: Option<Scalar>,
    /// Its value, when it is a text.
    #[prost(message, optional, tag = "5")]
    pub text: Option<Text>,
}

impl Attribute {
    /// An attribute with a text.
    pub fn text(name: &str, value: &str) -> Self {
        let text = Some(Text {
            value: value.to_owned(),
        });
        Self {
            name: name.to_owned(),
            r#type: TEXT,
            scalar: None,
            text,
        }
    }
}

/// `mesos.Value.Text`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Text {
    /// The text.
    #[prost(string, required, tag = "1")]
    pub value: String,
}

/// `mesos.SlaveInfo`: the agent, as it registers with the master.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SlaveInfo {
    /// The machine's name.
    #[prost(string, required, tag = "1")]
    pub hostname: String,
    /// What it has.
    #[prost(message, repeated, tag = "3")]
    pub resources: Vec<Resource>,
    /// What it says about itself.
    #[prost(message, repeated, tag = "5")]
    pub attributes: Vec<Attribute>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::decode;
    use prost::Message;

    /// Writes a field of bytes, as `protoc`'s code would.
    fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        prost::encoding::bytes::encode(number, &bytes.to_vec(), &mut out);
        out
    }

    #[test]
    fn a_resource_is_read_by_number() {
        let mut bytes = b"\x0a\x04gpus\x10\x00".to_vec();
        bytes.extend(field(3, &[&b"\x09"[..], &2f64.to_le_bytes()].concat()));
        bytes.extend(field(6, b"*"));
        bytes.extend(field(9, b""));
        bytes.extend(field(10, b""));
        bytes.extend(field(11, &field(1, b"a")));
        bytes.extend(field(13, &field(3, b"b")));
        let want = Resource {
            role: Some("*".into()),
            revocable: Some(RevocableInfo {}),
            shared: Some(SharedInfo {}),
            allocation_info: Some(AllocationInfo {
                role: Some("a".into()),
            }),
            reservations: vec![ReservationInfo {
                role: Some("b".into()),
            }],
            ..Resource::scalar("gpus", 2.0)
        };
        assert_eq!(decode::<Resource>("Resource", &bytes).unwrap(), want);
        assert_eq!(want.encode_to_vec(), bytes);
        let all: Resources = decode("Resources", &[field(1, &bytes), field(1, &bytes)].concat()).unwrap();
        assert_eq!(all.resources, [want.clone(), want]);
    }

    #[test]
    fn an_agent_is_read_by_number() {
        let mut bytes = field(1, b"host");
        bytes.extend(field(3, b"\x0a\x04cpus\x10\x00"));
        bytes.extend(field(5, b"\x0a\x01m\x10\x03\x2a\x03\x0a\x01v"));
        let info: SlaveInfo = decode("SlaveInfo", &bytes).unwrap();
        assert_eq!(
            (info.hostname.as_str(), info.resources[0].name.as_str()),
            ("host", "cpus")
        );
        assert_eq!(info.attributes, [Attribute::text("m", "v")]);
        assert_eq!(info.encode_to_vec(), bytes);
    }

    #[test]
    fn a_wrong_estimate_cannot_kill_the_agent_its_gpus_are_revocable_unreserved_and_unallocated() {
        assert_eq!(Resource::revocable_gpus(0), None);
        for count in [1, 2, 16] {
            let gpus = Resource::revocable_gpus(count).unwrap();
            assert_eq!((gpus.name.as_str(), gpus.r#type), (GPUS, SCALAR));
            assert!(gpus.revocable.is_some() && gpus.allocation_info.is_none());
            assert!(gpus.role.is_none() && gpus.reservations.is_empty());
            let shares = gpu_shares(std::slice::from_ref(&gpus)).unwrap();
            let amount = u32::try_from(count).unwrap().into();
            let revocable = true;
            assert_eq!(shares, [GpuShare { amount, revocable }]);
        }
        let mut bytes = b"\x0a\x04gpus\x10\x00".to_vec();
        bytes.extend(field(3, &[&b"\x09"[..], &1f64.to_le_bytes()].concat()));
        bytes.extend(field(9, b""));
        assert_eq!(Resource::revocable_gpus(1).unwrap().encode_to_vec(), bytes);
    }

    #[test]
    fn only_entries_named_gpus_are_shares() {
        let mut resources = vec![Resource::scalar("cpus", 1.0), Resource::scalar("vgpus", 9.0)];
        assert_eq!(gpu_shares(&resources).unwrap(), []);
        let revocable = Resource {
            revocable: Some(RevocableInfo {}),
            ..Resource::scalar("gpus", 1.0)
        };
        resources.extend([Resource::scalar("gpus", 0.5), revocable]);
        let want = [
            GpuShare {
                amount: 0.5,
                revocable: false,
            },
            GpuShare {
                amount: 1.0,
                revocable: true,
            },
        ];
        assert_eq!(gpu_shares(&resources).unwrap(), want);
        resources.push(Resource {
            scalar: None,
            r#type: 1,
            ..Resource::scalar("gpus", 0.0)
        });
        assert_eq!(
            gpu_shares(&resources).unwrap_err().to_string(),
            "resource \"gpus\" has no scalar value"
        );
    }
}
