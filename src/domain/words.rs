// SPDX-License-Identifier: Apache-2.0
//! How messages name several things in a row, the same everywhere, so that a search in the log finds each of them.

use std::fmt::Display;

/// Names separated by commas.
pub fn listed<T: Display>(all: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_stands_between_commas_and_nowhere_else() {
        assert_eq!(listed(["GPU-1", "GPU-2", "GPU-3"]), "GPU-1, GPU-2, GPU-3");
        assert_eq!(listed([7]), "7");
        assert_eq!(listed::<&str>([]), "");
    }
}
