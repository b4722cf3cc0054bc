// SPDX-License-Identifier: Apache-2.0
//! What a container with an image is launched with, told through fakes: the driver, the granted nodes and no other, and how
//! its programs find them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::domain::image::injection::DriverFilesPolicy;
use mesos_gpu::ports::images::Want;
use mesos_gpu::wire::container::{ContainerInfo, Docker, ImageConfig, ImageManifest, TaskInfo, Volume};
use mesos_gpu::wire::{ContainerConfig, ContainerLaunchInfo, Environment};
use support::agent::{FakeAgent, config, id};

const ROOT: &str = "/store/image";

/// A container with an image whose environment is this.
fn imaged(gpus: f64, env: &[&str]) -> ContainerConfig {
    let env = env.iter().map(|pair| (*pair).to_owned()).collect();
    let config_of_image = ImageConfig {
        env,
        ..ImageConfig::default()
    };
    ContainerConfig {
        rootfs: Some(ROOT.to_owned()),
        docker: Some(Docker {
            manifest: Some(ImageManifest {
                config: Some(config_of_image),
            }),
        }),
        ..config(gpus)
    }
}

fn launch(agent: &mut FakeAgent, name: &str, config: &ContainerConfig) -> ContainerLaunchInfo {
    try_launch(agent, name, config).unwrap()
}

fn try_launch(
    agent: &mut FakeAgent,
    name: &str,
    config: &ContainerConfig,
) -> Result<ContainerLaunchInfo, String> {
    if !name.contains('.') {
        agent.make_cgroup(name);
    }
    let told = agent.prepare_later(&id(name), config);
    let launch = agent.wait_for(&told).map_err(|error| error.to_string())?;
    Ok(launch.unwrap_or_default())
}

fn value<'a>(environment: Option<&'a Environment>, name: &str) -> Option<&'a str> {
    let variables = &environment?.variables;
    variables
        .iter()
        .rev()
        .find(|one| one.name == name)?
        .value
        .as_deref()
}

fn targets(info: &ContainerLaunchInfo) -> Vec<&str> {
    let inside = |target: &'_ str| target.strip_prefix(ROOT).map(str::len);
    info.mounts
        .iter()
        .map(|mount| &mount.target[mount.target.len() - inside(&mount.target).unwrap()..])
        .collect()
}

fn wanted(agent: &FakeAgent) -> Want {
    agent.images.wanted().pop().unwrap()
}

#[test]
fn an_image_with_gpus_gets_the_driver_and_its_own_nodes_and_no_other() {
    let mut agent = FakeAgent::with_gpus(4);
    launch(&mut agent, "first", &imaged(1.0, &[]));
    let info = launch(&mut agent, "a", &imaged(2.0, &["PATH=/opt/bin:/bin"]));
    assert_eq!(
        targets(&info),
        [
            "/usr/local/nvidia",
            "/dev/nvidiactl",
            "/dev/nvidia-uvm",
            "/dev/nvidia-uvm-tools",
            "/dev/nvidia-modeset",
            "/dev/nvidia1",
            "/dev/nvidia2"
        ]
    );
    let flags: Vec<u32> = info.mounts.iter().filter_map(|mount| mount.flags).collect();
    // The driver's folder is read-only at its source, a node by its own mount.
    assert_eq!(flags, [20480, 4097, 4097, 4097, 4097, 4097, 4097]);
    let environment = info.environment.as_ref();
    assert_eq!(
        value(environment, "PATH"),
        Some("/opt/bin:/bin:/usr/local/nvidia/bin")
    );
    assert_eq!(
        value(environment, "LD_LIBRARY_PATH"),
        Some("/usr/local/nvidia/lib:/usr/local/nvidia/lib64")
    );
    let want = wanted(&agent);
    assert_eq!(want.container, "a");
    let driver = want.driver.unwrap();
    assert_eq!(driver.version.as_deref(), Some("580.159.04"));
    assert!(driver.models.len() == 2 && driver.compat, "{driver:?}");
}

#[test]
fn a_container_on_the_hosts_files_is_left_as_it_is() {
    let mut agent = FakeAgent::with_gpus(2);
    let info = launch(&mut agent, "a", &config(1.0));
    assert!(info.mounts.is_empty() && agent.images.wanted().is_empty());
    assert_eq!(value(info.environment.as_ref(), "PATH"), None);
}

#[test]
fn a_root_file_system_without_a_manifest_is_served_like_one_that_says_nothing() {
    let mut agent = FakeAgent::with_gpus(1);
    let bare = ContainerConfig {
        rootfs: Some(ROOT.to_owned()),
        ..config(1.0)
    };
    let info = launch(&mut agent, "a", &bare);
    assert_eq!(targets(&info)[0], "/usr/local/nvidia");
    let path = value(info.environment.as_ref(), "PATH").unwrap();
    assert!(
        path.starts_with("/usr/local/sbin:") && path.ends_with(":/usr/local/nvidia/bin"),
        "{path}"
    );
}

#[test]
fn without_gpus_the_policy_and_the_image_decide_on_the_driver_and_nothing_on_nodes() {
    use DriverFilesPolicy::{Asked, Never, WithGpus};
    for (policy, env, gpus, driver) in [
        (Asked, &["NVIDIA_VISIBLE_DEVICES=all"][..], 0.0, true),
        (Asked, &["NVIDIA_VISIBLE_DEVICES=none"], 0.0, true),
        (Asked, &["NVIDIA_VISIBLE_DEVICES=void"], 0.0, false),
        (Asked, &[], 0.0, false),
        (Asked, &["NVIDIA_VISIBLE_DEVICES=void"], 1.0, true),
        (WithGpus, &["NVIDIA_VISIBLE_DEVICES=all"], 0.0, false),
        (WithGpus, &[], 1.0, true),
        (Never, &["NVIDIA_VISIBLE_DEVICES=all"], 1.0, false),
    ] {
        let mut agent = FakeAgent::with_gpus(1);
        agent.state.images.driver_files = policy;
        let info = launch(&mut agent, "a", &imaged(gpus, env));
        let targets = targets(&info);
        let case = format!("{policy:?} {env:?} {gpus}: {targets:?}");
        assert_eq!(targets.contains(&"/usr/local/nvidia"), driver, "{case}");
        assert_eq!(targets.contains(&"/dev/nvidia0"), gpus > 0.0, "{case}");
        assert_eq!(targets.contains(&"/dev/nvidiactl"), gpus > 0.0, "{case}");
        assert!(agent.open_gpus("a").len() == usize::from(gpus > 0.0), "{case}");
    }
}

#[test]
fn the_way_to_the_driver_goes_to_a_command_task_and_not_to_its_executor_outside() {
    let mut agent = FakeAgent::with_gpus(1);
    let task = ContainerConfig {
        task_info: Some(TaskInfo::default()),
        ..imaged(1.0, &[])
    };
    let info = launch(&mut agent, "a", &task);
    let (outside, inside) = (info.environment.as_ref(), info.task_environment.as_ref());
    assert_eq!(value(outside, "LD_LIBRARY_PATH"), None);
    assert_eq!(value(outside, "PATH"), None);
    assert!(value(inside, "LD_LIBRARY_PATH").is_some() && value(inside, "PATH").is_some());
    assert!(value(outside, "NVIDIA_VISIBLE_DEVICES").is_some());
    assert!(value(inside, "NVIDIA_VISIBLE_DEVICES").is_some());
}

#[test]
fn a_child_with_an_image_of_its_own_sees_its_own_gpus_and_a_debug_child_finds_its_parents_driver() {
    let mut agent = FakeAgent::with_gpus(3);
    launch(&mut agent, "a", &imaged(3.0, &[]));
    let child = launch(&mut agent, "a.b", &imaged(1.0, &[]));
    assert!(targets(&child).contains(&"/dev/nvidia0"));
    assert!(!targets(&child).contains(&"/dev/nvidia1"));
    let debug = ContainerConfig {
        container_class: Some(2),
        rootfs: Some(ROOT.to_owned()),
        ..ContainerConfig::default()
    };
    let debug = launch(&mut agent, "a.c", &debug);
    assert!(debug.mounts.is_empty());
    assert!(value(debug.environment.as_ref(), "LD_LIBRARY_PATH").is_some());
    assert_eq!(value(debug.environment.as_ref(), "NVIDIA_VISIBLE_DEVICES"), None);
}

#[test]
fn an_image_that_cannot_be_fitted_fails_its_launch_with_the_reason_and_gives_its_gpus_back() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.images.refuse("usr/local is a file");
    let why = try_launch(&mut agent, "a", &imaged(1.0, &[])).unwrap_err();
    assert!(
        why.contains("cannot fit the image of container a: usr/local is a file"),
        "{why}"
    );
    agent.end("a");
    agent.settle();
    assert_eq!(agent.free(), 1);
    assert_eq!(agent.images.ended_so_far(), ["a"]);
}

#[test]
fn an_image_whose_requirements_the_machine_does_not_meet_fails_with_both_versions_unless_it_is_told_not_to_look()
 {
    for (env, honoured, fits) in [
        (&["NVIDIA_REQUIRE_CUDA=cuda>=13.1"][..], true, false),
        (&["NVIDIA_REQUIRE_CUDA=cuda>=13.1"], false, true),
        (
            &["NVIDIA_REQUIRE_CUDA=cuda>=13.1", "NVIDIA_DISABLE_REQUIRE=1"],
            true,
            true,
        ),
        (
            &["NVIDIA_REQUIRE_CUDA=cuda>=12.8 brand=tesla,driver>=470"],
            true,
            true,
        ),
        (&["NVIDIA_REQUIRE_CUDA=brand=geforce"], true, false),
    ] {
        let mut agent = FakeAgent::with_gpus(1);
        agent.learn_products();
        agent.state.images.requirements = honoured;
        let launched = try_launch(&mut agent, "a", &imaged(1.0, env));
        assert_eq!(launched.is_ok(), fits, "{env:?} {honoured}: {launched:?}");
        if env[0].contains("13.1") && !fits {
            let why = launched.unwrap_err();
            assert!(why.contains("13.1") && why.contains("13.0"), "{why}");
        }
    }
}

#[test]
fn without_gpus_no_requirement_is_looked_at() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.learn_products();
    let env = ["NVIDIA_REQUIRE_CUDA=cuda>=99", "NVIDIA_VISIBLE_DEVICES=none"];
    launch(&mut agent, "a", &imaged(0.0, &env));
}

#[test]
fn a_container_that_grows_is_shown_the_nodes_of_its_new_gpus() {
    let mut agent = FakeAgent::with_gpus(3);
    launch(&mut agent, "a", &imaged(1.0, &[]));
    agent.isolate("a", 4711);
    agent.update("a", 3.0).unwrap();
    let shown = agent.images.shown();
    assert_eq!(shown.len(), 1);
    let paths: Vec<&str> = shown[0].1.iter().map(|node| node.path.as_str()).collect();
    assert!(
        shown[0].0 == 4711 && paths.contains(&"nvidia1") && paths.contains(&"nvidia2"),
        "{shown:?}"
    );
    assert!(!paths.contains(&"nvidia0"), "{paths:?}");
}

#[test]
fn a_container_whose_new_nodes_cannot_be_shown_grows_all_the_same() {
    let mut agent = FakeAgent::with_gpus(2);
    launch(&mut agent, "a", &imaged(1.0, &[]));
    agent.isolate("a", 4711);
    agent.images.refuse("no room");
    agent.update("a", 2.0).unwrap();
    assert_eq!(agent.images.shown().len(), 1);
    // The next update of the container is not held up by it.
    agent.update("a", 2.0).unwrap();
}

#[test]
fn what_others_mount_into_the_image_is_told_so_that_nothing_of_ours_lies_below_it() {
    let mut agent = FakeAgent::with_gpus(1);
    let volume = Volume {
        container_path: "/data".to_owned(),
    };
    let with_volume = ContainerConfig {
        container_info: Some(ContainerInfo {
            volumes: vec![volume],
            ..ContainerInfo::default()
        }),
        ..imaged(1.0, &[])
    };
    launch(&mut agent, "a", &with_volume);
    assert_eq!(wanted(&agent).volumes, ["/data", "/mnt/mesos/sandbox"]);
}
