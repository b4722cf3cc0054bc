// SPDX-License-Identifier: Apache-2.0
//! The driver's texts, taken apart. They are made for people and differ between drivers; what is unfinished or wrong is
//! told in words, so that a person can see why a GPU is missing.

use crate::domain::gpu::PciAddress;
use crate::ports::driver_proc::ProcGpu;
use crate::system::gpu_identity::{self, shown};
use std::collections::BTreeMap;

/// The version in the driver's `version` file. The proprietary and the open kernel module word the line differently
/// (the latter has the architecture behind its name), so it is the first word that looks like a version.
pub(super) fn driver_version(text: &str) -> Option<String> {
    let is_version = |word: &&str| {
        word.contains('.')
            && word
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("NVRM version:"))?;
    line.split_whitespace().find(is_version).map(str::to_owned)
}

/// The GPU in an `information` file of the directory `name`.
pub(super) fn gpu(name: &str, text: &str) -> Result<ProcGpu, String> {
    let mut fields: BTreeMap<&str, &str> = BTreeMap::new();
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let (key, value) = (key.trim(), value.trim());
        if fields.insert(key, value).is_some_and(|earlier| earlier != value) {
            return Err(format!("its line {} is there twice", shown(key)));
        }
    }
    let needed = |key: &str| {
        fields
            .get(key)
            .copied()
            .ok_or_else(|| format!("its line \"{key}\" is missing"))
    };

    let uuid = gpu_identity::gpu_uuid(needed("GPU UUID")?)?;
    let minor = needed("Device Minor")?;
    let minor = minor
        .parse()
        .map_err(|_| format!("its minor number {} is not a number", shown(minor)))?;
    let pci: PciAddress = name.parse().map_err(|_| "its name is not a PCI address")?;
    if let Some(location) = fields.get("Bus Location") {
        let at: PciAddress = location
            .parse()
            .map_err(|_| format!("its bus location {} is not a PCI address", shown(location)))?;
        if at != pci {
            return Err(format!("it says it is at {at}"));
        }
    }
    // Drivers before 470 say "Blacklisted", the oldest say nothing.
    let excluded = match fields
        .get("GPU Excluded")
        .or_else(|| fields.get("Blacklisted"))
        .copied()
    {
        Some("Yes") => true,
        Some("No") | None => false,
        Some(other) => {
            return Err(format!(
                "whether it is excluded is told as {}, not Yes or No",
                shown(other)
            ));
        }
    };
    let model = fields
        .get("Model")
        .filter(|model| !model.is_empty() && **model != "Unknown");
    Ok(ProcGpu {
        uuid,
        pci,
        minor: gpu_identity::gpu_minor(minor)?,
        model: model.map(|model| (*model).to_owned()),
        excluded,
        mig: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 33\nGPU UUID: \t GPU-12345678-1234\nBus Type: \t PCIe\n\
        Bus Location: \t 0000:3b:00.0\nDevice Minor: \t 2\nGPU Firmware: \t 580.159.04\nGPU Excluded:\t No\n";

    #[test]
    fn a_whole_file_is_read() {
        let whole = gpu("0000:3b:00.0", WHOLE).unwrap();
        assert_eq!(
            (
                whole.uuid.as_str(),
                whole.pci.to_string().as_str(),
                whole.minor,
                whole.model.as_deref(),
                whole.excluded
            ),
            ("GPU-12345678-1234", "0000:3b:00.0", 2, Some("NVIDIA H200"), false)
        );
        assert!(
            gpu("0000:3b:00.0", &WHOLE.replace("\t No", "\t Yes"))
                .unwrap()
                .excluded
        );
        assert!(
            gpu(
                "0000:3b:00.0",
                &WHOLE.replace("GPU Excluded:\t No", "Blacklisted: Yes")
            )
            .unwrap()
            .excluded
        );
        assert_eq!(
            gpu("0000:3b:00.0", &WHOLE.replace("NVIDIA H200", "Unknown"))
                .unwrap()
                .model,
            None
        );
    }

    #[test]
    fn a_wrong_or_unfinished_file_is_refused_in_words() {
        for (from, to, why) in [
            ("GPU-12345678-1234", "GPU-????????-????", "not readable yet"),
            ("GPU-12345678-1234", "GPU-1,GPU-2", "not a UUID"),
            ("Device Minor: \t 2", "", "\"Device Minor\" is missing"),
            ("Device Minor: \t 2", "Device Minor: -1", "not a number"),
            ("Device Minor: \t 2", "Device Minor: 255", "cannot be a GPU's"),
            (
                "Device Minor: \t 2",
                "Device Minor: 2\nDevice Minor: 3",
                "there twice",
            ),
            ("0000:3b:00.0", "0000:3c:00.0", "says it is at 0000:3c:00.0"),
            ("0000:3b:00.0", "over there", "bus location"),
            ("Excluded:\t No", "Excluded:\t Perhaps", "not Yes or No"),
        ] {
            let problem = gpu("0000:3b:00.0", &WHOLE.replace(from, to)).unwrap_err();
            assert!(problem.contains(why), "{to}: {problem}");
        }
        assert!(gpu("0000:3b:00.0", "").is_err());
        assert!(gpu("not-an-address", WHOLE).is_err());
    }

    #[test]
    fn the_version_is_found_in_both_spellings() {
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Nov  4 20:00:00 UTC 2025\nGCC version:  gcc version 12.2.0 (Debian)";
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder@host)";
        assert_eq!(driver_version(closed).as_deref(), Some("580.159.04"));
        assert_eq!(driver_version(open).as_deref(), Some("580.159.04"));
        for text in [
            "",
            "GCC version: 12.2.0",
            "NVRM version:",
            "NVRM version: none of x86_64 . 1. .1",
        ] {
            assert_eq!(driver_version(text), None, "{text}");
        }
    }
}
