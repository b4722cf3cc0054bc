// SPDX-License-Identifier: Apache-2.0
//! Whether the agent advertises the GPUs that it has, and only these; and what Mesos's own code makes of `gpus`.

use super::{
    ATTRIBUTES_MAY_CHANGE, DOCKER_VOLUME, DOCKER_WITH_GPUS, GPUS_CHANGED, GPUS_NOT_THERE, NVIDIA_GPU_DEVICES,
    RESOURCES_GPUS_DIFFER, RESOURCES_GPUS_NOT_WHOLE,
};
use crate::config::{Config, ConfigErrorKind, Mode, resources_flag, rules};
use crate::domain::advertising;
use crate::domain::request::gpus_wanted;
use crate::tool::check::Case;
use crate::tool::check::settings::told_as;
use crate::tool::check::subject::Mesos;
use crate::tool::finding::Finding;
use crate::tool::modules::HOOK;

pub(crate) fn check(case: Case<'_>, findings: &mut Vec<Finding>) {
    let managed = match &case.settings.agent {
        Some(config) if case.facts.driver.known => managed(case, config, findings),
        _ => None,
    };
    let Some(agent) = case.subject.agent() else { return };
    if !agent.has("isolation", "gpu/nvidia") {
        built_in_flags(case, agent, findings);
    }
    let Some(config) = &case.settings.agent else {
        return;
    };
    if let Some(managed) = managed.filter(|_| config.mode == Mode::Exclusive) {
        numbers(agent, managed, findings);
    }
    if config.attributes.driver && agent.names(HOOK) {
        findings.push(Finding::of(
            ATTRIBUTES_MAY_CHANGE,
            "the parameter attributes has \"driver\": after an upgrade of the driver Mesos compares the agent's attributes \
             and does not let it restart",
            "leave \"driver\" out, or let the agent register anew (remove meta/slaves/latest) after each upgrade",
        ));
    }
}

/// How many GPUs the agent would manage; none where it would refuse the parameter.
fn managed(case: Case<'_>, config: &Config, findings: &mut Vec<Finding>) -> Option<usize> {
    let units = &case.facts.driver.units;
    let ids: Vec<_> = units.iter().map(|unit| unit.id.clone()).collect();
    let before = case.facts.advertised_before.as_ref();
    if let Some(kept) = advertising::remembered(before, &config.gpus.to_string(), &ids) {
        for note in kept.notes {
            let cure = "repair the GPU, or let the agent register anew (remove meta/slaves/latest from its --work_dir; its \
                        tasks end)";
            findings.push(Finding::of(GPUS_CHANGED, note, cure));
        }
        return Some(kept.advertised.units.len());
    }
    if units.is_empty() {
        return Some(0);
    }
    match config.gpus.choose(units) {
        Ok(chosen) => Some(chosen.len()),
        Err(error) => {
            let cure = "name GPUs that `mesos-gpu list` shows, or leave the parameter gpus out";
            findings.push(Finding::of(
                GPUS_NOT_THERE,
                format!("parameter gpus: {error}"),
                cure,
            ));
            None
        }
    }
}

fn numbers(agent: &Mesos, managed: usize, findings: &mut Vec<Finding>) {
    let Err(error) = rules::check_resources(&agent.flags, managed) else {
        return;
    };
    if error.kind() != ConfigErrorKind::Resources {
        return;
    }
    let rule = match gpus_of(agent) {
        Some(_) => RESOURCES_GPUS_DIFFER,
        None => RESOURCES_GPUS_NOT_WHOLE,
    };
    findings.push(told_as(rule, &error));
}

/// The whole number of `gpus` in `--resources`; none where there is no such number.
fn gpus_of(agent: &Mesos) -> Option<u64> {
    let text = agent.flags.get("resources")?;
    let shares = resources_flag::gpus(text).ok()??;
    gpus_wanted(&shares).ok().map(|number| number as u64)
}

/// What Mesos's own GPU code does to an agent without its own isolator.
fn built_in_flags(case: Case<'_>, agent: &Mesos, findings: &mut Vec<Finding>) {
    if agent.flags.get("nvidia_gpu_devices").is_some() {
        findings.push(Finding::of(
            NVIDIA_GPU_DEVICES,
            "--nvidia_gpu_devices is given, and Mesos refuses that without gpu/nvidia in --isolation",
            "remove --nvidia_gpu_devices and give the parameter gpus in modules.json",
        ));
    }
    let docker = agent.has("containerizers", "docker") && case.facts.driver.has_nvml_on_loader_path;
    if !docker {
        return;
    }
    if gpus_of(agent).is_some_and(|number| number > 0) {
        findings.push(Finding::of(
            DOCKER_WITH_GPUS,
            "--containerizers names docker and --resources names gpus: Mesos then asks NVML before it has opened it, and the \
             agent ends",
            "leave gpus out of --resources, since mesos_gpu_Hook advertises them, or leave docker out of --containerizers",
        ));
    }
    if case.facts.new_loader_cache {
        findings.push(Finding::of(
            DOCKER_VOLUME,
            "--containerizers names docker and NVML is installed: Mesos then copies the driver's files and cannot read this \
             host's /etc/ld.so.cache (the form of glibc 2.32 and newer), and the agent ends",
            "leave docker out of --containerizers, or keep libnvidia-ml.so.1 off the loader's path and name it in the \
             parameter nvml_library",
        ));
    }
}
