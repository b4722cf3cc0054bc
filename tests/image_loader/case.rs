// SPDX-License-Identifier: Apache-2.0
//! A small image: the machine's C library, and programs that are compiled here.

use super::{LIBRARY, driver};
use mesos_gpu::system::image_root::ImageRoot;
use mesos_gpu::system::image_root::loader::{self, LoaderCaches};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An image with a program that needs the driver's library, and one in a folder that only a cache knows.
pub struct Case {
    pub folder: tempfile::TempDir,
}

impl Case {
    /// None, and a loud skip, where something that it needs is missing.
    pub fn new() -> Option<Self> {
        if !crate::support::is_root() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let case = Self { folder };
        for name in ["bin", "etc/ld.so.conf.d", "usr/local/nvidia/lib64", "opt/extra"] {
            fs::create_dir_all(case.inside(name)).unwrap();
        }
        fs::set_permissions(case.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let library = case.inside("usr/local/nvidia/lib64").join(LIBRARY);
        let extra = case.inside("opt/extra/libmesosgpuextra.so.1");
        let built = compile(
            "int found() { return 0; }",
            &["-shared", "-fPIC", "-Wl,-soname,libmesosgpuprobe.so.1"],
            &library,
        ) && compile(
            "int extra() { return 0; }",
            &["-shared", "-fPIC", "-Wl,-soname,libmesosgpuextra.so.1"],
            &extra,
        ) && compile(
            "int found(); int main() { return found(); }",
            &[library.to_str().unwrap()],
            &case.inside("bin/probe"),
        ) && compile(
            "int extra(); int main() { return extra(); }",
            &[extra.to_str().unwrap()],
            &case.inside("bin/extra"),
        );
        if !built {
            crate::support::skip("a C++ compiler, to make an image's program");
            return None;
        }
        case.copy_c_library();
        Some(case)
    }

    pub fn inside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The libraries that the program needs besides, with the loader, to where they are on the machine.
    fn copy_c_library(&self) {
        let needed = Command::new("ldd").arg("/bin/true").output().unwrap();
        for word in String::from_utf8(needed.stdout).unwrap().split_whitespace() {
            if !word.starts_with('/') {
                continue;
            }
            let place = self.inside(&word[1..]);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::copy(word, place).unwrap();
        }
    }

    pub fn show(&self) -> Vec<String> {
        let image = ImageRoot::open(self.folder.path()).unwrap();
        loader::show_libraries(&image, &driver(), &mut LoaderCaches::default())
    }

    fn run(&self, program: &str) -> Output {
        let mut chroot = Command::new("chroot");
        chroot
            .arg(self.folder.path())
            .arg(program)
            .env_clear()
            .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
        chroot.stdin(Stdio::null()).output().unwrap()
    }

    pub fn assert_runs(&self, program: &str) {
        let output = self.run(program);
        assert!(
            output.status.success(),
            "{program}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    pub fn assert_fails_for(&self, program: &str, library: &str) {
        let output = self.run(program);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(library), "{said}");
    }

    /// The image's own cache, as its maker would have made it.
    pub fn ldconfig(&self) -> bool {
        let program = ["/sbin/ldconfig", "/usr/sbin/ldconfig"]
            .into_iter()
            .find(|file| Path::new(file).exists());
        let Some(program) = program else {
            crate::support::skip("ldconfig");
            return false;
        };
        let done = Command::new(program)
            .arg("-r")
            .arg(self.folder.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        true
    }
}

fn compile(source: &str, arguments: &[&str], to: &Path) -> bool {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let file = to.with_extension("c");
    fs::write(&file, source).unwrap();
    // A C program, so that it needs no more than the C library.
    let done = Command::new(compiler)
        .args(["-x", "c"])
        .arg(&file)
        .args(["-x", "none", "-Wl,--as-needed"])
        .args(arguments)
        .arg("-o")
        .arg(to)
        .output();
    fs::remove_file(file).unwrap();
    done.is_ok_and(|done| done.status.success())
}
