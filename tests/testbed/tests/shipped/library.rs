// SPDX-License-Identifier: Apache-2.0
//! The built libraries: the one that cargo made for these tests, and the release build where `tests/run` made one.

use std::path::{Path, PathBuf};

use testbed::{Testbed, support};

/// Names the release build. A variable, because a test cannot know the build folder of another profile.
const RELEASE: &str = "MESOS_GPU_RELEASE_LIBRARY";

pub struct Library {
    pub path: PathBuf,
    pub data: Vec<u8>,
    /// Made without debug assertions, and by a compiler that drops what it can.
    pub optimized: bool,
}

impl Library {
    fn at(path: PathBuf, optimized: bool) -> Self {
        let data = std::fs::read(&path).unwrap_or_else(|why| panic!("cannot read {}: {why}", path.display()));
        Self {
            path,
            data,
            optimized,
        }
    }

    /// The build that the tests run: of the profile of the tests.
    pub fn tested() -> Self {
        Self::at(Testbed::module_library().unwrap(), !cfg!(debug_assertions))
    }

    fn release() -> Option<Self> {
        let path = std::env::var_os(RELEASE).filter(|path| !path.is_empty())?;
        Some(Self::at(PathBuf::from(path), true))
    }

    /// The release build; none, and SKIPPED said, where there is none.
    pub fn released(test: &str) -> Option<Self> {
        let found = Self::release();
        if found.is_none() {
            support::skip(&format!(
                "{test}: a release build ({RELEASE}; tests/run makes one)"
            ));
        }
        found
    }

    /// Every build there is. What is said of one holds for all, so this does not say what is missing.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::tested()];
        all.extend(Self::release());
        all
    }

    /// Whether the file has this text in it, wherever.
    pub fn contains(&self, text: &str) -> bool {
        self.data
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    }
}

/// A file of the repository.
pub fn repository(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("cannot read {}: {why}", path.display()))
}
