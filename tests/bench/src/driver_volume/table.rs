// SPDX-License-Identifier: Apache-2.0
//! The figures of driver volumes as a table for people: these are of very different sizes.

use crate::output::Row;

/// Draws it.
pub fn draw(rows: &[Row]) -> String {
    let mut lines = vec![format!(
        "{:<32} {:<16} {:>4} {:>13} {:>23}",
        "what", "variant", "n", "median", "quartiles"
    )];
    for row in rows {
        let summary = &row.summary;
        lines.push(format!(
            "{:<32} {:<16} {:>4} {:>10.3} {:<2} {:>10.3} - {:>10.3}",
            row.what,
            row.variant,
            summary.n,
            summary.median,
            row.unit,
            summary.first_quartile,
            summary.third_quartile
        ));
    }
    lines.join("\n")
}
