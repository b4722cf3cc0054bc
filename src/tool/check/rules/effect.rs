// SPDX-License-Identifier: Apache-2.0
//! Whether what is given has an effect: a parameter that another one switches off is one that somebody relies on in vain.

use super::PARAMETERS_WITHOUT_EFFECT;
use crate::config::Config;
use crate::domain::image::injection::DriverFilesPolicy;
use crate::tool::check::Case;
use crate::tool::finding::Finding;

/// What only counts while idle GPUs are offered a second time.
const OVERSUBSCRIPTION: [&str; 7] = [
    "idle_window",
    "idle_utilization",
    "idle_memory",
    "sample_interval",
    "guests_per_gpu",
    "oversubscribe_pause",
    "oversubscribe_share",
];
/// What only counts where containers get the driver's files.
const DRIVER_FILES: [&str; 3] = ["driver_root", "cdi_spec", "cuda_compat"];

pub(crate) fn check(case: Case<'_>, findings: &mut Vec<Finding>) {
    let Some(config) = &case.settings.agent else {
        return;
    };
    let ours = case.settings.manifest.ours();
    let is_given = |key: &&&str| {
        let mut all = ours.iter().flat_map(|module| &module.parameters);
        all.any(|(other, _)| other == **key)
    };
    for (keys, why, cure) in switched_off(config) {
        let given: Vec<&str> = keys.iter().filter(is_given).copied().collect();
        if !given.is_empty() {
            findings.push(Finding::of(
                PARAMETERS_WITHOUT_EFFECT,
                format!("{} has no effect: {why}", given.join(", ")),
                cure,
            ));
        }
    }
}

/// What has no effect with these settings, why, and what to do.
fn switched_off(config: &Config) -> Vec<(&'static [&'static str], &'static str, &'static str)> {
    let mut off: Vec<(&[&str], _, _)> = Vec::new();
    if !config.oversubscription.on {
        off.push((
            &OVERSUBSCRIPTION,
            "the parameter oversubscribe is off",
            "set oversubscribe to on as well, or leave it out",
        ));
    }
    if config.driver_files == DriverFilesPolicy::Never {
        off.push((
            &DRIVER_FILES,
            "driver_files is never, so no container gets the driver's files",
            "set driver_files to gpus or asked, or leave it out",
        ));
    } else if config.cdi_spec.is_some() {
        off.push((
            &DRIVER_FILES[..1],
            "cdi_spec names the driver's files by the host's own paths",
            "leave one of them out",
        ));
    }
    off
}
