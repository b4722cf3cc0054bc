// SPDX-License-Identifier: Apache-2.0
//! The file that keeps NVIDIA's library in a container from making device nodes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use mesos_gpu::system::driver_params;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[test]
fn the_parameters_of_the_driver_are_copied_with_nodes_off() {
    let folder = tempfile::tempdir().unwrap();
    let host = folder.path().join("host");
    assert_eq!(driver_params::copy(&host, folder.path()), Ok(None), "no driver");
    fs::write(&host, "ModifyDeviceFiles: 1\nDeviceFileMode: 438\n").unwrap();
    let copy = driver_params::copy(&host, folder.path()).unwrap().unwrap();
    let text = || fs::read_to_string(&copy).unwrap();
    assert_eq!(text(), "ModifyDeviceFiles: 0\nDeviceFileMode: 438\n");
    let first = fs::metadata(&copy).unwrap();
    assert_eq!(first.mode() & 0o777, 0o444);

    driver_params::copy(&host, folder.path()).unwrap();
    assert_eq!(
        fs::metadata(&copy).unwrap().ino(),
        first.ino(),
        "written anew for nothing"
    );
    fs::write(&host, "ModifyDeviceFiles: 1\nDeviceFileMode: 384\n").unwrap();
    driver_params::copy(&host, folder.path()).unwrap();
    assert_eq!(text(), "ModifyDeviceFiles: 0\nDeviceFileMode: 384\n");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "something temporary stayed"
    );
}

#[test]
fn only_a_file_of_proc_itself_is_in_every_proc() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("params"), "").unwrap();
    assert!(driver_params::is_in_every_proc(Path::new("/proc/cpuinfo")));
    assert!(!driver_params::is_in_every_proc(&folder.path().join("params")));
    assert!(!driver_params::is_in_every_proc(&folder.path().join("none")));
}
