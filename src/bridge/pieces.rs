// SPDX-License-Identifier: Apache-2.0
//! Resources as the filter sees them, and its verdicts as amounts that Mesos's own arithmetic can take out of an offer and
//! put back: Mesos counts thousandths, and ends the master when more is given back than was offered.

use super::ffi::bridge::{Message, Messages, Part, Share};
use super::message::{each, read};
use crate::error::Error;
use crate::filter::{Kind, Piece, Used};
use crate::wire::Resource;
use crate::wire::resource::{GPUS, SCALAR};

/// Mesos counts this many to one.
const FRACTIONS: f64 = 1000.0;
/// The role of what is reserved to none.
const ANY_ROLE: &str = "*";

/// The messages of a list.
pub(super) fn resources(messages: &[Message]) -> Result<Vec<Resource>, Error> {
    messages.iter().map(|one| read("Resource", &one.bytes)).collect()
}

/// The messages of a row.
pub(super) fn resources_in(messages: &Messages<'_>) -> Result<Vec<Resource>, Error> {
    each(messages).map(|bytes| read("Resource", bytes?)).collect()
}

/// Each resource as a piece.
pub(super) fn of(resources: &[Resource]) -> Vec<Piece> {
    resources.iter().map(piece).collect()
}

fn piece(resource: &Resource) -> Piece {
    let kind = match resource.name.as_str() {
        _ if resource.r#type != SCALAR => Kind::Other,
        GPUS => Kind::Gpus,
        "cpus" => Kind::Cpus,
        "mem" => Kind::Mem,
        "disk" => Kind::Disk,
        _ => Kind::Other,
    };
    let role = resource.role.as_deref().unwrap_or(ANY_ROLE);
    Piece {
        kind,
        amount: amount(resource),
        reserved: !resource.reservations.is_empty() || role != ANY_ROLE,
        revocable: resource.revocable.is_some(),
    }
}

/// What is not counted is there once.
fn amount(resource: &Resource) -> f64 {
    match &resource.scalar {
        Some(scalar) if resource.r#type == SCALAR => scalar.value,
        _ => 1.0,
    }
}

/// The role that resources are allocated to; Mesos hands over those of one role at a time.
pub(super) fn role(resources: &[Resource]) -> &str {
    let allocation = resources.first().and_then(|one| one.allocation_info.as_ref());
    allocation
        .and_then(|info| info.role.as_deref())
        .unwrap_or_default()
}

/// The GPUs of what somebody uses.
pub(super) fn used(shares: &[Share]) -> Result<Vec<Used>, Error> {
    let mut all = Vec::new();
    for share in shares {
        for resource in resources(&share.resources)? {
            let piece = piece(&resource);
            if piece.kind == Kind::Gpus {
                all.push(Used {
                    whose: share.id.clone(),
                    role: role(std::slice::from_ref(&resource)).to_owned(),
                    piece,
                });
            }
        }
    }
    Ok(all)
}

/// What is withheld of the resources, in thousandths and never more than there is. What tasks share is left alone: one
/// object of it is offered many times.
pub(super) fn parts(withheld: &[(usize, f64)], resources: &[Resource]) -> Result<Vec<Part>, Error> {
    let mut taken = vec![false; resources.len()];
    let mut parts = Vec::new();
    for &(index, wanted) in withheld {
        let resource = resources
            .get(index)
            .filter(|_| !taken[index] && wanted.is_finite());
        let resource = resource.ok_or_else(|| {
            Error::defect(format!(
                "a verdict withholds {wanted} of piece {index} of {}, or twice",
                resources.len()
            ))
        })?;
        taken[index] = true;
        let (wanted, there) = (count(wanted), count(amount(resource)));
        if wanted > 0.0 && there > 0.0 && resource.shared.is_none() {
            parts.push(Part {
                index,
                // What is not counted cannot be divided.
                whole: wanted >= there || resource.r#type != SCALAR,
                amount: wanted / FRACTIONS,
            });
        }
    }
    Ok(parts)
}

fn count(amount: f64) -> f64 {
    (amount * FRACTIONS).round()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::resource::{AllocationInfo, ReservationInfo, RevocableInfo, SharedInfo};
    use prost::Message as _;

    fn share(id: &str, resources: &[Resource]) -> Share {
        let resources = resources.iter().map(|one| Message {
            bytes: one.encode_to_vec(),
        });
        Share {
            id: id.to_owned(),
            resources: resources.collect(),
        }
    }

    fn of_role(name: &str, value: f64, role: &str) -> Resource {
        let allocation_info = Some(AllocationInfo {
            role: Some(role.to_owned()),
        });
        Resource {
            allocation_info,
            ..Resource::scalar(name, value)
        }
    }

    fn taken(withheld: &[(usize, f64)], resources: &[Resource]) -> Vec<(usize, bool, f64)> {
        let parts = parts(withheld, resources).unwrap();
        parts
            .iter()
            .map(|part| (part.index, part.whole, part.amount))
            .collect()
    }

    #[test]
    fn a_piece_says_what_kind_how_much_and_for_whom() {
        let reserved = Resource {
            reservations: vec![ReservationInfo {
                role: Some("a".into()),
            }],
            ..Resource::scalar("cpus", 0.5)
        };
        let by_role = |role: &str| Resource {
            role: Some(role.into()),
            ..Resource::scalar("mem", 32.0)
        };
        let revocable = Resource {
            revocable: Some(RevocableInfo {}),
            ..Resource::scalar("gpus", 2.0)
        };
        let ports = Resource {
            r#type: 1,
            scalar: None,
            ..Resource::scalar("ports", 0.0)
        };
        let got = of(&[reserved, by_role("*"), by_role("a"), revocable, ports]);
        let piece = |kind, amount, reserved, revocable| Piece {
            kind,
            amount,
            reserved,
            revocable,
        };
        assert_eq!(
            got,
            [
                piece(Kind::Cpus, 0.5, true, false),
                piece(Kind::Mem, 32.0, false, false),
                piece(Kind::Mem, 32.0, true, false),
                piece(Kind::Gpus, 2.0, false, true),
                piece(Kind::Other, 1.0, false, false),
            ]
        );
    }

    #[test]
    fn of_what_is_used_only_gpus_are_told() {
        let all = used(&[share(
            "f",
            &[of_role("cpus", 1.0, "r"), of_role("gpus", 2.0, "r")],
        )])
        .unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(
            (all[0].whose.as_str(), all[0].role.as_str(), all[0].piece.amount),
            ("f", "r", 2.0)
        );
        assert!(used(&[share("f", &[])]).unwrap().is_empty());
    }

    #[test]
    fn what_is_withheld_is_counted_in_thousandths_and_never_more_than_there_is() {
        let resources = [
            Resource::scalar("gpus", 4.0),
            Resource::scalar("cpus", 1.2),
            Resource::scalar("mem", 32.0),
        ];
        assert_eq!(
            taken(&[(0, 4.0), (1, 0.30049)], &resources),
            [(0, true, 4.0), (1, false, 0.3)]
        );
        assert_eq!(
            taken(&[(1, 1.19951), (2, 33.0)], &resources),
            [(1, true, 1.2), (2, true, 33.0)]
        );
        assert_eq!(taken(&[(0, 0.0), (1, -1.0), (2, 0.0004)], &resources), []);
    }

    #[test]
    fn what_is_shared_is_left_and_what_is_not_counted_goes_as_a_whole() {
        let shared = Resource {
            shared: Some(SharedInfo {}),
            ..Resource::scalar("disk", 10.0)
        };
        let ports = Resource {
            r#type: 1,
            scalar: None,
            ..Resource::scalar("ports", 0.0)
        };
        assert_eq!(taken(&[(0, 10.0), (1, 0.5)], &[shared, ports]), [(1, true, 0.5)]);
    }

    #[test]
    fn a_verdict_that_makes_no_sense_is_refused_as_a_whole() {
        let resources = [Resource::scalar("gpus", 4.0)];
        for bad in [&[(1, 1.0)][..], &[(0, 1.0), (0, 1.0)], &[(0, f64::NAN)]] {
            assert!(parts(bad, &resources).is_err(), "{bad:?}");
        }
    }
}
