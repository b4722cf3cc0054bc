// SPDX-License-Identifier: Apache-2.0
//! Whether the parts of oversubscription are all there.

use super::{
    CONTROLLER_WITHOUT_ESTIMATOR, ESTIMATOR_OFF, ESTIMATOR_WITHOUT_CONTROLLER, MIG_NOT_SHARED,
    OVERSUBSCRIBE_WITHOUT_ESTIMATOR,
};
use crate::config::{Config, rules};
use crate::domain::gpu::UnitKind;
use crate::tool::check::Case;
use crate::tool::check::facts::DriverFacts;
use crate::tool::finding::{Finding, Severity};
use crate::tool::modules::{self, CONTROLLER, ESTIMATOR, ISOLATOR, Module};

pub(crate) fn check(case: Case<'_>, findings: &mut Vec<Finding>) {
    let (Some(agent), Some(config)) = (case.subject.agent(), &case.settings.agent) else {
        return;
    };
    // Without the isolator there is nothing to share, which is told already.
    if !agent.names(ISOLATOR) {
        return;
    }
    let on = config.oversubscription.on;
    let (estimator, controller) = (agent.names(ESTIMATOR), agent.names(CONTROLLER));
    // A slip in its name is told as that.
    let is_tried = |module: Module| agent.words(module.flag).into_iter().any(modules::is_meant);
    // A flag that cannot be read is told as that.
    let missing = rules::no_estimator(&agent.flags, ESTIMATOR.name).ok().flatten();
    if let Some(missing) = missing.filter(|_| on && !is_tried(ESTIMATOR)) {
        findings.push(Finding::of(
            OVERSUBSCRIBE_WITHOUT_ESTIMATOR,
            missing,
            "give --resource_estimator=mesos_gpu_ResourceEstimator",
        ));
    }
    if let Some(idle) = rules::estimator_off(on).filter(|_| estimator) {
        findings.push(Finding::of(
            ESTIMATOR_OFF,
            format!("--resource_estimator names mesos_gpu_ResourceEstimator, and {idle}"),
            "set the parameter oversubscribe to on, or leave --resource_estimator out",
        ));
    }
    if on {
        instances(config, &case.facts.driver, findings);
    }
    if estimator && on && !is_tried(CONTROLLER) {
        findings.push(Finding::of(
            ESTIMATOR_WITHOUT_CONTROLLER,
            "--qos_controller does not name mesos_gpu_QoSController: guests are ended by the isolator, and their tasks fail \
             instead of being reported as preempted",
            "give --qos_controller=mesos_gpu_QoSController",
        ));
    }
    if controller && !is_tried(ESTIMATOR) {
        findings.push(Finding::of(
            CONTROLLER_WITHOUT_ESTIMATOR,
            "--qos_controller names mesos_gpu_QoSController and no estimator of this library offers idle GPUs",
            "give --resource_estimator=mesos_gpu_ResourceEstimator, or leave --qos_controller out",
        ));
    }
}

/// NVML tells no utilisation of a MIG instance.
fn instances(config: &Config, driver: &DriverFacts, findings: &mut Vec<Finding>) {
    // What cannot be chosen is told as that.
    let Ok(chosen) = config.gpus.choose(&driver.units) else {
        return;
    };
    let chosen = driver.units.iter().filter(|unit| chosen.contains(&unit.id));
    let (mig, whole): (Vec<_>, Vec<_>) = chosen.partition(|unit| unit.kind != UnitKind::Gpu);
    if mig.is_empty() {
        return;
    }
    let finding = Finding::of(
        MIG_NOT_SHARED,
        format!(
            "oversubscribe is on, and of {} managed GPUs {} are MIG instances, which are never offered a second time",
            mig.len() + whole.len(),
            mig.len()
        ),
        "undo the cut of GPUs that are to be shared, or set oversubscribe to off",
    );
    let bad = if whole.is_empty() {
        Severity::Warning
    } else {
        Severity::Note
    };
    findings.push(finding.as_bad_as(bad));
}
