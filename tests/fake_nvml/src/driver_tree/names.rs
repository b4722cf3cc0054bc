// SPDX-License-Identifier: Apache-2.0
//! What a driver's user-space part consists of, by names as they are on a machine with a present driver.

/// How a library's file and its own name for itself (its soname) depend on the driver's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// The file ends with the version and the soname with this number.
    Numbered(u32),
    /// Both end with the version.
    Versioned,
    /// The file is this, whatever the version; the soname ends with this number.
    Own(&'static str, u32),
}

/// A library without what follows `.so`.
pub(super) type Library = (&'static str, Naming);

use Naming::{Numbered, Own, Versioned};

/// The one that is real: the simulated NVML.
pub(super) const MANAGEMENT: Library = ("libnvidia-ml", Numbered(1));

/// All others of 64 bits.
pub(super) const LIBRARIES: [Library; 32] = [
    ("libcuda", Numbered(1)),
    ("libcudadebugger", Numbered(1)),
    ("libnvcuvid", Numbered(1)),
    ("libnvidia-allocator", Numbered(1)),
    ("libnvidia-cfg", Numbered(1)),
    ("libnvidia-eglcore", Versioned),
    ("libnvidia-encode", Numbered(1)),
    ("libnvidia-fbc", Numbered(1)),
    ("libnvidia-glcore", Versioned),
    ("libnvidia-glsi", Versioned),
    ("libnvidia-glvkspirv", Versioned),
    ("libnvidia-gpucomp", Versioned),
    ("libnvidia-ngx", Numbered(1)),
    ("libnvidia-nvvm", Numbered(4)),
    ("libnvidia-opencl", Numbered(1)),
    ("libnvidia-opticalflow", Numbered(1)),
    ("libnvidia-pkcs11-openssl3", Versioned),
    ("libnvidia-pkcs11", Versioned),
    ("libnvidia-ptxjitcompiler", Numbered(1)),
    ("libnvidia-rtcore", Versioned),
    ("libnvidia-sandboxutils", Numbered(1)),
    ("libnvidia-tls", Versioned),
    ("libnvoptix", Numbered(1)),
    ("libGLX_nvidia", Numbered(0)),
    ("libEGL_nvidia", Numbered(0)),
    ("libGLESv1_CM_nvidia", Numbered(1)),
    ("libGLESv2_nvidia", Numbered(2)),
    ("libvdpau_nvidia", Numbered(1)),
    // No driver has had it yet: whoever keeps a list of names misses the next one too.
    ("libnvidia-unheardof", Numbered(1)),
    ("libnvidia-nvvm70", Own("4", 4)),
    ("libnvidia-egl-gbm", Own("1.1.2", 1)),
    ("libnvidia-egl-wayland", Own("1.1.19", 1)),
];

/// Those that are there for 32-bit programs as well.
pub(super) const LIBRARIES_32: [Library; 3] = [
    ("libcuda", Numbered(1)),
    ("libnvidia-ml", Numbered(1)),
    ("libnvidia-ptxjitcompiler", Numbered(1)),
];

/// Those that an earlier driver left behind.
pub(super) const LEFTOVERS: [Library; 3] = [
    ("libcuda", Numbered(1)),
    ("libnvidia-fatbinaryloader", Versioned),
    ("libnvidia-ptxjitcompiler", Numbered(1)),
];

/// The programs.
pub(super) const PROGRAMS: [&str; 5] = [
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
];

/// Files that name a library to a graphics loader, each with that library's soname.
pub(super) const GRAPHICS: [(&str, &str); 5] = [
    ("share/vulkan/icd.d/nvidia_icd.json", "libGLX_nvidia.so.0"),
    (
        "share/vulkan/implicit_layer.d/nvidia_layers.json",
        "libGLX_nvidia.so.0",
    ),
    ("share/glvnd/egl_vendor.d/10_nvidia.json", "libEGL_nvidia.so.0"),
    (
        "share/egl/egl_external_platform.d/10_nvidia_wayland.json",
        "libnvidia-egl-wayland.so.1",
    ),
    (
        "share/egl/egl_external_platform.d/15_nvidia_gbm.json",
        "libnvidia-egl-gbm.so.1",
    ),
];

/// What the kernel module loads into GPUs.
pub(super) const FIRMWARE: [&str; 2] = ["gsp_ga10x.bin", "gsp_tu10x.bin"];

impl Naming {
    /// The file's name, for a library of a driver with `version`.
    pub(super) fn file(self, stem: &str, version: &str) -> String {
        match self {
            Numbered(_) | Versioned => format!("{stem}.so.{version}"),
            Own(end, _) => format!("{stem}.so.{end}"),
        }
    }

    /// The soname.
    pub(super) fn soname(self, stem: &str, version: &str) -> String {
        match self {
            Numbered(number) | Own(_, number) => format!("{stem}.so.{number}"),
            Versioned => format!("{stem}.so.{version}"),
        }
    }
}
