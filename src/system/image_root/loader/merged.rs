// SPDX-License-Identifier: Apache-2.0
//! The loader caches that were made: most containers of a machine have one of few images, and to merge the driver into a
//! cache of thousands of libraries takes longer than all else that a launch needs. Only the same bytes have the same
//! result, so it is they that are compared, and no name or time stamp of the image's.

use super::entries;
use crate::domain::driver_file::DriverFile;
use crate::domain::loader_cache::{CacheError, Merged, merge};
use std::collections::VecDeque;

/// How many are kept; each is of another image.
const MOST: usize = 16;
/// What an image may bring and be kept: far more than a distribution's.
const LARGEST: usize = 1 << 20;

/// What was made for one driver, the latest first.
#[derive(Debug, Default)]
pub struct LoaderCaches {
    files: Vec<DriverFile>,
    made: VecDeque<Made>,
}

#[derive(Debug)]
struct Made {
    own: Option<Vec<u8>>,
    merged: Merged,
}

impl LoaderCaches {
    /// The image's own cache, if it has one, with the driver's libraries.
    ///
    /// # Errors
    /// As for [`merge`].
    pub(super) fn with_driver(
        &mut self,
        files: &[DriverFile],
        own: Option<Vec<u8>>,
    ) -> Result<&Merged, CacheError> {
        if self.files != files {
            self.made.clear();
            self.files = files.to_vec();
        }
        let made = match self.made.iter().position(|made| made.own == own) {
            Some(at) => self.made.remove(at),
            None => None,
        };
        let made = match made {
            Some(made) => made,
            None => Made {
                merged: merge(own.as_deref(), &entries(files))?,
                own,
            },
        };
        // One that is too large makes way for the next.
        let too_large = |made: &Made| made.own.as_ref().is_some_and(|own| own.len() > LARGEST);
        self.made.retain(|made| !too_large(made));
        self.made.truncate(MOST - 1);
        self.made.push_front(made);
        Ok(&self.made[0].merged)
    }
}
