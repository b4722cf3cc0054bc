// SPDX-License-Identifier: Apache-2.0
//! The user-space part of a simulated driver: libraries, programs and what goes with them, as files in a folder. What
//! takes a driver into containers must find, choose and present real files.

mod library;
mod names;

use crate::library::{built_library, install_library};
use crate::machine_file::{failed, replace};
use names::{FIRMWARE, GRAPHICS, LEFTOVERS, LIBRARIES, LIBRARIES_32, Library, MANAGEMENT, PROGRAMS};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// What `build.rs` compiled.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/program"));

/// A driver's files to be laid out in a folder of the caller's own:
///
/// - `lib64`: some thirty libraries with the links that programs ask for, one of them the simulated NVML, and a few that
///   an earlier driver left behind;
/// - `lib`: three of them for 32-bit programs, and `firmware/nvidia/<version>` as below `/lib`;
/// - `bin`: `nvidia-smi`, which prints the driver's version and the GPUs that it may open, and its neighbours;
/// - `share`: what names the driver to Vulkan and EGL.
#[derive(Debug, Clone)]
pub struct DriverTree {
    folder: PathBuf,
    version: String,
    leftover: String,
    total_bytes: u64,
}

/// A driver's files, laid out.
#[derive(Debug, Clone)]
pub struct DriverFiles {
    folder: PathBuf,
    version: String,
    libraries: Vec<PathBuf>,
}

impl DriverTree {
    /// A driver for `folder`, with the version that [`crate::Machine::with_gpus`] has.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            version: crate::Machine::with_gpus(0).driver_version,
            leftover: "470.57.02".to_owned(),
            total_bytes: 0,
        }
    }

    /// Its version, for example `580.159.04`; of the kernel module that a test simulates, or another for a mismatch.
    pub fn version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.version);
        self
    }

    /// The version of the driver that left files behind.
    pub fn leftover_version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.leftover);
        self
    }

    /// Makes the 64-bit libraries so big that together they have this many bytes, for measurements. A real driver has
    /// some 700 million. The bytes are there and differ, so that no file system can save itself the work.
    pub fn total_bytes(mut self, bytes: u64) -> Self {
        self.total_bytes = bytes;
        self
    }

    /// Writes the files; those of an earlier layout in the same folder stay.
    ///
    /// # Errors
    /// The folder cannot be written to, the version is too long for a library's own name, or the built NVML is not found.
    pub fn lay_out(&self) -> io::Result<DriverFiles> {
        fs::create_dir_all(&self.folder).map_err(|e| failed("make the folder", &self.folder, &e))?;
        let folder = self
            .folder
            .canonicalize()
            .map_err(|e| failed("find", &self.folder, &e))?;
        Self {
            folder,
            ..self.clone()
        }
        .write()
    }

    fn write(self) -> io::Result<DriverFiles> {
        let (lib64, lib32) = (self.make("lib64")?, self.make("lib")?);
        let mut libraries = vec![self.management(&lib64)?];
        for library in LIBRARIES {
            libraries.push(self.library(&lib64, library, &self.version)?);
        }
        link(&lib64.join("libcuda.so"), "libcuda.so.1")?;
        for (stem, naming) in LEFTOVERS {
            let soname = naming.soname(stem, &self.leftover);
            let image = library::of_64_bits(&soname, &self.leftover)?;
            replace(&lib64.join(naming.file(stem, &self.leftover)), &image)?;
        }
        for (stem, naming) in LIBRARIES_32 {
            let soname = naming.soname(stem, &self.version);
            let file = naming.file(stem, &self.version);
            replace(&lib32.join(&file), &library::of_32_bits(&soname))?;
            link(&lib32.join(soname), &file)?;
        }
        self.programs()?;
        self.texts()?;
        pad(&libraries, self.total_bytes)?;
        Ok(DriverFiles {
            folder: self.folder,
            version: self.version,
            libraries,
        })
    }

    fn make(&self, below: impl AsRef<Path>) -> io::Result<PathBuf> {
        let folder = self.folder.join(below);
        fs::create_dir_all(&folder).map_err(|e| failed("make the folder", &folder, &e))?;
        Ok(folder)
    }

    fn library(&self, folder: &Path, (stem, naming): Library, version: &str) -> io::Result<PathBuf> {
        let (file, soname) = (naming.file(stem, version), naming.soname(stem, version));
        let path = folder.join(&file);
        replace(&path, &library::of_64_bits(&soname, version)?)?;
        if file != soname {
            link(&folder.join(soname), &file)?;
        }
        Ok(path)
    }

    fn management(&self, folder: &Path) -> io::Result<PathBuf> {
        let (stem, naming) = MANAGEMENT;
        let file = naming.file(stem, &self.version);
        let path = folder.join(&file);
        let installed = install_library(&built_library()?, folder, &[])?;
        fs::rename(&installed, &path).map_err(|e| failed("name", &path, &e))?;
        link(&installed, &file)?;
        Ok(path)
    }

    fn programs(&self) -> io::Result<()> {
        let bin = self.make("bin")?;
        PROGRAMS.iter().try_for_each(|name| {
            let path = bin.join(name);
            replace(&path, PROGRAM)?;
            fs::set_permissions(&path, Permissions::from_mode(0o755))
                .map_err(|e| failed("open up", &path, &e))
        })
    }

    fn texts(&self) -> io::Result<()> {
        let write = |file: &str, content: &str| {
            let path = self.folder.join(file);
            self.make(Path::new(file).parent().unwrap_or(Path::new("")))?;
            replace(&path, content.as_bytes())
        };
        for (file, library) in GRAPHICS {
            let text = format!(
                "{{\"file_format_version\": \"1.0.0\", \"ICD\": {{\"library_path\": \"{library}\"}}}}\n"
            );
            write(file, &text)?;
        }
        FIRMWARE.iter().try_for_each(|name| {
            write(
                &format!("lib/firmware/nvidia/{}/{name}", self.version),
                "simulated firmware\n",
            )
        })
    }
}

impl DriverFiles {
    /// The folder that has them all, without links in its path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The programs; belongs on a `PATH`.
    pub fn bin(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// The libraries of 64 bits; belongs into the loader's cache.
    pub fn lib64(&self) -> PathBuf {
        self.folder.join("lib64")
    }

    /// The libraries of 32 bits.
    pub fn lib32(&self) -> PathBuf {
        self.folder.join("lib")
    }

    /// Every 64-bit library of this driver, links and leftovers not counted: what a container should find.
    pub fn libraries(&self) -> &[PathBuf] {
        &self.libraries
    }
}

fn link(path: &Path, target: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("replace", path, &error)),
        _ => {}
    }
    symlink(target, path).map_err(|e| failed("make the link", path, &e))
}

/// Appends to the files, in equal shares, until they have `total` bytes together; loaders do not look behind the end.
fn pad(files: &[PathBuf], total: u64) -> io::Result<()> {
    let mut sizes = 0;
    for file in files {
        sizes += fs::metadata(file).map_err(|e| failed("look at", file, &e))?.len();
    }
    let share = total.saturating_sub(sizes).div_ceil(files.len().max(1) as u64);
    if share == 0 {
        return Ok(());
    }
    let (mut state, mut block) = (0x9e37_79b9_7f4a_7c15_u64, vec![0; 1 << 20]);
    for path in files {
        let open = fs::OpenOptions::new().append(true).open(path);
        let mut file = open.map_err(|e| failed("open", path, &e))?;
        write_noise(&mut file, share, &mut state, &mut block).map_err(|e| failed("fill", path, &e))?;
    }
    Ok(())
}

fn write_noise(file: &mut File, mut bytes: u64, state: &mut u64, block: &mut [u8]) -> io::Result<()> {
    while bytes > 0 {
        for word in block.chunks_exact_mut(8) {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            word.copy_from_slice(&state.to_ne_bytes());
        }
        let now = usize::try_from(bytes).unwrap_or(block.len()).min(block.len());
        file.write_all(block.get(..now).unwrap_or_default())?;
        bytes -= now as u64;
    }
    Ok(())
}
