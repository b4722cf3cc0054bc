// SPDX-License-Identifier: Apache-2.0
//! Where distributions put a driver's files. Each path is within the driver's root.

/// The loader's cache.
pub(super) const LOADER_CACHE: &str = "/etc/ld.so.cache";

/// Folders of libraries, for roots whose loader cache tells nothing: the common ones, then those of Arch, NVIDIA's own
/// images, NixOS, Windows, and Talos.
pub(super) const LIBRARY_FOLDERS: [&str; 17] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/i386-linux-gnu",
    "/usr/lib32",
    "/lib64",
    "/lib",
    "/lib32",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/run/opengl-driver/lib",
    "/run/opengl-driver-32/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/glibc/usr/lib",
    "/usr/local/lib",
    "/opt/nvidia/lib64",
];
/// Folders below those that hold libraries too: Debian's, and that of the video decoder's bridge, which no cache lists.
pub(super) const BELOW_LIBRARY_FOLDERS: [&str; 3] = ["nvidia", "nvidia/current", "vdpau"];

/// Folders of programs.
pub(super) const PROGRAM_FOLDERS: [&str; 9] = [
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/nvidia/bin",
    "/run/current-system/sw/bin",
    "/usr/lib/wsl/lib",
    "/usr/local/bin",
    "/bin",
    "/sbin",
    "/opt/nvidia/bin",
];
/// The driver's programs that a container has use for.
pub(super) const PROGRAMS: [&str; 5] = [
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
];

/// What holds the folders of [`SHARES`].
pub(super) const SHARE_FOLDERS: [&str; 4] = [
    "/usr/share",
    "/etc",
    "/usr/local/share",
    "/run/opengl-driver/share",
];
/// Where the loaders of graphics interfaces look for descriptions of drivers.
pub(super) const SHARES: [&str; 5] = [
    "vulkan/icd.d",
    "vulkan/implicit_layer.d",
    "vulkansc/icd.d",
    "glvnd/egl_vendor.d",
    "egl/egl_external_platform.d",
];

/// What holds `nvidia/VERSION` with the GPUs' firmware.
pub(super) const FIRMWARE_FOLDERS: [&str; 3] = [
    "/lib/firmware",
    "/usr/lib/firmware",
    "/run/current-system/firmware",
];
