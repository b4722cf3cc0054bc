// SPDX-License-Identifier: Apache-2.0
//! The arguments of `bench allocator`.

use testbed::Error;

use super::variant::Variant;

const USAGE: &str = "usage: bench allocator [--agents=N,N…] [--frameworks=N] [--cycles=N] [--warm-up=N] \
                     [--rounds=N] [--variants=NAME,NAME…] [--json=FILE]";

/// What to measure and how often.
#[derive(Debug)]
pub struct Options {
    /// Sizes of the cluster; a tenth of the agents have GPUs.
    pub agents: Vec<usize>,
    /// Half of them take GPUs.
    pub frameworks: usize,
    /// Measured cycles of each process.
    pub cycles: usize,
    /// Cycles of each process before those.
    pub warm_up: usize,
    /// Processes of each policy, size and scenario.
    pub rounds: usize,
    /// The policies to measure.
    pub variants: Vec<Variant>,
    /// Where to write the figures.
    pub json: Option<String>,
}

impl Options {
    /// Reads the arguments after `allocator`.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Error> {
        let mut options = Self {
            agents: vec![1_000, 10_000],
            frameworks: 100,
            cycles: 20,
            warm_up: 10,
            rounds: 6,
            variants: Variant::ALL.to_vec(),
            json: None,
        };
        for argument in arguments {
            let wrong = || Error::new(format!("take the argument {argument:?}"), USAGE);
            let some = |text: &str| {
                let number: Option<usize> = text.parse().ok();
                number.filter(|number| *number > 0).ok_or_else(wrong)
            };
            match argument.split_once('=') {
                Some(("--agents", sizes)) => {
                    options.agents = sizes.split(',').map(some).collect::<Result<_, _>>()?
                }
                Some(("--frameworks", number)) => options.frameworks = some(number)?,
                Some(("--cycles", number)) => options.cycles = some(number)?,
                Some(("--warm-up", number)) => options.warm_up = some(number)?,
                Some(("--rounds", number)) => options.rounds = some(number)?,
                Some(("--variants", names)) => {
                    let named = |name: &str| Variant::ALL.into_iter().find(|variant| variant.name() == name);
                    options.variants = names
                        .split(',')
                        .map(|name| named(name).ok_or_else(wrong))
                        .collect::<Result<_, _>>()?
                }
                Some(("--json", file)) => options.json = Some(file.to_owned()),
                _ => return Err(wrong()),
            }
        }
        // Each cycle is the revival of another framework. With its second one, another cycle would be measured: a revival
        // that comes too soon waits.
        if options.warm_up + options.cycles > options.frameworks {
            let tried = format!(
                "measure {} cycles after {} with {} frameworks",
                options.cycles, options.warm_up, options.frameworks
            );
            return Err(Error::new(tried, "there must be a framework for each cycle"));
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, Error> {
        Options::parse(arguments.iter().map(|text| (*text).to_owned()))
    }

    #[test]
    fn takes_lists_and_refuses_what_it_does_not_know_by_name() {
        let options = parse(&["--agents=10,20", "--variants=strict,share", "--rounds=1"]).unwrap();
        assert_eq!((options.agents, options.rounds), (vec![10, 20], 1));
        assert_eq!(options.variants, [Variant::Strict, Variant::Share]);
        for wrong in ["--agents=0", "--variants=share,lax", "--rounds", "fast"] {
            let error = parse(&[wrong]).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("cannot take the argument {wrong:?}: usage:")),
                "{error}"
            );
        }
        let error = parse(&["--warm-up=50", "--cycles=51"]).unwrap_err().to_string();
        assert!(
            error.ends_with("there must be a framework for each cycle"),
            "{error}"
        );
        assert_eq!(parse(&["--warm-up=50", "--cycles=50"]).unwrap().warm_up, 50);
    }
}
