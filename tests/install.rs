// SPDX-License-Identifier: Apache-2.0
//! `packaging/install.sh` puts what the documentation lists where it says, loses nothing that is there, and what it puts can
//! be used as it is. That a real Mesos loads it, the test bed shows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

mod support;
mod tool;

use fake_nvml::Machine;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use tool::World;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A place to install to, and what cargo made.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let built = folder.path().join("built");
        fs::create_dir(&built).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_mesos-gpu"), built.join("mesos-gpu")).unwrap();
        fs::write(built.join("libmesos_gpu.so"), "a library").unwrap();
        Self { folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn script(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(root().join("packaging/install.sh"));
        for variable in ["PREFIX", "SYSCONFDIR", "DESTDIR"] {
            command.env_remove(variable);
        }
        command
            .arg(format!("--from={}", self.path("built").display()))
            .arg(format!("--destdir={}", self.path("image").display()))
            .args(arguments);
        command.output().unwrap()
    }

    fn install(&self, arguments: &[&str]) -> String {
        let output = self.script(arguments);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Every file below the image, from its root.
    fn files(&self) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        let mut folders = vec![self.path("image")];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let below = path.strip_prefix(self.path("image")).unwrap();
                    files.insert(format!("/{}", below.display()));
                }
            }
        }
        files
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path("image").join(&path[1..])).unwrap()
    }
}

/// What docs/install.md lists, below this prefix; of a folder its path.
fn documented(prefix: &str) -> Vec<String> {
    let chapter = fs::read_to_string(root().join("docs/install.md")).unwrap();
    let rows = chapter
        .lines()
        .skip_while(|line| *line != "| file | what |")
        .skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| row.split('`').nth(1).unwrap())
        .map(|path| {
            if path.starts_with('/') {
                path.to_owned()
            } else {
                format!("{prefix}/{path}")
            }
        })
        .collect()
}

#[test]
fn what_is_installed_is_what_the_documentation_lists() {
    let place = Place::new();
    let said = place.install(&["--prefix=/usr"]);
    let files = place.files();
    let documented = documented("/usr");
    for file in &files {
        let listed = documented
            .iter()
            .any(|path| file == path || file.starts_with(&format!("{path}/")));
        assert!(listed, "docs/install.md does not list {file}");
        assert!(said.lines().any(|line| line == file), "{file} is not told");
        let mode = fs::metadata(place.path("image").join(&file[1..]))
            .unwrap()
            .permissions()
            .mode();
        let program = file.ends_with(".so") || file.contains("/bin/");
        assert_eq!(mode & 0o777, if program { 0o755 } else { 0o644 }, "{file}");
    }
    for path in &documented {
        let there = files
            .iter()
            .any(|file| file == path || file.starts_with(&format!("{path}/")));
        assert!(there, "{path} is not installed");
    }
    assert_eq!(place.read("/usr/lib/mesos/modules/libmesos_gpu.so"), "a library");
    // Paths are those of the machine, not of the package.
    let manifest: Value = serde_json::from_str(&place.read("/etc/mesos-gpu/modules.json")).unwrap();
    let mut want: Value =
        serde_json::from_str(&fs::read_to_string(root().join("modules.json")).unwrap()).unwrap();
    want["libraries"][0] = json!({
        "file": "/usr/lib/mesos/modules/libmesos_gpu.so", "modules": want["libraries"][0]["modules"]
    });
    assert_eq!(manifest, want);
    for unit in ["agent", "master"] {
        let path = format!("/usr/share/mesos-gpu/systemd/mesos-{unit}.service.d/mesos-gpu.conf");
        let text = place.read(&path);
        assert!(
            text.contains("\nEnvironment=MESOS_MODULES=file:///etc/mesos-gpu/modules.json\n"),
            "{text}"
        );
        assert!(!text.contains('@'), "{text}");
    }
}

#[test]
fn a_second_installation_replaces_files_whole_and_keeps_the_configuration() {
    let place = Place::new();
    place.install(&[]);
    let (library, manifest) = (
        "/usr/local/lib/mesos/modules/libmesos_gpu.so",
        "/etc/mesos-gpu/modules.json",
    );
    let installed = place.path("image").join(&library[1..]);
    let running = fs::File::open(&installed).unwrap();
    fs::write(place.path("image").join(&manifest[1..]), "mine").unwrap();
    fs::write(place.path("built/libmesos_gpu.so"), "another library").unwrap();
    let said = place.install(&[]);
    assert!(said.contains(&format!("{manifest} is kept\n")), "{said}");
    assert_eq!(
        (place.read(manifest).as_str(), place.read(library).as_str()),
        ("mine", "another library")
    );
    // Who has the old one in memory keeps it.
    assert_eq!(std::io::read_to_string(&running).unwrap(), "a library");
    assert_ne!(
        running.metadata().unwrap().ino(),
        fs::metadata(&installed).unwrap().ino()
    );
    assert!(place.files().iter().all(|file| !file.ends_with(".new")));
    fs::create_dir_all(place.path("image/usr/local/lib/mesos/modules")).unwrap();
    fs::write(place.path("image/usr/local/lib/mesos/modules/other.so"), "").unwrap();
    place.install(&["--uninstall"]);
    let left = [
        "/etc/mesos-gpu/modules.json",
        "/usr/local/lib/mesos/modules/other.so",
    ];
    assert_eq!(place.files(), left.map(str::to_owned).into());
}

#[test]
fn what_cannot_be_installed_is_told_and_nothing_is_written() {
    for (arguments, told) in [
        (&["--prefix=usr"][..], "give a path that begins with /"),
        (&["--prefix=/a b"], "give a path that begins with /"),
        (&["--sysconfdir=/a|b"], "give a path that begins with /"),
        (&["--nonsense"], "cannot take --nonsense"),
        (&["--from=/none"], "run cargo build --release first"),
    ] {
        let place = Place::new();
        let output = place.script(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && stderr.contains(told),
            "{arguments:?}: {stderr}"
        );
        assert!(!place.path("image").exists(), "{arguments:?}");
    }
    let output = Place::new().script(&["--help"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn systemd_takes_the_drop_ins() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return support::skip("systemd-analyze, which reads units");
    }
    let place = Place::new();
    place.install(&["--prefix=/usr"]);
    for unit in ["mesos-agent", "mesos-master"] {
        let units = place.path("units");
        let drop_in = units.join(format!("{unit}.service.d"));
        fs::create_dir_all(&drop_in).unwrap();
        let from = format!("image/usr/share/mesos-gpu/systemd/{unit}.service.d/mesos-gpu.conf");
        fs::copy(place.path(&from), drop_in.join("mesos-gpu.conf")).unwrap();
        let file = units.join(format!("{unit}.service"));
        fs::write(
            &file,
            "[Unit]\nDescription=Mesos\n[Service]\nExecStart=/bin/true\n",
        )
        .unwrap();
        let verify = || {
            Command::new("systemd-analyze")
                .args(["verify", "--man=no"])
                .arg(&file)
                .output()
                .unwrap()
        };
        let output = verify();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.is_empty(), "{unit}: {said}");
        // It does read the drop-in.
        fs::write(drop_in.join("wrong.conf"), "[Service]\nNonsense=1\n").unwrap();
        let said = String::from_utf8_lossy(&verify().stderr).into_owned();
        assert!(said.contains("Nonsense"), "{said}");
    }
}

#[test]
fn ROOT_CGROUPS_the_tool_has_nothing_to_say_of_an_installed_agent() {
    if !tool::has_devices() {
        return;
    }
    let world = World::of(&Machine::with_gpus(2));
    let place = Place::new();
    fs::copy(world.path("libmesos_gpu.so"), place.path("built/libmesos_gpu.so")).unwrap();
    let (prefix, etc) = (world.text("prefix"), world.text("etc"));
    place.install(&[
        &format!("--prefix={prefix}"),
        &format!("--sysconfdir={etc}"),
        "--destdir=",
    ]);
    let path = format!("{etc}/mesos-gpu/modules.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let parameters = world.parameters().into_iter();
    let pair = |(key, value): (String, String)| json!({ "key": key, "value": value });
    manifest["libraries"][0]["modules"][0]["parameters"] = parameters.map(pair).collect();
    fs::write(&path, manifest.to_string()).unwrap();
    for (unit, program) in [("mesos-agent", "mesos-agent"), ("mesos-master", "mesos-master")] {
        let text = fs::read_to_string(format!(
            "{prefix}/share/mesos-gpu/systemd/{unit}.service.d/mesos-gpu.conf"
        ));
        let text = text.unwrap();
        let variables = text
            .lines()
            .filter_map(|line| line.strip_prefix("Environment=")?.split_once('='));
        let mut command = tool::tool();
        command.args(["check", "--json", "--"]).arg(world.path(program));
        command
            .arg(format!("--work_dir={}", world.text("work")))
            .envs(variables);
        let (status, stdout, stderr) = tool::run(&mut command);
        assert_eq!((status, stderr.as_str()), (0, ""), "{stdout}");
        assert_eq!(
            serde_json::from_str::<Value>(&stdout).unwrap(),
            json!({ "findings": [] })
        );
    }
}
