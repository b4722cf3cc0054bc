// SPDX-License-Identifier: Apache-2.0
//! The files of a driver's user-space part, and where a container finds them below `/usr/local/nvidia`.

use std::path::PathBuf;

/// Where containers find the driver, as with Mesos's own isolator.
pub const DRIVER_FOLDER: &str = "/usr/local/nvidia";

/// A folder below [`DRIVER_FOLDER`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// `bin`: programs.
    Bin,
    /// `lib64`: libraries of 64 bits.
    Lib64,
    /// `lib`: libraries of 32 bits.
    Lib32,
    /// A folder below `share`, for example `vulkan/icd.d`.
    Share(String),
    /// `firmware`: what the driver loads into a GPU.
    Firmware,
}

impl Place {
    /// The folder, relative to [`DRIVER_FOLDER`].
    pub fn folder(&self) -> String {
        match self {
            Self::Bin => "bin".to_owned(),
            Self::Lib64 => "lib64".to_owned(),
            Self::Lib32 => "lib".to_owned(),
            Self::Share(below) => format!("share/{below}"),
            Self::Firmware => "firmware".to_owned(),
        }
    }
}

/// One file of the driver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriverFile {
    /// The file itself on the host, absolute, no link.
    pub source: PathBuf,
    /// Where it goes.
    pub place: Place,
    /// Its name there: that of `source`.
    pub name: String,
    /// Other names by which programs ask for it, for example `libcuda.so.1`; links beside it.
    pub links: Vec<String>,
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DriverFiles {
    /// The driver's version, for example `580.159.04`.
    pub version: String,
    /// The files, sorted, no two with the same place and name.
    pub files: Vec<DriverFile>,
    /// What was left out and why, for the log.
    pub notes: Vec<String>,
}
