// SPDX-License-Identifier: Apache-2.0
//! Lines of the v1 `devices` controller, as data.

use crate::domain::device::{DeviceNumber, NVIDIA_MAJOR};
use std::fmt;
use std::str::FromStr;

/// A number or any number (`*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Number {
    /// Every number.
    Any,
    /// This number.
    Is(u32),
}

impl Number {
    /// Whether every number that `other` stands for is also meant by this one.
    pub fn covers(self, other: Number) -> bool {
        self == Number::Any || self == other
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Any => f.write_str("*"),
            Number::Is(n) => write!(f, "{n}"),
        }
    }
}

/// What may be done with a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Access {
    /// Open for reading.
    pub read: bool,
    /// Open for writing.
    pub write: bool,
    /// Make a node of it.
    pub mknod: bool,
}

impl Access {
    /// Open for reading and writing: what a GPU user needs.
    pub const READ_WRITE: Access = Access {
        read: true,
        write: true,
        mknod: false,
    };
    /// Everything: what is denied when a device is taken back.
    pub const ALL: Access = Access {
        read: true,
        write: true,
        mknod: true,
    };

    /// Whether everything that `other` allows is allowed by this too.
    pub fn covers(self, other: Access) -> bool {
        (self.read || !other.read) && (self.write || !other.write) && (self.mknod || !other.mknod)
    }
}

/// The kind of node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// Character and block nodes.
    All,
    /// Character nodes.
    Char,
    /// Block nodes.
    Block,
}

/// One line: `c 195:0 rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceRule {
    /// The kind of node.
    pub kind: NodeKind,
    /// Major number.
    pub major: Number,
    /// Minor number.
    pub minor: Number,
    /// What may be done.
    pub access: Access,
}

impl DeviceRule {
    /// The rule that lets a container use one character device.
    pub fn grant(device: DeviceNumber) -> Self {
        Self::of(device, Access::READ_WRITE)
    }

    /// The rule that, denied, takes one character device back whatever was granted of it.
    pub fn revoke(device: DeviceNumber) -> Self {
        Self::of(device, Access::ALL)
    }

    fn of(device: DeviceNumber, access: Access) -> Self {
        Self {
            kind: NodeKind::Char,
            major: Number::Is(device.major),
            minor: Number::Is(device.minor),
            access,
        }
    }

    /// The one character device the rule names, if it names exactly one and lets it be opened.
    ///
    /// Wildcards name no device: what they allow was not granted to this container.
    pub fn opens(&self) -> Option<DeviceNumber> {
        match (self.kind, self.major, self.minor) {
            (NodeKind::Char, Number::Is(major), Number::Is(minor))
                if self.access.read || self.access.write =>
            {
                Some(DeviceNumber { major, minor })
            }
            _ => None,
        }
    }

    /// Whether the rule opens every GPU there is.
    pub fn opens_all_gpus(&self) -> bool {
        let opens = self.access.read || self.access.write;
        opens
            && self.kind != NodeKind::Block
            && self.minor == Number::Any
            && self.major.covers(Number::Is(NVIDIA_MAJOR))
    }
}

impl fmt::Display for DeviceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            NodeKind::All => 'a',
            NodeKind::Char => 'c',
            NodeKind::Block => 'b',
        };
        write!(f, "{kind} {}:{} ", self.major, self.minor)?;
        for (set, letter) in [
            (self.access.read, "r"),
            (self.access.write, "w"),
            (self.access.mknod, "m"),
        ] {
            if set {
                f.write_str(letter)?;
            }
        }
        Ok(())
    }
}

/// Why a line is no device rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a device rule of the form \"c 195:0 rwm\"")]
pub struct DeviceRuleError(pub String);

impl FromStr for DeviceRule {
    type Err = DeviceRuleError;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let wrong = || DeviceRuleError(line.to_owned());
        let number = |text: &str| match text {
            "*" => Some(Number::Any),
            _ => text.parse().ok().map(Number::Is),
        };
        let mut fields = line.split_whitespace();
        let (kind, numbers, letters) = match (fields.next(), fields.next(), fields.next(), fields.next()) {
            (Some(kind), Some(numbers), Some(letters), None) => (kind, numbers, letters),
            _ => return Err(wrong()),
        };
        let kind = match kind {
            "a" => NodeKind::All,
            "c" => NodeKind::Char,
            "b" => NodeKind::Block,
            _ => return Err(wrong()),
        };
        let (major, minor) = numbers.split_once(':').ok_or_else(wrong)?;
        let mut access = Access::default();
        for letter in letters.chars() {
            match letter {
                'r' => access.read = true,
                'w' => access.write = true,
                'm' => access.mknod = true,
                _ => return Err(wrong()),
            }
        }
        Ok(Self {
            kind,
            major: number(major).ok_or_else(wrong)?,
            minor: number(minor).ok_or_else(wrong)?,
            access,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_written_as_the_kernel_does() {
        for line in [
            "a *:* rwm",
            "c 195:0 rw",
            "c *:* m",
            "b 8:1 r",
            "c 195:255 rwm",
            "c 136:* rwm",
        ] {
            assert_eq!(line.parse::<DeviceRule>().unwrap().to_string(), line);
        }
        for line in [
            "",
            "c",
            "c 195:0",
            "x 195:0 rw",
            "c 195 rw",
            "c 195:0 rx",
            "c -1:0 r",
            "c 195:0 rw extra",
        ] {
            assert!(line.parse::<DeviceRule>().is_err(), "{line}");
        }
    }

    #[test]
    fn only_an_exact_open_rule_counts_as_a_grant() {
        let opens = |line: &str| line.parse::<DeviceRule>().unwrap().opens().map(|d| d.to_string());
        assert_eq!(opens("c 195:1 rw"), Some("195:1".into()));
        assert_eq!(opens("c 195:1 r"), Some("195:1".into()));
        assert_eq!(opens("c 195:1 m"), None);
        assert_eq!(opens("c 195:* rw"), None);
        assert_eq!(opens("a *:* rwm"), None);
        assert_eq!(opens("b 195:1 rw"), None);
    }
}
