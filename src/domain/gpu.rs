// SPDX-License-Identifier: Apache-2.0
//! What can be handed out: a whole GPU or a MIG instance, identified by UUID.
//!
//! NVML's index, the kernel's minor number and the UUID are three different things. Only the UUID is an identity here;
//! minors are read fresh where a device rule is written, indices are for people.

use std::fmt;

/// The identity of a unit: the UUID as the driver spells it, `GPU-…` or `MIG-…`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(String);

impl UnitId {
    /// Takes the UUID as the driver spells it; spaces around it are dropped.
    pub fn new(uuid: &str) -> Self {
        Self(uuid.trim().to_owned())
    }

    /// The UUID as the driver spells it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A PCI address. Ordered as NVML orders its indices: by domain, bus, device, function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// PCI domain (segment).
    pub domain: u32,
    /// Bus number.
    pub bus: u8,
    /// Device (slot) number, 0 to 31.
    pub device: u8,
    /// Function number, 0 to 7.
    pub function: u8,
}

/// Why a text is no PCI address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a PCI address of the form [domain:]bus:device[.function] in hexadecimal, for example 0000:3b:00.0"
)]
pub struct PciAddressError(pub String);

impl std::str::FromStr for PciAddress {
    type Err = PciAddressError;

    /// Takes the spellings of the kernel (`0000:3b:00.0`), of NVML (`00000000:3B:00.0`) and without domain or function.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || PciAddressError(text.to_owned());
        let hex = |part: &str, max: u32| {
            let ok = !part.is_empty() && part.len() <= 8 && part.bytes().all(|b| b.is_ascii_hexdigit());
            u32::from_str_radix(part, 16)
                .ok()
                .filter(|value| ok && *value <= max)
        };
        let text_ = text.trim();
        let (address, function) = text_.split_once('.').unwrap_or((text_, "0"));
        let parts: Vec<&str> = address.split(':').collect();
        let (domain, bus, device) = match parts[..] {
            [domain, bus, device] => (domain, bus, device),
            [bus, device] => ("0", bus, device),
            _ => return Err(wrong()),
        };
        let byte = |part: &str, max: u32| {
            hex(part, max)
                .and_then(|v| u8::try_from(v).ok())
                .ok_or_else(wrong)
        };
        Ok(Self {
            domain: hex(domain, u32::MAX).ok_or_else(wrong)?,
            bus: byte(bus, 0xff)?,
            device: byte(device, 0x1f)?,
            function: byte(function, 7)?,
        })
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:04x}:{:02x}:{:02x}.{}",
            self.domain, self.bus, self.device, self.function
        )
    }
}

/// What a unit is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitKind {
    /// A whole GPU.
    Gpu,
    /// A MIG compute instance of a GPU.
    Mig {
        /// The GPU it is cut from.
        parent: UnitId,
        /// GPU instance number inside the parent.
        gpu_instance: u32,
        /// Compute instance number inside the GPU instance.
        compute_instance: u32,
        /// The profile's name as the driver spells it, for example `1g.18gb`; none when unknown.
        profile: Option<String>,
    },
}

/// One thing that a container can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Its identity.
    pub id: UnitId,
    /// A whole GPU or a part of one.
    pub kind: UnitKind,
    /// Where the GPU (or the parent) sits; also the order in which units are listed.
    pub pci: PciAddress,
    /// The kernel's minor number of `/dev/nvidia<minor>` (the parent's for a MIG instance), as last read.
    pub minor: u32,
    /// NVML's index of the GPU (the parent's for a MIG instance); none until NVML has answered.
    pub index: Option<u32>,
    /// Marketing name, for example `NVIDIA H200`; none when unknown.
    pub model: Option<String>,
    /// Device memory in bytes; none when unknown or not supported.
    pub memory_bytes: Option<u64>,
}

impl Unit {
    /// The identity of the GPU: the unit's own, or that of the GPU which it is a part of.
    pub fn gpu_id(&self) -> &UnitId {
        match &self.kind {
            UnitKind::Gpu => &self.id,
            UnitKind::Mig { parent, .. } => parent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_are_read_in_every_spelling_and_written_in_the_kernels() {
        for (text, want) in [
            ("0000:3b:00.0", "0000:3b:00.0"),
            ("00000000:3B:00.0", "0000:3b:00.0"),
            ("3b:00", "0000:3b:00.0"),
            ("10000:af:1f.7", "10000:af:1f.7"),
        ] {
            assert_eq!(text.parse::<PciAddress>().unwrap().to_string(), want, "{text}");
        }
        for text in [
            "",
            "3b",
            "0000:3b:20.0",
            "0000:3b:00.8",
            "0000:1ff:00.0",
            "x:y:z",
            "0:0:0:0",
            "+1:00",
            "0000:3b:00.",
        ] {
            assert!(text.parse::<PciAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn pci_order_is_the_order_of_nvml_indices() {
        let sorted = ["0000:06:00.0", "0000:3b:00.0", "0000:af:00.0", "0001:01:00.0"];
        let mut parsed: Vec<PciAddress> = sorted.iter().rev().map(|t| t.parse().unwrap()).collect();
        parsed.sort();
        assert_eq!(parsed.iter().map(ToString::to_string).collect::<Vec<_>>(), sorted);
    }
}
