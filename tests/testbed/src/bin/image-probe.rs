// SPDX-License-Identifier: Apache-2.0
//! Runs inside an image and prints what it sees there. Alone of the testbed it loads libraries by their names, to learn
//! whether the image's own loader finds the driver.

use std::process::ExitCode;

fn main() -> ExitCode {
    testbed::image_probe::main(load)
}

fn load(name: &str) -> Result<String, String> {
    // SAFETY: what is loaded runs its initialisers; it is the driver that the container was given, as for any program.
    let library = unsafe { libloading::Library::new(name) };
    let _library = library.map_err(|error| error.to_string())?;
    let stem = name.split(".so").next().unwrap_or(name);
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(|error| error.to_string())?;
    let mut files = maps
        .lines()
        .filter_map(|line| Some(line.get(line.find('/')?..)?.to_owned()));
    let of_it = |file: &String| {
        file.rsplit('/')
            .next()
            .is_some_and(|file| file.starts_with(&format!("{stem}.so")))
    };
    files
        .find(of_it)
        .ok_or_else(|| format!("{name} is loaded and mapped from nowhere"))
}
