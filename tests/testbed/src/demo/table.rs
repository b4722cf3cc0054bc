// SPDX-License-Identifier: Apache-2.0
//! The demo's table: one row a task, one column a GPU node.

use std::collections::BTreeSet;

use super::probe::{Opened, Sight, VARIABLES};

/// Draws it. Without isolation the nodes say nothing, so they are left out.
pub(super) fn draw(seen: &[Sight], isolated: bool) -> String {
    let nodes: BTreeSet<&String> = if isolated {
        seen.iter().flat_map(|sight| sight.nodes.keys()).collect()
    } else {
        BTreeSet::new()
    };
    let header = ["task".to_owned(), "gpus".to_owned()]
        .into_iter()
        .chain(nodes.iter().map(|node| format!("/dev/{node}")))
        .chain(VARIABLES.map(str::to_owned));
    let rows = seen.iter().map(|sight| {
        let opened = nodes.iter().map(|node| match sight.nodes.get(*node) {
            Some(Opened::Opens) => "opens".to_owned(),
            Some(Opened::Refused) => "refused".to_owned(),
            Some(Opened::Failed(why)) => why.clone(),
            None => "-".to_owned(),
        });
        let variables = VARIABLES.map(|name| {
            sight
                .variables
                .get(name)
                .cloned()
                .unwrap_or_else(|| "-".to_owned())
        });
        [sight.task.clone(), sight.wanted.to_string()]
            .into_iter()
            .chain(opened)
            .chain(variables)
            .collect()
    });
    let rows: Vec<Vec<String>> = std::iter::once(header.collect()).chain(rows).collect();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .enumerate()
            .map(|(i, cell)| format!("{cell:<wide$}", wide = width(i).unwrap_or(0)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_each_node_has_one() {
        let sight = |task: &str, wanted, opened| Sight {
            task: task.to_owned(),
            wanted,
            variables: [("NVIDIA_VISIBLE_DEVICES".to_owned(), "GPU-1".to_owned())].into(),
            nodes: [("nvidia0".to_owned(), opened)].into(),
        };
        let drawn = draw(
            &[sight("a", 1, Opened::Opens), sight("longer", 0, Opened::Refused)],
            true,
        );
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(
            lines[0],
            "task    gpus  /dev/nvidia0  NVIDIA_VISIBLE_DEVICES  CUDA_DEVICE_ORDER"
        );
        assert_eq!(lines[1], "a       1     opens         GPU-1                   -");
        assert_eq!(lines[2], "longer  0     refused       GPU-1                   -");
        assert!(!draw(&[sight("a", 1, Opened::Opens)], false).contains("/dev/"));
    }
}
