// SPDX-License-Identifier: Apache-2.0
//! What kind of machine a library is for, from its first bytes: a host may hold the driver's libraries once for programs
//! of 64 bits and once for those of 32, under the same names.

/// How many bytes of a file [`class`] needs.
pub const HEADER: usize = 20;

/// How wide a program's addresses are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bits {
    /// 32 bits.
    Bits32,
    /// 64 bits.
    Bits64,
}

/// The processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// `x86_64`.
    X86_64,
    /// `i386` and its successors.
    I386,
    /// ARM of 64 bits.
    Aarch64,
    /// Any other, by its number.
    Other(u16),
}

impl Machine {
    /// The one that this program was built for.
    pub const OWN: Self = if cfg!(target_arch = "aarch64") {
        Self::Aarch64
    } else {
        Self::X86_64
    };
}

/// Both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Width of addresses.
    pub bits: Bits,
    /// Processor.
    pub machine: Machine,
}

/// The class of the ELF file that begins with `header`; none if it is no ELF file for machines with the low byte first.
pub fn class(header: &[u8]) -> Option<Class> {
    let header: &[u8; HEADER] = header.first_chunk()?;
    let bits = match header[4] {
        1 => Bits::Bits32,
        2 => Bits::Bits64,
        _ => return None,
    };
    if !header.starts_with(b"\x7fELF") || header[5] != 1 {
        return None;
    }
    let machine = match u16::from_le_bytes([header[18], header[19]]) {
        3 => Machine::I386,
        62 => Machine::X86_64,
        183 => Machine::Aarch64,
        other => Machine::Other(other),
    };
    Some(Class { bits, machine })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(class: u8, order: u8, machine: u16) -> Vec<u8> {
        let mut bytes = b"\x7fELF".to_vec();
        bytes.extend([class, order, 1]);
        bytes.resize(16, 0);
        bytes.extend(3u16.to_le_bytes());
        bytes.extend(machine.to_le_bytes());
        bytes
    }

    #[test]
    fn width_and_machine_are_told_apart() {
        use Bits::{Bits32, Bits64};
        for (byte, number, bits, machine) in [
            (2, 62, Bits64, Machine::X86_64),
            (1, 62, Bits32, Machine::X86_64),
            (1, 3, Bits32, Machine::I386),
            (2, 183, Bits64, Machine::Aarch64),
            (1, 40, Bits32, Machine::Other(40)),
        ] {
            assert_eq!(class(&header(byte, 1, number)), Some(Class { bits, machine }));
        }
    }

    #[test]
    fn what_is_no_elf_file_of_such_machines_has_no_class() {
        assert_eq!(class(&[]), None);
        assert_eq!(class(&header(2, 1, 62)[..19]), None);
        assert_eq!(class(&header(3, 1, 62)), None);
        assert_eq!(class(&header(2, 2, 62)), None);
        assert_eq!(class(b"#!/bin/sh\necho not a library\n"), None);
    }

    #[test]
    fn this_program_is_of_the_own_machine() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(class(&own).unwrap().machine, Machine::OWN);
    }
}
