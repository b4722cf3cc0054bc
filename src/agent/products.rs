// SPDX-License-Identifier: Apache-2.0
//! What NVML told of the products that the GPUs are: what images' requirements are compared with.

use crate::domain::gpu::UnitId;
use crate::ports::nvml::{Product, Survey};
use std::collections::BTreeMap;

/// The products. Until NVML has answered, nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Products {
    /// The newest CUDA that the driver serves, major and minor.
    pub cuda_version: Option<(u32, u32)>,
    of: BTreeMap<UnitId, Product>,
}

impl Products {
    /// Learns what a survey tells. What an earlier one told and this one does not stays known: products do not change.
    pub fn learn(&mut self, survey: &Survey) {
        self.cuda_version = survey.cuda_version.or(self.cuda_version);
        for gpu in &survey.gpus {
            self.of.insert(gpu.uuid.clone(), gpu.product.clone());
        }
    }

    /// The product of the GPU with this UUID.
    pub fn of(&self, gpu: &UnitId) -> Option<&Product> {
        self.of.get(gpu)
    }
}
