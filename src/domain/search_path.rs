// SPDX-License-Identifier: Apache-2.0
//! Where the programs of a container look for the driver: its environment, from what the image says.
//!
//! Variables alone do not reach programs that clear their environment or run setuid; those find the libraries through the
//! loader's cache, which is made elsewhere.

use crate::domain::compat::COMPAT_FOLDER;
use crate::domain::driver_file::DRIVER_FOLDER;
use crate::domain::image::Wishes;

/// What a shell of most systems starts root with; for an image that has none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Variables with folders for graphics, what they mean when they are not set, which of the driver's folders goes there, and
/// by which folder of the driver they are needed.
///
/// Vulkan's loader looks for drivers and for layers below each folder of `XDG_DATA_DIRS`; `VK_ADD_DRIVER_FILES` would do
/// for drivers alone, and only with loaders of 2022 and later. The two of EGL replace the folders that are built in, so
/// these are repeated. The driver's folder stands where its files natively count: before Mesa's in `/usr/share`, behind
/// what is in `/etc`.
const GRAPHICS: [Folders; 3] = [
    Folders {
        variable: "XDG_DATA_DIRS",
        before: "",
        after: "/usr/local/share:/usr/share",
        own: "",
        needed_by: "vulkan",
    },
    Folders {
        variable: "__EGL_VENDOR_LIBRARY_DIRS",
        before: "/etc/glvnd/egl_vendor.d",
        after: "/usr/share/glvnd/egl_vendor.d",
        own: "glvnd/egl_vendor.d",
        needed_by: "glvnd/egl_vendor.d",
    },
    Folders {
        variable: "__EGL_EXTERNAL_PLATFORM_CONFIG_DIRS",
        before: "/etc/egl/egl_external_platform.d",
        after: "/usr/share/egl/egl_external_platform.d",
        own: "egl/egl_external_platform.d",
        needed_by: "egl/egl_external_platform.d",
    },
];

struct Folders {
    variable: &'static str,
    before: &'static str,
    after: &'static str,
    own: &'static str,
    needed_by: &'static str,
}

/// The variables of a container that has the driver's files at [`DRIVER_FOLDER`]. `wishes` is what its image says, none
/// without a manifest; `compat` the folder of an image's own `libcuda` that goes before the driver's; `shares` the folders
/// below `share` that have files.
pub fn environment(
    wishes: Option<&Wishes>,
    compat: Option<&str>,
    shares: &[String],
) -> Vec<(String, String)> {
    let said = |name: &str| wishes.and_then(|wishes| wishes.variable(name)).unwrap_or("");
    let [programs, lib, lib64] = ["bin", "lib", "lib64"].map(|below| format!("{DRIVER_FOLDER}/{below}"));
    let mut path = Path::of(said("PATH"));
    if path.is_empty() {
        path = Path::of(DEFAULT_PATH);
    }
    path.add(&programs);

    let mut libraries = Path::of(said("LD_LIBRARY_PATH"));
    match compat {
        Some(compat) => {
            libraries.0.retain(|folder| *folder != compat);
            libraries.0.insert(0, compat);
        }
        // A libcuda that may not be used would shadow the driver's.
        None => libraries.0.retain(|folder| !is_compat(folder)),
    }
    libraries.add(&lib);
    libraries.add(&lib64);

    let mut variables = vec![
        ("PATH".to_owned(), path.text()),
        ("LD_LIBRARY_PATH".to_owned(), libraries.text()),
    ];
    if wishes.is_some_and(Wishes::asks_for_graphics) {
        variables.extend(GRAPHICS.iter().filter_map(|folders| {
            let needed = shares.iter().any(|share| within(share, folders.needed_by));
            needed.then(|| (folders.variable.to_owned(), folders.text(said(folders.variable))))
        }));
    }
    variables
}

impl Folders {
    fn text(&self, said: &str) -> String {
        let own = format!("{DRIVER_FOLDER}/share/{}", self.own);
        let own = own.trim_end_matches('/');
        let mut path = Path::of(said);
        if path.is_empty() {
            path = Path::of(self.before);
            path.add(own);
            path.append(self.after);
        } else {
            path.add(own);
        }
        path.text()
    }
}

/// Whether a path is a folder or lies below it.
fn within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a folder is that of an image's own `libcuda`, under the name without or with CUDA's version.
fn is_compat(folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    let versioned = folder
        .strip_prefix("/usr/local/cuda-")
        .and_then(|rest| rest.strip_suffix("/compat"));
    folder == COMPAT_FOLDER || versioned.is_some_and(|version| !version.contains('/'))
}

/// Folders in order, none empty: an empty one means the folder in which a program happens to be.
struct Path<'a>(Vec<&'a str>);

impl<'a> Path<'a> {
    fn of(text: &'a str) -> Self {
        Self(text.split(':').filter(|folder| !folder.is_empty()).collect())
    }

    fn append(&mut self, text: &'a str) {
        self.0.extend(Self::of(text).0);
    }

    /// Adds a folder, unless it is there.
    fn add(&mut self, folder: &'a str) {
        if !self.0.contains(&folder) {
            self.0.push(folder);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn text(&self) -> String {
        self.0.join(":")
    }
}

#[cfg(test)]
mod tests;
