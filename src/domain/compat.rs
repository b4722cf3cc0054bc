// SPDX-License-Identifier: Apache-2.0
//! Whether an image's own `libcuda` goes before the driver's: CUDA's forward compatibility, by which a program made for a
//! newer CUDA runs on an older driver.
//!
//! NVIDIA supports it between release families only and not on GPUs for games: there, and with a driver that is as new or
//! newer, CUDA fails with an image's `libcuda` and works with the driver's.

use crate::domain::image::version::Version;

/// Where CUDA's images have it.
pub const COMPAT_FOLDER: &str = "/usr/local/cuda/compat";
/// The library itself has the version of the driver that it was made with in its name.
const LIBRARY: &str = "libcuda.so.";

/// Whether the image's `libcuda` is used. `found` are the names of the files in the image's folder, `models` the GPUs'
/// names as far as they are known, `allowed` what the operator wants. Where several are there, which of them would be
/// loaded is the image's affair, so that each must be good.
pub fn chosen(found: &[String], driver: &str, models: &[String], allowed: bool) -> bool {
    let Some(driver) = Version::parse(driver) else {
        return false;
    };
    let mut versions = found
        .iter()
        .filter_map(|name| {
            Version::parse(name.strip_prefix(LIBRARY)?).filter(|_| name.matches('.').count() > 2)
        })
        .peekable();
    allowed
        && supported(models)
        && versions.peek().is_some()
        && versions.all(|version| version.major() > driver.major())
}

/// Whether all GPUs of these names may be used that way.
pub fn supported(models: &[String]) -> bool {
    !models.iter().any(|model| {
        let model = model.to_ascii_lowercase();
        model.contains("geforce") || model.contains("titan")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_images_libcuda_wins_only_if_it_is_of_a_newer_family_than_the_driver() {
        let of = |version: &str| {
            list(&[
                "libcuda.so",
                "libcuda.so.1",
                &format!("libcuda.so.{version}"),
                "libnvidia-nvvm.so.4",
            ])
        };
        for (found, driver, wins) in [
            (of("550.54.15"), "580.159.04", false),
            (of("550.54.15"), "535.129.03", true),
            (of("550.54.15"), "550.54.15", false),
            (of("550.54.15"), "550.54.14", false),
            (of("1000.1"), "999.9", true),
            (of("99.1"), "535.129.03", false),
            (of("550.54.15"), "", false),
            (of("550.54.15"), "unknown", false),
            (list(&[]), "535.129.03", false),
            (list(&["libcuda.so", "libcuda.so.1"]), "0.1", false),
            (list(&["libcuda.so.999"]), "535.129.03", false),
            (list(&["libcuda.so.999.x"]), "535.129.03", false),
            (
                list(&["libcuda.so.550.54.15", "libcuda.so.470.1"]),
                "535.129.03",
                false,
            ),
            (
                list(&["libcuda.so.550.54.15", "libcuda.so.560.1"]),
                "535.129.03",
                true,
            ),
            (list(&["libcudadebugger.so.550.54.15"]), "535.129.03", false),
        ] {
            assert_eq!(chosen(&found, driver, &[], true), wins, "{found:?} {driver}");
        }
    }

    #[test]
    fn it_wins_only_where_it_is_allowed_and_no_gpu_is_for_games() {
        let found = list(&["libcuda.so.550.54.15"]);
        for (models, allowed, wins) in [
            (list(&["NVIDIA H200", "Tesla T4"]), true, true),
            (list(&["NVIDIA H200"]), false, false),
            (list(&["NVIDIA H200", "NVIDIA GeForce RTX 3090"]), true, false),
            (list(&["GEFORCE GTX 1080"]), true, false),
            (list(&["NVIDIA TITAN V"]), true, false),
            (list(&[]), true, true),
        ] {
            assert_eq!(
                chosen(&found, "535.129.03", &models, allowed),
                wins,
                "{models:?} {allowed}"
            );
        }
    }
}
