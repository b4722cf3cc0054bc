// SPDX-License-Identifier: Apache-2.0
//! modules.json itself, and the libraries that it names.

use super::setup::{Case, Setup, check_file, expect, seed};
use super::tool::{library, run, tool};

#[test]
fn each_mistake_in_the_file_or_its_library_is_found_by_its_rule_with_the_cure() {
    let cases: &[Case] = &[
        ("modules-shape", "error", "\"libraries\"", |s| {
            s.module(0)["parameters"] = "gpus=0".into()
        }),
        ("modules-unknown-field", "warning", "write \"parameters\"", |s| {
            s.module(0)["parameter"] = serde_json::json!([]);
        }),
        ("module-unknown", "error", "write mesos_gpu_Allocator", |s| {
            s.load("mesos_gpu_Alocator")
        }),
        ("module-repeated", "error", "name it once", |s| {
            s.load("mesos_gpu_Allocator");
            s.module(1)["parameters"] = serde_json::json!([{ "key": "policy", "value": "open" }]);
        }),
        ("library-unnamed", "error", "give it \"file\"", |s| {
            s.file["libraries"][0].as_object_mut().unwrap().remove("file");
        }),
        ("library-missing", "error", "install the library", |s| {
            s.file["libraries"][0]["file"] = "/none/libmesos_gpu.so".into();
        }),
        ("library-not-found", "warning", "run ldconfig", |s| {
            s.file["libraries"][0]["file"] = "libmesos_gpu.so.none".into();
        }),
        ("library-not-elf", "error", "built for this machine", |s| {
            s.world
                .write("libmesos_gpu.so", "this is a text and not a library\n");
        }),
        ("library-without-module", "error", "that has them", |s| {
            s.world.compile(
                "libmesos_gpu.so",
                &library("1.11.0", &["mesos_gpu_Hook"]),
                &["-shared", "-fPIC"],
            );
        }),
        ("library-without-module", "error", "that has them", |s| {
            s.world
                .compile("libmesos_gpu.so", "int x;", &["-shared", "-fPIC"]);
        }),
        (
            "library-for-another-mesos",
            "error",
            "built for Mesos 1.11.0",
            |s| {
                s.world.compile(
                    "libmesos_gpu.so",
                    &library("1.10.0", &["mesos_gpu_Allocator"]),
                    &["-shared", "-fPIC"],
                );
            },
        ),
        ("modules-and-folder", "error", "leave one of them out", |s| {
            s.flag("modules", "/a");
            s.flag("modules_dir", "/b");
        }),
    ];
    seed(Setup::master, cases);
}

#[test]
fn what_cannot_be_read_is_told() {
    let setup = Setup::master();
    let missing = setup.world.text("none.json");
    let cure = "--modules=file:///";
    let (status, findings) = check_file(&missing);
    expect("modules-unreadable", "error", cure, status, &findings);
    let broken = setup.world.write("broken.json", "{\"libraries\": [}");
    let (status, findings) = check_file(&broken);
    expect("modules-not-json", "error", "mend the text", status, &findings);
    let (status, findings) = setup.check_with(&[]);
    expect(
        "modules-not-given",
        "error",
        "--modules=file:///",
        status,
        &findings,
    );
}

#[test]
fn modules_are_read_wherever_mesos_reads_them() {
    for way in ["file://", "path", "inline", "folder", "alone"] {
        let mut setup = Setup::master();
        let text = setup.file.to_string();
        std::fs::create_dir(setup.world.path("modules.d")).unwrap();
        let file = setup.world.write("modules.d/gpu.json", &text);
        match way {
            "file://" => setup.flag("modules", &format!("file://{file}")),
            "path" => setup.flag("modules", &file),
            "inline" => setup.flag("modules", &text),
            "folder" => setup.flag("modules_dir", &setup.world.text("modules.d")),
            _ => assert_eq!(check_file(&file), (0, vec![])),
        }
        if way != "alone" {
            assert_eq!(setup.check_with(&[]), (0, vec![]), "{way}");
        }
    }
}

#[test]
fn the_librarys_own_file_names_its_modules_and_its_mesos() {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_mesos-gpu"));
    let folder = program.parent().unwrap();
    let built = [
        folder.join("deps/libmesos_gpu.so"),
        folder.join("libmesos_gpu.so"),
    ];
    let built = built
        .iter()
        .find(|path| path.is_file())
        .expect("cargo builds the library with its tests");
    let mut setup = Setup::master();
    setup.file["libraries"][0]["file"] = built.to_str().unwrap().into();
    assert_eq!(setup.check(), (0, vec![]));
    // The same library beside another Mesos: its release is read from its record.
    setup.world.compile(
        "libmesos-1.9.0.so",
        "",
        &["-shared", "-Wl,-soname,libmesos-1.9.0.so"],
    );
    let mesos = setup.world.text("libmesos-1.9.0.so");
    setup.world.compile(
        "mesos-master",
        "int main(void) { return 0; }",
        &["-Wl,--no-as-needed", &mesos],
    );
    let (status, findings) = setup.check();
    expect(
        "library-for-another-mesos",
        "error",
        "built for Mesos 1.9.0",
        status,
        &findings,
    );
    assert!(
        findings[0]["what"]
            .as_str()
            .unwrap()
            .contains("was built for Mesos 1.11.0"),
        "{findings:?}"
    );
    // Nothing of this tool is in what agents load.
    let data = std::fs::read(built).unwrap();
    for text in ["isolation-observes-nothing", "clap_builder"] {
        assert!(
            !data.windows(text.len()).any(|window| window == text.as_bytes()),
            "{text}"
        );
    }
}

#[test]
fn people_read_what_machines_read() {
    let mut setup = Setup::master();
    setup.without("allocator");
    let file = setup.world.write("modules.json", &setup.file.to_string());
    let (status, stdout, stderr) = run(tool().args(["check", "--modules", &file, "--"]).args(&setup.argv));
    let want = "warning: modules-not-used: modules.json loads mesos_gpu_Allocator, and --allocator does not name it\n  \
                cure: give the master --allocator=mesos_gpu_Allocator\n0 errors, 1 warning, 0 notes\n";
    assert_eq!((status, stdout.as_str(), stderr.as_str()), (1, want, ""));
}

#[test]
fn a_wrong_call_has_a_status_of_its_own() {
    for arguments in [
        &["check"][..],
        &["check", "--nonsense"],
        &["check", "--pid=1", "--", "mesos-agent"],
        &["check", "--pid=4194305"],
        &["check", "--", "sleep", "60"],
        &["status", "--nonsense"],
        &["status", "gpus"],
        &["completions", "tcsh"],
    ] {
        let (status, stdout, stderr) = run(tool().args(arguments));
        assert_eq!((status, stdout.as_str()), (64, ""), "{arguments:?}");
        assert!(!stderr.is_empty(), "{arguments:?}");
    }
    for arguments in [&["list", "gpus"][..], &["list", "--nonsense"], &["nonsense"], &[]] {
        assert_eq!(run(tool().args(arguments)).0, 2, "{arguments:?}");
    }
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["check", "--help"],
        &["list", "-h"],
    ] {
        let (status, stdout, stderr) = run(tool().args(arguments));
        assert_eq!((status, stderr.as_str()), (0, ""), "{arguments:?}");
        assert!(!stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn shells_are_given_their_completions() {
    for (shell, want) in [
        ("bash", "complete -F _mesos"),
        ("zsh", "#compdef mesos-gpu"),
        ("fish", "complete -c mesos-gpu"),
    ] {
        let (status, stdout, _) = run(tool().args(["completions", shell]));
        assert_eq!(status, 0);
        assert!(
            stdout.contains(want) && stdout.contains("checkpoint-dir"),
            "{shell}: {stdout}"
        );
    }
}
