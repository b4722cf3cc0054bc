// SPDX-License-Identifier: Apache-2.0
//! Whether the parts of oversubscription are all there.

use super::{
    CONTROLLER_WITHOUT_ESTIMATOR, ESTIMATOR_OFF, ESTIMATOR_WITHOUT_CONTROLLER,
    OVERSUBSCRIBE_WITHOUT_ESTIMATOR,
};
use crate::tool::check::Case;
use crate::tool::finding::Finding;
use crate::tool::modules::{CONTROLLER, ESTIMATOR, ISOLATOR};

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
    if on && !estimator {
        findings.push(Finding::of(
            OVERSUBSCRIBE_WITHOUT_ESTIMATOR,
            "oversubscribe is on and --resource_estimator does not name mesos_gpu_ResourceEstimator, so no idle GPU is offered",
            "give --resource_estimator=mesos_gpu_ResourceEstimator",
        ));
    }
    if estimator && !on {
        findings.push(Finding::of(
            ESTIMATOR_OFF,
            "--resource_estimator names mesos_gpu_ResourceEstimator and oversubscribe is off, so no idle GPU is offered",
            "set the parameter oversubscribe to on, or leave --resource_estimator out",
        ));
    }
    if estimator && on && !controller {
        findings.push(Finding::of(
            ESTIMATOR_WITHOUT_CONTROLLER,
            "--qos_controller does not name mesos_gpu_QoSController: guests are ended by the isolator, and their tasks fail \
             instead of being reported as preempted",
            "give --qos_controller=mesos_gpu_QoSController",
        ));
    }
    if controller && !estimator {
        findings.push(Finding::of(
            CONTROLLER_WITHOUT_ESTIMATOR,
            "--qos_controller names mesos_gpu_QoSController and no estimator of this library offers idle GPUs",
            "give --resource_estimator=mesos_gpu_ResourceEstimator, or leave --qos_controller out",
        ));
    }
}
