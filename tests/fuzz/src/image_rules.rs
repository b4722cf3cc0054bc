// SPDX-License-Identifier: Apache-2.0
//! The rules of images, on any manifest: they never panic, what they write into the log and into messages is short and of
//! one line, and the environment they make finds the driver and nothing in the folder a program happens to be in.
//!
//! An input is lines. The first letter says what a line is: `l` a label, `d` the driver, `m` a GPU's model, `f` a file in the
//! image's compat folder, `s` a folder of the driver's shares, `a` that its own libcuda is allowed; anything else is an
//! entry of the image's environment. In a line the byte 1 stands for a line's end.

use mesos_gpu::domain::image::facts::Facts;
use mesos_gpu::domain::image::injection::{DriverFilesPolicy, gets_driver};
use mesos_gpu::domain::image::{Wishes, requirement};
use mesos_gpu::domain::{compat, search_path};

/// More than any line that is written about an image may have.
const LINE: usize = 2000;
/// More lines than an image may cause at each step.
const LINES: usize = 17;

#[derive(Default)]
struct Input {
    env: Vec<String>,
    labels: Vec<(String, String)>,
    driver: Option<String>,
    models: Vec<String>,
    files: Vec<String>,
    shares: Vec<String>,
    allowed: bool,
}

impl Input {
    fn of(bytes: &[u8]) -> Self {
        let mut input = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line).replace('\u{1}', "\n");
            let rest = || text.chars().skip(1).collect::<String>();
            match text.as_bytes().first() {
                Some(b'l') => {
                    let label = rest();
                    let (key, value) = label.split_once('=').unwrap_or((&label, ""));
                    input.labels.push((key.to_owned(), value.to_owned()));
                }
                Some(b'd') => input.driver = Some(rest()),
                Some(b'm') => input.models.push(rest()),
                Some(b'f') => input.files.push(rest()),
                Some(b's') => input.shares.push(rest()),
                Some(b'a') => input.allowed = true,
                _ => input.env.push(text),
            }
        }
        input
    }

    fn wishes(&self) -> Wishes {
        let labels = self
            .labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        Wishes::read(self.env.iter().map(String::as_str), labels)
    }
}

/// Tries one input.
///
/// # Panics
/// Where a promise is broken.
pub fn run(bytes: &[u8]) {
    let input = Input::of(bytes);
    let wishes = input.wishes();
    short(&wishes.warnings);
    policies(&wishes);
    requirements(&wishes, &input);
    environment(&wishes, &input);
}

fn short(lines: &[String]) {
    assert!(lines.len() <= LINES, "{} lines", lines.len());
    for line in lines {
        assert!(line.len() < LINE && !line.contains('\n'), "{line:?}");
    }
}

fn policies(wishes: &Wishes) {
    use DriverFilesPolicy::{Asked, Never, WithGpus};
    assert!(!gets_driver(Never, true, Some(wishes)) && !gets_driver(Never, false, Some(wishes)));
    assert!(gets_driver(WithGpus, true, Some(wishes)) && gets_driver(Asked, true, Some(wishes)));
    assert!(!gets_driver(WithGpus, false, Some(wishes)));
    assert_eq!(gets_driver(Asked, false, Some(wishes)), wishes.asks_for_driver());
}

fn requirements(wishes: &Wishes, input: &Input) {
    let facts = Facts::of(input.driver.as_deref(), &input.models);
    match requirement::check(wishes, &facts) {
        Ok(warnings) => short(&warnings),
        Err(error) => {
            // The driver's version is the machine's own and not a stranger's.
            let driver = facts.driver.as_deref().unwrap_or("");
            short(&[error.replacen(driver, "", 1)]);
            let named = wishes.requirements.iter().any(|(_, text)| !text.is_empty());
            assert!(named && error.contains("NVIDIA_REQUIRE_"), "{error}");
        }
    }
    // A machine of which nothing is known holds nobody up.
    let warnings = requirement::check(wishes, &Facts::default());
    short(&warnings.expect("nothing is known, so nothing is unmet"));
    let disabled = std::iter::once("NVIDIA_DISABLE_REQUIRE=1").chain(input.env.iter().map(String::as_str));
    let disabled = Wishes::read(disabled, []);
    assert_eq!(requirement::check(&disabled, &facts), Ok(Vec::new()));
}

fn environment(wishes: &Wishes, input: &Input) {
    let driver = input.driver.as_deref().unwrap_or("");
    let chosen = compat::chosen(&input.files, driver, &input.models, input.allowed);
    assert!(!chosen || input.allowed && compat::supported(&input.models));
    assert!(!compat::chosen(&input.files, driver, &input.models, false));
    let folder = chosen.then_some(compat::COMPAT_FOLDER);
    let made = search_path::environment(Some(wishes), folder, &input.shares);
    for (name, value) in &made {
        assert!(value.split(':').all(|part| !part.is_empty()), "{name}={value:?}");
        assert!(value.contains("/usr/local/nvidia/"), "{name}={value:?}");
    }
    let parts = |nth: usize| made[nth].1.split(':').collect::<Vec<_>>();
    assert!(made[0].0 == "PATH" && parts(0).contains(&"/usr/local/nvidia/bin"));
    let libraries = parts(1);
    assert!(made[1].0 == "LD_LIBRARY_PATH");
    assert!(libraries.contains(&"/usr/local/nvidia/lib") && libraries.contains(&"/usr/local/nvidia/lib64"));
    assert_eq!(
        libraries.contains(&compat::COMPAT_FOLDER),
        chosen,
        "{libraries:?}"
    );
    assert_eq!(libraries[0] == compat::COMPAT_FOLDER, chosen, "{libraries:?}");

    // What was made for a container is right for one that is made from it.
    let again: Vec<String> = made
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let capabilities = input
        .env
        .iter()
        .filter(|entry| entry.starts_with("NVIDIA_DRIVER_CAPABILITIES="));
    let again = Wishes::read(again.iter().chain(capabilities).map(String::as_str), []);
    assert_eq!(
        search_path::environment(Some(&again), folder, &input.shares),
        made
    );
}
