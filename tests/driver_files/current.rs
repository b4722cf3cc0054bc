// SPDX-License-Identifier: Apache-2.0
//! Whether what was found is still current, and what asking costs: it is asked before each launch.

use crate::host::{self, Host, VERSION};
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn asking_whether_forty_libraries_are_current_takes_far_less_than_a_millisecond() {
    let host = Host::new();
    host.library("/usr/lib64", "libcuda", VERSION, 64);
    for number in 1..40 {
        host.library("/usr/lib64", &format!("libnvidia-part{number}"), VERSION, 64);
    }
    host.cache(&["/usr/lib64"]);
    measure(&host, "alone");
    for number in 0..2000 {
        let name = format!("libfoo{number}.so.1.0.{number}");
        host.plain(&format!("/usr/lib64/{name}"), &host::elf(64));
        host.link(&format!("/usr/lib64/libfoo{number}.so.1"), &name);
    }
    host.cache(&["/usr/lib64"]);
    measure(&host, "among 2000 of a distribution's own");
}

fn measure(host: &Host, what: &str) {
    let search = host.search();
    let (mut finds, mut checks) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let (found, took) = timed(|| search.look(Some(VERSION)).unwrap());
        finds.push(took);
        assert_eq!(found.files.files.len(), 40);
        let (current, took) = timed(|| search.is_current(&found));
        checks.push(took);
        assert!(current);
    }
    finds.sort();
    checks.sort();
    println!(
        "{what}: find {:?}, at best {:?}; is_current {:?}, at best {:?}",
        finds[10], finds[0], checks[10], checks[0]
    );
    // The best, as the machine may be busy.
    assert!(checks[0] < Duration::from_millis(1), "{checks:?}");
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}

#[test]
fn what_was_found_is_current_until_a_source_the_cache_or_a_folder_changes() {
    type Change = fn(&Host);
    let changes: [(&str, Change); 6] = [
        ("library replaced", |host| {
            let cuda = format!("/usr/lib64/libcuda.so.{VERSION}");
            host.plain(&format!("{cuda}.new"), &host::elf(64));
            fs::rename(host.path(&format!("{cuda}.new")), host.path(&cuda)).unwrap();
        }),
        ("library written", |host| {
            host.plain(
                &format!("/usr/lib64/libcuda.so.{VERSION}"),
                b"longer than before, and no library",
            );
        }),
        ("library gone", |host| {
            fs::remove_file(host.path(&format!("/usr/lib64/libcuda.so.{VERSION}"))).unwrap();
        }),
        ("library added", |host| {
            host.library("/usr/lib64", "libnvidia-new", VERSION, 64)
        }),
        ("cache written", |host| {
            drop(host.cache(&["/usr/lib64", "/usr/lib64"]))
        }),
        ("cache gone", |host| {
            fs::remove_file(host.path("/etc/ld.so.cache")).unwrap()
        }),
    ];
    for (what, change) in changes {
        let host = Host::new();
        host.library("/usr/lib64", "libcuda", VERSION, 64);
        host.cache(&["/usr/lib64"]);
        let search = host.search();
        let found = search.look(Some(VERSION)).unwrap();
        assert!(search.is_current(&found), "{what}");
        // Time stamps are as coarse as the kernel's tick.
        std::thread::sleep(Duration::from_millis(20));
        change(&host);
        assert!(!search.is_current(&found), "{what}");
        if let Ok(again) = search.look(Some(VERSION)) {
            assert_eq!(again.same_files(&found), what.starts_with("cache"), "{what}");
        }
    }
}
