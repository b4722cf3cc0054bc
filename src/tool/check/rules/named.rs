// SPDX-License-Identifier: Apache-2.0
//! Whether what is loaded is named in the flags, and what is named there is loaded.

use super::{
    HOOK_IN_MASTER, HOOK_WITHOUT_ISOLATOR, ISOLATOR_WITHOUT_HOOK, MODULE_IN_WRONG_FLAG, MODULE_NOT_LOADED,
    MODULE_WITHOUT_ISOLATOR, MODULES_AND_FOLDER, MODULES_NOT_GIVEN, MODULES_NOT_USED, PARAMETERS_NOT_READ,
};
use crate::config::{ConfigErrorKind, Mode, resources_flag, rules};
use crate::tool::check::Case;
use crate::tool::check::settings::told_as;
use crate::tool::check::subject::Mesos;
use crate::tool::finding::{Finding, Severity};
use crate::tool::modules::{self, ALLOCATOR, CONTROLLER, ESTIMATOR, HOOK, ISOLATOR, MODULES, Module, Role};

/// The flags in which modules are named.
const FLAGS: [&str; 5] = [
    "isolation",
    "hooks",
    "resource_estimator",
    "qos_controller",
    "allocator",
];

pub(crate) fn check(case: Case<'_>, findings: &mut Vec<Finding>) {
    let Some(mesos) = &case.subject.mesos else { return };
    let given = |flag: &str| mesos.flags.get(flag).is_some();
    if given("modules") && given("modules_dir") {
        findings.push(Finding::of(
            MODULES_AND_FOLDER,
            "--modules and --modules_dir are both given, and Mesos takes one of them",
            "leave one of them out",
        ));
    }
    if case.subject.manifests.is_empty() {
        return not_given(mesos, findings);
    }
    for flag in FLAGS {
        for word in mesos
            .words(flag)
            .into_iter()
            .filter(|word| modules::is_meant(word))
        {
            // One with spaces is told as that.
            if word.trim() == word {
                named(case, mesos, flag, word, findings);
            }
        }
    }
    match mesos.role {
        Role::Agent => agent(case, mesos, findings),
        Role::Master => master(case, mesos, findings),
    }
}

fn names_ours(mesos: &Mesos) -> Vec<&str> {
    let words = FLAGS.iter().flat_map(|flag| mesos.words(flag));
    words.filter(|word| modules::is_meant(word)).collect()
}

fn not_given(mesos: &Mesos, findings: &mut Vec<Finding>) {
    let named = names_ours(mesos);
    let cure = "give --modules=file:///etc/mesos/modules.json";
    let who = mesos.role.word();
    findings.push(if named.is_empty() {
        let what = format!("the {who} is given no --modules, so nothing of this library is loaded");
        Finding::of(MODULES_NOT_GIVEN, what, cure).as_bad_as(Severity::Warning)
    } else {
        let what = format!("the {who} names {} and is given no --modules", named.join(", "));
        Finding::of(MODULES_NOT_GIVEN, what, cure)
    });
}

fn named(case: Case<'_>, mesos: &Mesos, flag: &str, word: &str, findings: &mut Vec<Finding>) {
    let manifest = &case.settings.manifest;
    let Some(module) = modules::named(word) else {
        let nearest = modules::nearest(word);
        return findings.push(Finding::of(
            MODULE_NOT_LOADED,
            format!("--{flag} names {word}, and there is no such module"),
            format!("write {nearest}"),
        ));
    };
    if module.flag != flag {
        findings.push(Finding::of(
            MODULE_IN_WRONG_FLAG,
            format!(
                "--{flag} names {word}, which belongs into --{} of the {}",
                module.flag,
                module.role.word()
            ),
            format!("move {word} to --{}", module.flag),
        ));
    } else if module.role == mesos.role && !manifest.loads(word) {
        findings.push(Finding::of(
            MODULE_NOT_LOADED,
            format!("--{flag} names {word}, and modules.json does not load it"),
            format!(
                "add {{\"name\": \"{word}\"}} to the modules of modules.json, or take {word} out of --{flag}"
            ),
        ));
    }
}

fn agent(case: Case<'_>, mesos: &Mesos, findings: &mut Vec<Finding>) {
    let loaded: Vec<Module> = loaded(case, Role::Agent);
    if names_ours(mesos).is_empty() {
        if !loaded.is_empty() {
            let names: Vec<&str> = loaded.iter().map(|module| module.name).collect();
            findings.push(Finding::of(
                MODULES_NOT_USED,
                format!(
                    "modules.json loads {}, and no flag of the agent names them",
                    names.join(", ")
                ),
                "add mesos_gpu_Isolator to --isolation and mesos_gpu_Hook to --hooks",
            ));
        }
        return;
    }
    let (isolator, hook) = (mesos.names(ISOLATOR), mesos.names(HOOK));
    if hook && !isolator {
        let built_in = mesos.has("isolation", "gpu/nvidia");
        let bad = if built_in {
            Severity::Warning
        } else {
            Severity::Error
        };
        let finding = Finding::of(
            HOOK_WITHOUT_ISOLATOR,
            "--hooks names mesos_gpu_Hook, which advertises GPUs, and --isolation does not name mesos_gpu_Isolator",
            "add mesos_gpu_Isolator to --isolation",
        );
        findings.push(finding.as_bad_as(bad));
    }
    for module in [ESTIMATOR, CONTROLLER] {
        let refusal = rules::check_beside_isolator(&mesos.flags, module.name, ISOLATOR.name).err();
        // A flag that cannot be read is told as that.
        let refusal = refusal.filter(|error| error.kind() == ConfigErrorKind::Isolation);
        if let Some(error) = refusal.filter(|_| mesos.names(module)) {
            findings.push(told_as(MODULE_WITHOUT_ISOLATOR, &error));
        }
    }
    if isolator && !hook {
        without_hook(case, mesos, findings);
    }
    for module in loaded.into_iter().filter(|module| !mesos.names(*module)) {
        parameters(case, module, findings);
    }
}

fn without_hook(case: Case<'_>, mesos: &Mesos, findings: &mut Vec<Finding>) {
    if case
        .settings
        .agent
        .as_ref()
        .is_some_and(|config| config.mode == Mode::Observe)
    {
        return;
    }
    let text = mesos.flags.get("resources").unwrap_or_default();
    let advertised = !matches!(resources_flag::gpus(text), Ok(None));
    let (what, bad) = if advertised {
        (
            "--hooks does not name mesos_gpu_Hook, so no task's status has the UUIDs of its GPUs",
            Severity::Note,
        )
    } else {
        (
            "--hooks does not name mesos_gpu_Hook and --resources names no gpus, so no GPU is advertised",
            Severity::Warning,
        )
    };
    let finding = Finding::of(ISOLATOR_WITHOUT_HOOK, what, "add --hooks=mesos_gpu_Hook");
    findings.push(finding.as_bad_as(bad));
}

fn master(case: Case<'_>, mesos: &Mesos, findings: &mut Vec<Finding>) {
    if mesos.has(HOOK.flag, HOOK.name) {
        findings.push(Finding::of(
            HOOK_IN_MASTER,
            "--hooks of the master names mesos_gpu_Hook, which is for agents",
            "take mesos_gpu_Hook out of the master's --hooks",
        ));
    }
    let loaded = loaded(case, Role::Master);
    if loaded.contains(&ALLOCATOR)
        && !mesos
            .words(ALLOCATOR.flag)
            .iter()
            .any(|word| modules::is_meant(word))
    {
        findings.push(Finding::of(
            MODULES_NOT_USED,
            "modules.json loads mesos_gpu_Allocator, and --allocator does not name it",
            "give the master --allocator=mesos_gpu_Allocator",
        ));
    }
}

fn loaded(case: Case<'_>, role: Role) -> Vec<Module> {
    let ours = MODULES.into_iter().filter(|module| module.role == role);
    ours.filter(|module| case.settings.manifest.loads(module.name))
        .collect()
}

fn parameters(case: Case<'_>, module: Module, findings: &mut Vec<Finding>) {
    let ours = case.settings.manifest.ours();
    let given = ours.iter().find(|loaded| loaded.name == module.name);
    let Some(loaded) = given.filter(|loaded| !loaded.parameters.is_empty()) else {
        return;
    };
    let keys: Vec<&str> = loaded.parameters.iter().map(|(key, _)| key.as_str()).collect();
    findings.push(Finding::of(
        PARAMETERS_NOT_READ,
        format!(
            "{} is given {}, and is not created: --{} does not name it",
            module.name,
            keys.join(", "),
            module.flag
        ),
        format!(
            "give these parameters to mesos_gpu_Isolator, or add {} to --{}",
            module.name, module.flag
        ),
    ));
}
