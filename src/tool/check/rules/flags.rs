// SPDX-License-Identifier: Apache-2.0
//! Whether the flags are ones that Mesos takes, as far as they matter to this library.

use super::{FLAG_MISSPELT, FLAG_OF_THE_OTHER, FLAG_UNREADABLE, LIST_REPEATS, LIST_WITH_SPACES};
use crate::config::flags::FETCHED;
use crate::config::keys::distance;
use crate::tool::check::Case;
use crate::tool::check::settings::told_as;
use crate::tool::check::subject::Mesos;
use crate::tool::finding::{Finding, Severity};
use crate::tool::modules::Role;

/// Flags of both.
const BOTH: [&str; 4] = ["modules", "modules_dir", "hooks", "work_dir"];
/// Flags of the agent that matter here.
const AGENTS: [&str; 15] = [
    "isolation",
    "resource_estimator",
    "qos_controller",
    "resources",
    "attributes",
    "containerizers",
    "launcher",
    "runtime_dir",
    "sandbox_directory",
    "cgroups_root",
    "cgroups_hierarchy",
    "nvidia_gpu_devices",
    "image_providers",
    "reconfiguration_policy",
    "oversubscribed_resources_interval",
];
/// Flags of the master that matter here.
const MASTERS: [&str; 5] = [
    "allocator",
    "filter_gpu_resources",
    "fair_sharing_excluded_resource_names",
    "role_sorter",
    "framework_sorter",
];
/// Flags of Mesos that only look like one of the above.
const OTHERS: [&str; 1] = ["user_sorter"];

pub(crate) fn check(case: Case<'_>, findings: &mut Vec<Finding>) {
    let Some(mesos) = &case.subject.mesos else { return };
    for flag in FETCHED {
        if let Err(error) = mesos.flags.read(flag) {
            let finding = told_as(FLAG_UNREADABLE, &error);
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    for name in mesos.flags.names() {
        let typed = mesos.typed.iter().any(|typed| typed == name);
        misspelt(mesos, name, typed, findings);
        if typed {
            of_the_other(mesos, name, findings);
        }
    }
    for flag in ["isolation", "hooks"] {
        list(mesos, flag, findings);
    }
}

fn misspelt(mesos: &Mesos, name: &str, typed: bool, findings: &mut Vec<Finding>) {
    let Some(nearest) = meant(mesos.role, name) else {
        return;
    };
    let (shown, right) = if typed {
        (format!("--{name}"), format!("--{nearest}"))
    } else {
        let variable = |flag: &str| format!("MESOS_{}", flag.to_ascii_uppercase());
        (variable(name), variable(nearest))
    };
    let finding = if typed {
        let what = format!("Mesos has no flag {shown} and does not start with it");
        Finding::of(FLAG_MISSPELT, what, format!("write {right}"))
    } else {
        let what = format!("Mesos has no flag for the variable {shown} and passes over it");
        Finding::of(FLAG_MISSPELT, what, format!("write {right}")).as_bad_as(Severity::Warning)
    };
    findings.push(finding);
}

/// The flag that a name is a slip of; none for a flag of Mesos, and for what is like none.
fn meant(role: Role, name: &str) -> Option<&'static str> {
    let all = || BOTH.into_iter().chain(AGENTS).chain(MASTERS);
    if all().chain(OTHERS).any(|known| known == name) {
        return None;
    }
    let own = |flag: &&str| BOTH.contains(flag) || of(role).contains(flag);
    let near = |flag: &&str| distance(name, flag) <= (flag.len() / 3).min(3);
    all()
        .filter(own)
        .filter(near)
        .min_by_key(|flag| distance(name, flag))
}

fn of(role: Role) -> &'static [&'static str] {
    match role {
        Role::Agent => &AGENTS,
        Role::Master => &MASTERS,
    }
}

fn of_the_other(mesos: &Mesos, name: &str, findings: &mut Vec<Finding>) {
    let other = match mesos.role {
        Role::Agent => Role::Master,
        Role::Master => Role::Agent,
    };
    // A master is told what its local agents would be; not that it has any.
    if !of(other).contains(&name) {
        return;
    }
    let (own, other) = (mesos.role.word(), other.word());
    findings.push(Finding::of(
        FLAG_OF_THE_OTHER,
        format!("--{name} is a flag of the {other}, and the {own} does not start with it"),
        format!("give --{name} to the {other}"),
    ));
}

fn list(mesos: &Mesos, flag: &str, findings: &mut Vec<Finding>) {
    let words = mesos.words(flag);
    let spaced = words.iter().filter(|word| word.trim() != **word);
    for word in spaced {
        findings.push(Finding::of(
            LIST_WITH_SPACES,
            format!("--{flag} has {word:?}, and Mesos looks for a module with the spaces in its name"),
            format!("take the spaces out of --{flag}"),
        ));
    }
    for (nth, word) in words.iter().enumerate() {
        if words[..nth].contains(word) {
            findings.push(Finding::of(
                LIST_REPEATS,
                format!("--{flag} names {word} twice, and Mesos refuses that"),
                format!("name {word} once"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_known_for_slips() {
        let known: Vec<&str> = BOTH.into_iter().chain(AGENTS).chain(MASTERS).collect();
        for flag in FETCHED {
            assert!(known.contains(flag), "{flag}");
        }
    }

    #[test]
    fn slips_are_told_from_mesoss_other_flags() {
        for (role, name, want) in [
            (Role::Agent, "module", Some("modules")),
            (Role::Agent, "isolations", Some("isolation")),
            (Role::Agent, "isolator", Some("isolation")),
            (Role::Agent, "resource-estimator", Some("resource_estimator")),
            (Role::Agent, "hook", Some("hooks")),
            (Role::Master, "alocator", Some("allocator")),
            (
                Role::Master,
                "filter_gpus_resources",
                Some("filter_gpu_resources"),
            ),
            (Role::Agent, "alocator", None),
        ] {
            assert_eq!(meant(role, name), want, "{name}");
        }
        // Flags that Mesos 1.11 has and that do not matter here.
        let agents = "advertise_ip advertise_port agent_features agent_subsystems allowed_capabilities appc_simple_discovery_uri_prefix \
            appc_store_dir authenticatee authenticate_http_readonly authenticate_http_readwrite authentication_timeout_min \
            authorizer bounding_capabilities cgroups_cpu_enable_pids_and_tids_count cgroups_enable_cfs cgroups_limit_swap \
            container_disk_watch_interval container_logger credential default_container_dns default_role disallow_sharing_agent_ipc_namespace \
            disk_watch_interval docker docker_config docker_kill_orphans docker_mesos_image docker_registry docker_remove_delay \
            docker_socket docker_stop_timeout docker_store_dir domain effective_capabilities enforce_container_disk_quota \
            executor_environment_variables executor_registration_timeout executor_shutdown_grace_period fetcher_cache_dir \
            fetcher_cache_size firewall_rules frameworks_home gc_delay gc_disk_headroom hadoop_home help host_path_volume_force_creation \
            hostname hostname_lookup http_credentials image_gc_config image_provisioner_backend initialize_driver_logging ip ip6 \
            jwt_secret_key launcher_dir log_dir logbufsecs logging_level master max_completed_executors_per_framework memory_profiling \
            network_cni_config_dir network_cni_plugins_dir network_cni_root_dir_persist oversubscribed_resources_interval perf_duration \
            perf_events perf_interval port qos_correction_interval_min quiet recover recovery_timeout registration_backoff_factor \
            resource_provider_config_dir revocable_cpu_low_priority runtime_dir seccomp_config_dir secret_resolver shared_memory \
            strict switch_user systemd_enable_support systemd_runtime_directory version volume_gid_range xfs_kill_containers zk_session_timeout";
        let masters = "acls agent_ping_timeout agent_reregister_timeout agent_removal_rate_limit allocation_interval allocator_agent_recovery_factor \
            allocator_recovery_timeout authenticate_agents authenticate_frameworks authenticators authorizers cluster credentials \
            framework_sorter ip log_auto_initialize master_contender master_detector max_agent_ping_timeouts max_completed_frameworks \
            max_completed_tasks_per_framework min_allocatable_resources offer_timeout port publish_per_framework_metrics quorum rate_limits \
            recovery_agent_removal_limit registry registry_fetch_timeout registry_store_timeout registry_strict require_agent_domain \
            role_sorter roles root_submissions user_sorter webui_dir weights whitelist zk zk_session_timeout advertise_ip advertise_port";
        for (role, names) in [(Role::Agent, agents), (Role::Master, masters)] {
            for name in names.split_whitespace() {
                assert_eq!(meant(role, name), None, "{name}");
            }
        }
    }
}
