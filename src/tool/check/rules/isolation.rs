// SPDX-License-Identifier: Apache-2.0
//! Whether the agent's containers are what the isolator needs: the isolator's own rules, and what images need.

use super::{
    IMAGES_WITHOUT_RUNTIME, ISOLATION_BUILT_IN, ISOLATION_OBSERVES_NOTHING, ISOLATION_WITHOUT_DEVICES,
    ISOLATION_WITHOUT_FILESYSTEM, LAUNCHER_POSIX,
};
use crate::config::{ConfigErrorKind, Mode, rules};
use crate::tool::check::Case;
use crate::tool::check::settings::told_as;
use crate::tool::check::subject::Mesos;
use crate::tool::finding::{Finding, Severity};
use crate::tool::modules::ISOLATOR;

const FILESYSTEM: &str = "filesystem/linux";

pub(crate) fn check(case: Case<'_>, findings: &mut Vec<Finding>) {
    let Some(agent) = case.subject.agent().filter(|agent| agent.names(ISOLATOR)) else {
        return;
    };
    let mode = case
        .settings
        .agent
        .as_ref()
        .map_or(Mode::Exclusive, |config| config.mode);
    own_rules(agent, mode, findings);
    let linux = agent.has("isolation", FILESYSTEM);
    if !linux {
        findings.push(Finding::of(
            ISOLATION_WITHOUT_FILESYSTEM,
            "--isolation does not name filesystem/linux, so no container can have an image or mounts of its own",
            "add filesystem/linux to --isolation",
        ));
    }
    launcher(agent, linux, findings);
    images(agent, linux, findings);
}

/// The rules that the isolator itself checks; it stops at the first, which the other mode then does not see.
fn own_rules(agent: &Mesos, mode: Mode, findings: &mut Vec<Finding>) {
    let (rule, other) = match mode {
        Mode::Exclusive => (ISOLATION_BUILT_IN, Mode::Observe),
        Mode::Observe => (ISOLATION_OBSERVES_NOTHING, Mode::Exclusive),
    };
    let built_in = agent.has("isolation", "gpu/nvidia");
    let broken = (mode == Mode::Exclusive) == built_in;
    let check = |mode| rules::check_isolation(&agent.flags, ISOLATOR.name, mode).err();
    let mut tell = |rule, mode| {
        if let Some(error) = check(mode).filter(|error| error.kind() == ConfigErrorKind::Isolation) {
            findings.push(told_as(rule, &error));
        }
    };
    if broken {
        tell(rule, mode);
        tell(ISOLATION_WITHOUT_DEVICES, other);
    } else {
        tell(ISOLATION_WITHOUT_DEVICES, mode);
    }
}

fn launcher(agent: &Mesos, linux: bool, findings: &mut Vec<Finding>) {
    if agent.flags.get("launcher") != Some("posix") {
        return;
    }
    let finding = Finding::of(
        LAUNCHER_POSIX,
        if linux {
            "--launcher=posix, and filesystem/linux needs the launcher \"linux\""
        } else {
            "--launcher=posix ends only the processes that it can find, and one that is left keeps its GPU"
        },
        "give --launcher=linux, or leave it out",
    );
    let bad = if linux { Severity::Error } else { Severity::Warning };
    findings.push(finding.as_bad_as(bad));
}

fn images(agent: &Mesos, linux: bool, findings: &mut Vec<Finding>) {
    let providers = agent.words("image_providers");
    let docker = providers.iter().any(|word| word.eq_ignore_ascii_case("docker"));
    if linux && docker && !agent.has("isolation", "docker/runtime") {
        findings.push(Finding::of(
            IMAGES_WITHOUT_RUNTIME,
            "--image_providers names docker and --isolation does not name docker/runtime, so an image's environment and \
             command are passed over",
            "add docker/runtime to --isolation",
        ));
    }
}
