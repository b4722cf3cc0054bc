// SPDX-License-Identifier: Apache-2.0
//! The contract of `Metrics`, held by the file and by the fake alike.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::ports::metrics::Metrics;
use mesos_gpu::system::metrics_file::MetricsFile;
use support::metrics::FakeMetrics;

/// What is published last is what is there, as a whole.
fn contract(metrics: &dyn Metrics, read: &dyn Fn() -> String) {
    for text in ["a 1\nb 2\n", "a 2\n", ""] {
        metrics.publish(text).unwrap();
        assert_eq!(read(), text);
    }
}

#[test]
fn the_fake_holds_the_contract() {
    let fake = FakeMetrics::default();
    contract(&fake.clone(), &|| fake.last());
}

#[test]
fn the_file_holds_the_contract_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesos_gpu.prom");
    contract(&MetricsFile::new(Some(path.clone())), &|| {
        std::fs::read_to_string(&path).unwrap()
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn without_a_file_nothing_is_written_and_without_its_folder_the_path_is_named() {
    MetricsFile::new(None).publish("a 1\n").unwrap();
    let error = MetricsFile::new(Some("/nonexistent/m.prom".into()))
        .publish("a 1\n")
        .unwrap_err();
    assert!(error.contains("/nonexistent/m.prom"), "{error}");
}
