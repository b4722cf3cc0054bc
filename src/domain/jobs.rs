// SPDX-License-Identifier: Apache-2.0
//! Which containers are on which GPU, in the form of the files that dcgm-exporter reads to name the jobs of a GPU: by NVML's
//! index, because that is how it names a GPU, and one id a job.

use crate::domain::container::{ContainerId, Executor};
use std::collections::{BTreeMap, BTreeSet};

/// The jobs on each GPU, by NVML's index; a GPU without any is not listed.
pub type Jobs = BTreeMap<u32, BTreeSet<String>>;

/// The jobs of these pairs of an index and a job.
pub fn by_index(pairs: impl Iterator<Item = (u32, String)>) -> Jobs {
    let mut jobs = Jobs::new();
    for (index, job) in pairs {
        jobs.entry(index).or_default().insert(job);
    }
    jobs
}

/// The longest part of an id: a line that is too long ends dcgm-exporter's reading.
const LONGEST: usize = 255;

/// A container as a job: `framework/executor/container`, or the container alone where it was made for no executor.
pub fn id(container: &ContainerId, executor: Option<&Executor>) -> String {
    let container = plain(&container.to_string());
    match executor {
        Some(Executor { framework, id }) => format!("{}/{}/{container}", plain(framework), plain(id)),
        None => container,
    }
}

/// A part of an id. Frameworks choose the names of their executors, and dcgm-exporter writes what it reads into its own
/// answer as it stands: what could end a line, a text or a part becomes `_`.
fn plain(text: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || "._:@+=~-".contains(c);
    text.chars()
        .take(LONGEST)
        .map(|c| if kept(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executor(framework: &str, id: &str) -> Executor {
        Executor {
            framework: framework.to_owned(),
            id: id.to_owned(),
        }
    }

    #[test]
    fn a_container_is_named_by_framework_executor_and_its_own_id() {
        let container = ContainerId::root_of("5f1c-9");
        assert_eq!(id(&container, None), "5f1c-9");
        let of = executor("20ab-0000", "train.1");
        assert_eq!(id(&container, Some(&of)), "20ab-0000/train.1/5f1c-9");
    }

    #[test]
    fn no_name_breaks_a_line_a_text_or_a_part() {
        let container = ContainerId::root_of("c");
        let hostile = executor("f", "a\nb\"c\\d/e ü{}\r\0");
        assert_eq!(id(&container, Some(&hostile)), "f/a_b_c_d_e______/c");
        let long = executor("f", &"x".repeat(100_000));
        assert_eq!(id(&container, Some(&long)).len(), 255 + 4);
    }

    #[test]
    fn instances_of_one_gpu_share_its_line() {
        let pairs = [(1, "b"), (0, "a"), (1, "a"), (1, "b")];
        let jobs = by_index(pairs.into_iter().map(|(index, job)| (index, job.to_owned())));
        let lines: Vec<Vec<&str>> = jobs
            .values()
            .map(|jobs| jobs.iter().map(String::as_str).collect())
            .collect();
        assert_eq!(lines, [vec!["a"], vec!["a", "b"]]);
    }
}
