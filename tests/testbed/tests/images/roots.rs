// SPDX-License-Identifier: Apache-2.0
//! Where a container's root file system comes from and whose it is, and which images Mesos takes at all.

use std::path::Path;

use testbed::image_name::ImageName;
use testbed::operator::LaunchContainer;
use testbed::{Testbed, support};

use crate::cluster::{PATIENCE, PROBE, SMALL, cluster, probe_image, said, standalone};

#[test]
fn ROOT_CGROUPS_a_root_is_the_containers_own_by_copy_and_overlay_and_read_only_by_bind() {
    // A read-only root must have every place where something is mounted.
    let places = ["dev", "proc", "sys", "tmp", "mnt/mesos/sandbox"];
    let image = places
        .iter()
        .fold(probe_image("probe"), |image, place| image.folder(place, 0o755));
    let image = image.program_with_libraries(Path::new("/bin/sh"));
    for (backend, writable) in [("copy", true), ("overlay", true), ("bind", false)] {
        let Some(cluster) = cluster(std::slice::from_ref(&image), |agent| agent.image_backend(backend))
        else {
            return;
        };
        for id in ["a", "b"] {
            let command = "test ! -e /mine || exit 3; echo > /mine";
            let launch = LaunchContainer::new(&[id], command)
                .image("probe")
                .resources(&SMALL);
            let operator = cluster.agent.operator();
            operator.launch_container(&launch).unwrap();
            let code = operator.wait_container(&[id]).unwrap().code();
            let sandbox = cluster.agent.work_dir().join("containers").join(id);
            assert_eq!(
                code == Some(0),
                writable,
                "{backend}, {id}: {code:?} {}",
                said(&sandbox)
            );
            assert_eq!(
                said(&sandbox).contains("Read-only file system"),
                !writable,
                "{backend}, {id}: {}",
                said(&sandbox)
            );
        }
        let seen = standalone(&cluster.agent, "look", "probe".into(), &SMALL);
        assert_eq!(seen.nvidia_nodes(), Vec::<&str>::new(), "{backend}");
        assert_eq!(seen.environment["NVIDIA_VISIBLE_DEVICES"], "all", "{backend}");
        assert!(
            seen.mount("/dev").is_some_and(|dev| dev.kind == "tmpfs"),
            "{backend}: {:?}",
            seen.mounts
        );
    }
}

#[test]
fn ROOT_CGROUPS_an_image_without_a_configuration_ends_mesos_own_agent() {
    let Some(mut cluster) = cluster(&[probe_image("probe").without_config()], |agent| agent) else {
        return;
    };
    let launch = LaunchContainer::new(&["c"], PROBE)
        .image("probe")
        .resources(&SMALL);
    cluster.agent.operator().launch_container(&launch).unwrap_err();
    cluster.agent.wait_ready(PATIENCE).unwrap_err();
    assert!(
        cluster.agent.log().contains("manifest().has_config()"),
        "{}",
        cluster.agent.log()
    );
}

#[test]
fn ROOT_CGROUPS_layers_lie_over_one_another_and_tags_tell_images_apart() {
    let base = probe_image("probe")
        .file("etc/which", "below", 0o644)
        .working_directory("/etc");
    let images = [
        base.clone(),
        base.tag("2")
            .layer()
            .file("etc/which", "above", 0o644)
            .env("LAYERS=2"),
    ];
    let Some(cluster) = cluster(&images, |agent| agent.image_backend("overlay")) else {
        return;
    };
    let one = standalone(&cluster.agent, "one", "probe".into(), &SMALL);
    let two = standalone(&cluster.agent, "two", "probe:2".into(), &SMALL);
    assert_eq!(
        (one.environment.get("LAYERS"), two.environment["LAYERS"].as_str()),
        (None, "2")
    );
    assert_eq!(one.started_in, "/etc");
}

#[test]
fn ROOT_CGROUPS_an_app_container_image_has_a_root_and_no_manifest_of_dockers() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&format!("App Container images: {lacking}"));
    }
    let bed = Testbed::new().unwrap();
    let store = bed.folder().join("appc");
    probe_image("example.com/probe").write_appc(&store).unwrap();
    let _master = bed.master().start().unwrap();
    let mut agent = bed.agent().appc_images(&store).start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    let seen = standalone(&agent, "c", ImageName::appc("example.com/probe"), &SMALL);
    assert_eq!(seen.environment.get("NVIDIA_VISIBLE_DEVICES"), None);
}

#[test]
fn ROOT_CGROUPS_mesos_takes_no_oci_images() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&format!("OCI images: {lacking}"));
    }
    let bed = Testbed::new().unwrap();
    let agent = bed.agent().images(bed.folder()).flag("image_providers", "oci");
    let error = agent
        .start()
        .unwrap()
        .wait_ready(PATIENCE)
        .unwrap_err()
        .to_string();
    assert!(error.contains("Unknown image type 'oci'"), "{error}");
}
