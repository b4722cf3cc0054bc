// SPDX-License-Identifier: Apache-2.0
//! Images that want what they cannot have: a driver that is not there, or the host's files. Each launch fails with a reason
//! or is safe; the agent lives, no GPU is lost, and nothing is made on the host.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use testbed::bed::images::Image;

use crate::common;
use common::images::{Cluster, DRIVER, PROBE, probe, probe_image, probe_task, refused, resources, said};
use common::{PATIENCE, assert_all_free};

#[test]
fn ROOT_CGROUPS_an_image_that_requires_a_newer_cuda_fails_with_both_versions_in_the_tasks_message() {
    if common::lacking("images with requirements") {
        return;
    }
    let images = [
        probe_image("newer").env("NVIDIA_REQUIRE_CUDA=cuda>=99.1"),
        probe_image("fits").env("NVIDIA_REQUIRE_CUDA=cuda>=12.0"),
        probe_image("waived")
            .env("NVIDIA_REQUIRE_CUDA=cuda>=99.1")
            .env("NVIDIA_DISABLE_REQUIRE=1"),
    ];
    let cluster = Cluster::start(&images);
    let framework = cluster.framework();
    for (image, message) in [
        ("newer", Some(["99.1", "13.0"])),
        ("fits", None),
        ("waived", None),
    ] {
        let offer = framework.offer_with(&resources(1), PATIENCE).unwrap();
        framework.launch(&offer, &[probe_task(image, image, 1)]).unwrap();
        let update = framework.wait_terminal(image, PATIENCE).unwrap();
        let text = format!("{update:?}");
        match message {
            None => assert_eq!(update.state, "TASK_FINISHED", "{text}"),
            Some(versions) => {
                assert_eq!(update.state, "TASK_FAILED", "{text}");
                for version in versions {
                    assert!(text.contains(version), "{version} is not in {text}");
                }
            }
        }
    }
    // Without a GPU it is nobody's business.
    assert_eq!(
        refused(
            &cluster.agent,
            &probe(&["none"], "newer").resources(&resources(0))
        ),
        None
    );
    assert_all_free(&cluster.agent, &cluster.machine);
}

/// Everything below a folder: paths with kind, mode and size.
fn listing(folder: &Path) -> BTreeMap<PathBuf, String> {
    use std::os::unix::fs::MetadataExt;
    let mut all = BTreeMap::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        let found = path.symlink_metadata().unwrap();
        let text = format!(
            "{:o} {} {}:{}",
            found.mode(),
            found.len(),
            found.uid(),
            found.mtime_nsec()
        );
        if found.is_dir() {
            todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        all.insert(path, text);
    }
    all
}

/// Images by what they try on the host's folder, and whether the launch may go well.
fn hostile(target: &str) -> Vec<(Image, Option<&'static str>)> {
    let image = |name: &str| probe_image(name);
    let up = format!("../../../../../../../../../../../../../../..{target}");
    vec![
        (image("absolute").link("usr/local", target), None),
        (image("relative").link("usr/local", &up), None),
        (image("leaf").link("usr/local/nvidia", target), None),
        (image("dev-absolute").link("dev", target), Some("/dev")),
        (image("dev-relative").link("dev", &up), Some("/dev")),
        (image("dev-file").file("dev", "", 0o644), Some("dev")),
        (image("circle").link("usr/local", "/usr/local"), Some("usr/local")),
        (
            image("file").file("usr/local/nvidia", "", 0o644),
            Some("usr/local/nvidia"),
        ),
        (
            image("cache").link("etc/ld.so.cache", &format!("{target}/cache")),
            None,
        ),
        (image("conf").link("etc/ld.so.conf.d", target), None),
        (image("etc").link("etc", target), None),
        (
            image("sandbox")
                .folder("mnt/mesos/sandbox/x", 0o755)
                .link("usr/local/nvidia", "/mnt/mesos/sandbox/x"),
            Some("/mnt/mesos/sandbox"),
        ),
        (
            image("sandbox-above")
                .folder("mnt/mesos/sandbox/x", 0o755)
                .link("usr/local", "/mnt/mesos/sandbox/x"),
            Some("/mnt/mesos/sandbox"),
        ),
        (
            image("proc")
                .folder("proc/self/root", 0o755)
                .link("usr/local/nvidia", "/proc/self/root"),
            Some("/proc"),
        ),
    ]
}

#[test]
fn ROOT_CGROUPS_hostile_images_fail_with_a_reason_or_are_safe_and_make_nothing_on_the_host() {
    if common::lacking("hostile images") {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().canonicalize().unwrap();
    fs::create_dir_all(target.join("nvidia/lib64")).unwrap();
    fs::write(target.join("secret"), "of the host").unwrap();
    let images = hostile(target.to_str().unwrap());
    let before = listing(&target);
    // Where the root comes from makes a difference to none of them but in how it is written to: every third is enough.
    for (backend, every) in [("overlay", 1), ("copy", 3)] {
        let images: Vec<_> = images.iter().step_by(every).collect();
        let all: Vec<Image> = images.iter().map(|(image, _)| image.clone()).collect();
        let cluster = Cluster::with(&all, &[], |agent| agent.image_backend(backend));
        for (image, expected) in images {
            let name = image.reference();
            let launch = probe(&[&name], name.as_str()).resources(&resources(1));
            let why = refused(&cluster.agent, &launch);
            match (&why, expected) {
                // Whatever is refused is refused before it runs.
                (Some(why), Some(reason)) => assert!(why.contains(reason), "{name}: {why}"),
                (None, Some(_)) => {
                    let sandbox = cluster.agent.work_dir().join("containers").join(&name);
                    panic!("{backend}, {name} was launched: {}", said(&sandbox));
                }
                (None, None) => {}
                (Some(why), None) => assert!(why.contains("image") || why.contains(DRIVER), "{name}: {why}"),
            }
            assert_eq!(listing(&target), before, "{backend}, {name}");
            assert!(cluster.agent.operator().health(), "{}", cluster.agent.log());
        }
        assert_all_free(&cluster.agent, &cluster.machine);
    }
}

#[test]
fn ROOT_CGROUPS_a_volume_over_the_drivers_folder_fails_the_launch_with_a_reason() {
    if common::lacking("volumes over the driver's folder") {
        return;
    }
    let cluster = Cluster::start(&[probe_image("probe")]);
    let host = cluster.bed.folder().join("mine");
    fs::create_dir(&host).unwrap();
    let before = listing(&host);
    for place in [
        "/usr/local",
        "/usr/local/nvidia",
        "/usr/local/nvidia/lib64",
        "/usr",
        "/opt/data",
    ] {
        let id = place.replace('/', "-");
        let scalar =
            |name: &str, value: f64| json!({"name": name, "type": "SCALAR", "scalar": {"value": value}});
        let launch = json!({"type": "LAUNCH_CONTAINER", "launch_container": {
            "container_id": {"value": id},
            "command": {"shell": false, "value": PROBE, "arguments": [PROBE]},
            "resources": [scalar("cpus", 0.1), scalar("mem", 32.0), scalar("gpus", 1.0)],
            "container": {
                "type": "MESOS",
                "mesos": {"image": {"type": "DOCKER", "docker": {"name": "probe"}}},
                "volumes": [{"mode": "RW", "container_path": place, "host_path": host}],
            },
        }});
        let launched = cluster.agent.operator().launch(&launch);
        if place == "/opt/data" {
            launched.unwrap();
            cluster.assert_has(&common::images::ended(&cluster.agent, &[&id]), 1);
        } else {
            let why = launched.unwrap_err().to_string();
            assert!(
                why.contains(DRIVER) && why.contains("something else is mounted"),
                "{place}: {why}"
            );
        }
        assert_eq!(listing(&host), before, "{place}");
    }
    assert_all_free(&cluster.agent, &cluster.machine);
}
