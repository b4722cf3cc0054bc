// SPDX-License-Identifier: Apache-2.0
//! The contract of `Jobs`, held by the folder and by the fake alike; what only the folder can show beside it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::domain::jobs::Jobs as ByIndex;
use mesos_gpu::ports::jobs::Jobs;
use mesos_gpu::system::job_folder::JobFolder;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use support::jobs::FakeJobs;

fn jobs(of: &[(u32, &[&str])]) -> ByIndex {
    of.iter()
        .map(|(index, jobs)| (*index, jobs.iter().map(|job| (*job).to_owned()).collect()))
        .collect()
}

/// What is published last is what is there, and nothing else.
fn contract(port: &dyn Jobs, read: &dyn Fn() -> ByIndex) {
    for now in [
        jobs(&[(0, &["f/e/a"]), (11, &["b", "f/e/a"])]),
        jobs(&[(0, &["f/e/a"])]),
        jobs(&[(0, &["c"]), (3, &["d"])]),
        jobs(&[]),
    ] {
        port.publish(&now).unwrap();
        assert_eq!(read(), now);
    }
}

/// As dcgm-exporter reads it: files whose name is a number, a job a line.
fn read(folder: &Path) -> ByIndex {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_each = entries.filter_map(|path| {
        let index = path.file_name()?.to_str()?.parse().ok()?;
        let text = fs::read_to_string(path).unwrap();
        assert!(text.ends_with('\n'));
        Some((index, text.lines().map(str::to_owned).collect()))
    });
    of_each.collect()
}

#[test]
fn the_fake_holds_the_contract() {
    let fake = FakeJobs::default();
    contract(&fake.clone(), &|| fake.last());
}

#[test]
fn the_folder_holds_the_contract_is_made_and_is_left_empty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/jobs");
    contract(&JobFolder::new(path.clone()), &|| read(&path));
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
}

#[test]
fn what_an_agent_before_left_goes_and_what_is_no_gpu_stays() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["0", "7", "7.tmp", "note.txt", "GPU-1"] {
        fs::write(folder.path().join(name), "old\n").unwrap();
    }
    fs::create_dir(folder.path().join("3")).unwrap();
    let port = JobFolder::new(folder.path().to_owned());
    port.publish(&jobs(&[(0, &["new"])])).unwrap();
    let mut left: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["0", "3", "GPU-1", "note.txt"]);
    assert_eq!(fs::read_to_string(folder.path().join("0")).unwrap(), "new\n");
}

#[test]
fn a_file_is_replaced_as_a_whole_and_only_when_its_jobs_change() {
    let folder = tempfile::tempdir().unwrap();
    let (port, path) = (JobFolder::new(folder.path().to_owned()), folder.path().join("0"));
    let inode = || fs::metadata(&path).unwrap().ino();
    port.publish(&jobs(&[(0, &["a"])])).unwrap();
    let (first, open) = (inode(), fs::File::open(&path).unwrap());
    port.publish(&jobs(&[(0, &["a"]), (1, &["b"])])).unwrap();
    assert_eq!(inode(), first, "its jobs are the same");
    port.publish(&jobs(&[(0, &["longer than before"])])).unwrap();
    assert_ne!(inode(), first);
    assert_eq!(
        std::io::read_to_string(open).unwrap(),
        "a\n",
        "who reads has all of the old one"
    );
}

#[test]
fn no_link_that_somebody_laid_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (victim, jobs_at) = (folder.path().join("victim"), folder.path().join("jobs"));
    fs::write(&victim, "precious\n").unwrap();
    fs::create_dir(&jobs_at).unwrap();
    for name in ["0", "0.tmp", "5"] {
        std::os::unix::fs::symlink(&victim, jobs_at.join(name)).unwrap();
    }
    JobFolder::new(jobs_at.clone())
        .publish(&jobs(&[(0, &["a"])]))
        .unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious\n");
    assert_eq!(read(&jobs_at), jobs(&[(0, &["a"])]));
}

#[test]
fn a_folder_that_cannot_be_named_so_is_told() {
    let error = JobFolder::new("/dev/null/jobs".into())
        .publish(&jobs(&[]))
        .unwrap_err();
    assert!(error.contains("/dev/null/jobs"), "{error}");
}
