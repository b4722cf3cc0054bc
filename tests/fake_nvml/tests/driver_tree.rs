// SPDX-License-Identifier: Apache-2.0
//! The files of a simulated driver are what loaders, `ldconfig` and programs take for a driver's.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use fake_nvml::{DriverFiles, DriverTree, skip, trimmed_loader_cache_with};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn laid_out(folder: &Path) -> DriverFiles {
    DriverTree::new(folder).version("580.159.04").lay_out().unwrap()
}

fn smi(driver: &DriverFiles, libraries: Option<&Path>) -> (bool, String) {
    let mut command = Command::new(driver.bin().join("nvidia-smi"));
    command.env_clear();
    if let Some(libraries) = libraries {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn nvidia_smi_finds_the_libraries_by_the_loader_alone_and_fails_without() {
    let folder = tempfile::tempdir().unwrap();
    let driver = laid_out(folder.path());
    let (works, said) = smi(&driver, Some(&driver.lib64()));
    assert!(works && said.contains("Driver Version: 580.159.04"), "{said}");
    let (works, said) = smi(&driver, None);
    assert!(!works && said.contains("libcuda.so.1"), "{said}");
}

#[test]
fn every_library_loads_and_every_link_leads_to_one() {
    let folder = tempfile::tempdir().unwrap();
    let driver = laid_out(folder.path());
    assert!(driver.libraries().len() >= 26, "{}", driver.libraries().len());
    for library in driver.libraries() {
        // SAFETY: the libraries have no initialisers; NVML's copy is this crate.
        let loaded = unsafe { libloading::Library::new(library) };
        loaded.unwrap();
    }
    let entries = fs::read_dir(driver.lib64()).unwrap();
    let links: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_symlink())
        .collect();
    assert!(links.iter().any(|link| link.ends_with("libcuda.so")));
    assert!(links.iter().all(|link| link.is_file()), "{links:?}");
}

#[test]
fn the_loaders_cache_lists_both_classes() {
    let folder = tempfile::tempdir().unwrap();
    let driver = laid_out(&folder.path().join("driver"));
    let cache = folder.path().join("ld.so.cache");
    if let Err(error) = trimmed_loader_cache_with(&cache, &[driver.lib64(), driver.lib32()]) {
        return skip(&format!("the loader's cache of a driver: {error}"));
    }
    let printed = Command::new("/sbin/ldconfig")
        .arg("-p")
        .arg("-C")
        .arg(&cache)
        .output()
        .unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    let listed: BTreeSet<&str> = printed
        .lines()
        .filter_map(|line| line.split(" => ").nth(1))
        .collect();
    for name in [
        "lib64/libcuda.so.1",
        "lib64/libnvidia-ml.so.1",
        "lib64/libnvidia-gpucomp.so.580.159.04",
        "lib/libcuda.so.1",
    ] {
        let path = driver.folder().join(name).display().to_string();
        assert!(listed.contains(path.as_str()), "{name} is not in {printed}");
    }
}

#[test]
fn a_driver_of_a_wanted_size_has_its_bytes_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let driver = DriverTree::new(folder.path())
        .total_bytes(64 << 20)
        .lay_out()
        .unwrap();
    let sizes = driver
        .libraries()
        .iter()
        .map(|file| fs::metadata(file).unwrap().len());
    let total: u64 = sizes.sum();
    assert!((64 << 20..65 << 20).contains(&total), "{total}");
    use std::os::unix::fs::MetadataExt;
    let blocks = driver
        .libraries()
        .iter()
        .map(|file| fs::metadata(file).unwrap().blocks());
    assert!(blocks.sum::<u64>() * 512 >= total, "the files have holes");
    assert!(
        smi(&driver, Some(&driver.lib64())).0,
        "padded libraries still load"
    );
}

#[test]
fn what_an_earlier_driver_left_is_there_and_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let driver = DriverTree::new(folder.path())
        .leftover_version("390.1")
        .lay_out()
        .unwrap();
    assert!(driver.lib64().join("libcuda.so.390.1").is_file());
    assert!(
        !driver
            .libraries()
            .iter()
            .any(|file| file.to_string_lossy().ends_with("390.1"))
    );
}

#[test]
fn a_version_that_does_not_fit_into_a_library_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = DriverTree::new(folder.path())
        .version(&"9".repeat(90))
        .lay_out()
        .unwrap_err();
    assert!(error.to_string().contains("longer than"), "{error}");
}
