// SPDX-License-Identifier: Apache-2.0
//! Tables of the environment that makes programs find the driver.

use super::*;

const BIN: &str = "/usr/local/nvidia/bin";
const LIB: &str = "/usr/local/nvidia/lib:/usr/local/nvidia/lib64";
const COMPAT: &str = "/usr/local/cuda/compat";

/// One variable of a container whose image says `env`.
fn variable(name: &str, env: &[&str], compat: Option<&str>, shares: &[&str]) -> Option<String> {
    let wishes = Wishes::read(env.iter().copied(), []);
    let shares: Vec<String> = shares.iter().map(|share| (*share).to_owned()).collect();
    let mut all = environment(Some(&wishes), compat, &shares).into_iter();
    all.find(|(own, _)| own == name).map(|(_, value)| value)
}

#[test]
fn the_path_is_the_images_or_a_sane_one_with_the_drivers_programs_behind_it() {
    let sane = format!("{DEFAULT_PATH}:{BIN}");
    for (env, want) in [
        (&[][..], sane.as_str()),
        (&["PATH="], &sane),
        (&["PATH=:"], &sane),
        (&["PATH"], &sane),
        (&["PATH=/bin"], "/bin:/usr/local/nvidia/bin"),
        (&["PATH=/usr/local/nvidia/bin:/bin"], "/usr/local/nvidia/bin:/bin"),
        (&["PATH=/a:/b", "PATH=/c"], "/a:/b:/usr/local/nvidia/bin"),
        // Empty folders mean the current one.
        (&["PATH=:/a::/b:"], "/a:/b:/usr/local/nvidia/bin"),
        (
            &["PATH=/a:/usr/local/nvidia/binary"],
            "/a:/usr/local/nvidia/binary:/usr/local/nvidia/bin",
        ),
    ] {
        assert_eq!(variable("PATH", env, None, &[]).as_deref(), Some(want), "{env:?}");
    }
}

#[test]
fn the_library_path_is_the_images_with_the_drivers_folders_behind_it() {
    let behind = |before: &str| format!("{before}:{LIB}");
    for (value, want) in [
        ("", LIB.to_owned()),
        ("::", LIB.to_owned()),
        ("/opt/lib", behind("/opt/lib")),
        (":/opt/lib:", behind("/opt/lib")),
        (
            "/usr/local/nvidia/lib64:/opt/lib",
            "/usr/local/nvidia/lib64:/opt/lib:/usr/local/nvidia/lib".to_owned(),
        ),
        (LIB, LIB.to_owned()),
    ] {
        let env = format!("LD_LIBRARY_PATH={value}");
        assert_eq!(
            variable("LD_LIBRARY_PATH", &[&env], None, &[]),
            Some(want),
            "{value}"
        );
    }
}

#[test]
fn the_images_libcuda_goes_first_when_it_was_chosen_and_shadows_nothing_when_it_was_not() {
    for (value, compat, want) in [
        ("", Some(COMPAT), format!("{COMPAT}:{LIB}")),
        ("/opt/lib", Some(COMPAT), format!("{COMPAT}:/opt/lib:{LIB}")),
        (
            "/opt/lib:/usr/local/cuda/compat",
            Some(COMPAT),
            format!("{COMPAT}:/opt/lib:{LIB}"),
        ),
        (
            "/opt/lib:/usr/local/cuda/compat:/x",
            None,
            format!("/opt/lib:/x:{LIB}"),
        ),
        ("/usr/local/cuda/compat/", None, LIB.to_owned()),
        (
            "/usr/local/cuda-12.4/compat:/usr/local/cuda/lib64",
            None,
            format!("/usr/local/cuda/lib64:{LIB}"),
        ),
        // NVIDIA's large images fill this one at start, and only when it is needed.
        (
            "/usr/local/cuda/compat/lib",
            None,
            format!("/usr/local/cuda/compat/lib:{LIB}"),
        ),
        (
            "/usr/local/cuda-12/x/compat",
            None,
            format!("/usr/local/cuda-12/x/compat:{LIB}"),
        ),
    ] {
        let env = format!("LD_LIBRARY_PATH={value}");
        assert_eq!(
            variable("LD_LIBRARY_PATH", &[&env], compat, &[]),
            Some(want),
            "{value} {compat:?}"
        );
    }
}

#[test]
fn an_image_without_a_manifest_finds_the_driver_too() {
    assert_eq!(
        environment(None, Some(COMPAT), &["vulkan/icd.d".to_owned()]),
        [
            ("PATH".to_owned(), format!("{DEFAULT_PATH}:{BIN}")),
            ("LD_LIBRARY_PATH".to_owned(), format!("{COMPAT}:{LIB}")),
        ]
    );
}

#[test]
fn graphics_finds_vulkan_and_egl_beside_what_the_image_has() {
    const GRAPHICS: &str = "NVIDIA_DRIVER_CAPABILITIES=graphics";
    const SHARES: &[&str] = &[
        "egl/egl_external_platform.d",
        "glvnd/egl_vendor.d",
        "vulkan/icd.d",
    ];
    for (name, said, want) in [
        (
            "XDG_DATA_DIRS",
            "",
            "/usr/local/nvidia/share:/usr/local/share:/usr/share",
        ),
        (
            "XDG_DATA_DIRS",
            "/opt/share:",
            "/opt/share:/usr/local/nvidia/share",
        ),
        (
            "__EGL_VENDOR_LIBRARY_DIRS",
            "",
            "/etc/glvnd/egl_vendor.d:/usr/local/nvidia/share/glvnd/egl_vendor.d:/usr/share/glvnd/egl_vendor.d",
        ),
        (
            "__EGL_VENDOR_LIBRARY_DIRS",
            "/opt/egl",
            "/opt/egl:/usr/local/nvidia/share/glvnd/egl_vendor.d",
        ),
        (
            "__EGL_EXTERNAL_PLATFORM_CONFIG_DIRS",
            "",
            "/etc/egl/egl_external_platform.d:/usr/local/nvidia/share/egl/egl_external_platform.d:\
             /usr/share/egl/egl_external_platform.d",
        ),
    ] {
        let env = [GRAPHICS.to_owned(), format!("{name}={said}")];
        let env: Vec<&str> = env.iter().map(String::as_str).collect();
        assert_eq!(
            variable(name, &env, None, SHARES).as_deref(),
            Some(want),
            "{name} {said}"
        );
    }
}

#[test]
fn graphics_variables_are_set_only_when_asked_for_and_only_for_folders_that_are_there() {
    let names = [
        "XDG_DATA_DIRS",
        "__EGL_VENDOR_LIBRARY_DIRS",
        "__EGL_EXTERNAL_PLATFORM_CONFIG_DIRS",
    ];
    for (capabilities, shares, want) in [
        ("graphics", &["vulkan/icd.d"][..], [true, false, false]),
        ("display", &["vulkan/implicit_layer.d"], [true, false, false]),
        ("all", &["glvnd/egl_vendor.d"], [false, true, false]),
        ("all", &["egl/egl_external_platform.d"], [false, false, true]),
        (
            "all",
            &["nvidia", "vulkanic/icd.d", "glvnd"],
            [false, false, false],
        ),
        ("all", &[], [false, false, false]),
        (
            "compute,utility",
            &["vulkan/icd.d", "glvnd/egl_vendor.d"],
            [false, false, false],
        ),
    ] {
        let env = format!("NVIDIA_DRIVER_CAPABILITIES={capabilities}");
        let set = names.map(|name| variable(name, &[&env], None, shares).is_some());
        assert_eq!(set, want, "{capabilities} {shares:?}");
    }
}
