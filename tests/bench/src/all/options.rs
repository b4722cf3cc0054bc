// SPDX-License-Identifier: Apache-2.0
//! The arguments of `bench all`.

use testbed::Error;

use super::Part;

const USAGE: &str = "usage: bench all [--quick] [--rows=NAME,NAME…] [--rounds=N] [--launches=N] [--at-once=N] [--native=N] \
                     [--recovered=N,N…] [--recovered-native=N] [--idle=SECONDS] [--agents=N] [--megabytes=N] [--json=FILE] \
                     [--markdown=FILE] [--svg=FILE]; the rows are start, launch, at-once, share, growth, recovery, idle, \
                     allocator, estimator and size";

/// What to measure and how often.
#[derive(Debug, Clone)]
pub struct Options {
    pub parts: Vec<Part>,
    /// New agents of each variant.
    pub rounds: usize,
    /// Of each kind, in a round.
    pub launches: usize,
    /// Containers that are launched at the same time.
    pub at_once: u32,
    /// Launches of each kind without an agent.
    pub native: usize,
    /// How many containers agents recover.
    pub recovered: Vec<usize>,
    /// How many the module recovers without an agent.
    pub recovered_native: usize,
    /// Seconds.
    pub idle: u64,
    /// Of the allocators' cluster.
    pub agents: usize,
    /// Of the driver.
    pub megabytes: u64,
    pub files: Files,
}

/// Where to write what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    pub json: Option<String>,
    /// A text with two marks, between which the table comes.
    pub markdown: Option<String>,
    pub svg: Option<String>,
}

impl Files {
    /// Takes an argument that names one; whether it did.
    pub fn take(&mut self, argument: &str) -> bool {
        let place = match argument.split_once('=') {
            Some(("--json", file)) => (&mut self.json, file),
            Some(("--markdown", file)) => (&mut self.markdown, file),
            Some(("--svg", file)) => (&mut self.svg, file),
            _ => return false,
        };
        *place.0 = Some(place.1.to_owned());
        true
    }
}

impl Options {
    fn full() -> Self {
        Self {
            parts: Part::ALL.to_vec(),
            rounds: 10,
            launches: 5,
            at_once: 50,
            native: 300,
            recovered: vec![10, 100],
            recovered_native: 1000,
            idle: 60,
            agents: 1000,
            megabytes: 700,
            files: Files::default(),
        }
    }

    /// Every row, in some minutes.
    fn quick() -> Self {
        Self {
            rounds: 4,
            launches: 3,
            native: 200,
            idle: 20,
            ..Self::full()
        }
    }

    /// Reads the arguments after `all`.
    pub fn parse(arguments: &[String]) -> Result<Self, Error> {
        let is_quick = |argument: &String| argument == "--quick";
        let mut options = if arguments.iter().any(is_quick) {
            Self::quick()
        } else {
            Self::full()
        };
        for argument in arguments.iter().filter(|argument| !is_quick(argument)) {
            let wrong = || Error::new(format!("take the argument {argument:?}"), USAGE);
            let some = |text: &str| text.parse().ok().filter(|number| *number > 0).ok_or_else(wrong);
            let small = |text: &str| some(text).and_then(|number| u32::try_from(number).map_err(|_| wrong()));
            match argument.split_once('=') {
                Some(("--rows", names)) => {
                    let named = |name: &str| Part::ALL.into_iter().find(|part| part.name() == name);
                    let parts = names.split(',').map(|name| named(name).ok_or_else(wrong));
                    options.parts = parts.collect::<Result<_, _>>()?;
                }
                Some(("--rounds", text)) => options.rounds = some(text)?,
                Some(("--launches", text)) => options.launches = some(text)?,
                Some(("--at-once", text)) => options.at_once = small(text)?,
                Some(("--native", text)) => options.native = some(text)?,
                Some(("--recovered", texts)) => {
                    options.recovered = texts.split(',').map(some).collect::<Result<_, _>>()?;
                }
                Some(("--recovered-native", text)) => options.recovered_native = some(text)?,
                Some(("--idle", text)) => options.idle = small(text)?.into(),
                Some(("--agents", text)) => options.agents = some(text)?,
                Some(("--megabytes", text)) => options.megabytes = small(text)?.into(),
                _ if options.files.take(argument) => {}
                _ => return Err(wrong()),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, Error> {
        Options::parse(
            &arguments
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn what_is_given_goes_before_quick_wherever_it_stands() {
        let options = parse(&["--rounds=7", "--quick", "--rows=size,idle", "--svg=x"]).unwrap();
        assert_eq!((options.rounds, options.idle), (7, 20));
        assert_eq!(options.parts, [Part::Size, Part::Idle]);
        assert_eq!(options.files.svg.as_deref(), Some("x"));
    }

    #[test]
    fn the_usage_names_every_part() {
        let (_, names) = USAGE.split_once("the rows are ").unwrap();
        let names: Vec<&str> = names
            .split([',', ' '])
            .filter(|word| !["", "and"].contains(word))
            .collect();
        assert_eq!(names, Part::ALL.map(Part::name));
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for wrong in [
            "--rounds=0",
            "--rows=size,sizes",
            "--rounds",
            "fast",
            "--recovered=1,x",
        ] {
            let error = parse(&[wrong]).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("cannot take the argument {wrong:?}: usage:")),
                "{error}"
            );
        }
    }
}
