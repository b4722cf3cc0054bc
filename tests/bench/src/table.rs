// SPDX-License-Identifier: Apache-2.0
//! The figures as a table for people.

use crate::Row;

/// Draws it.
pub fn draw(rows: &[Row]) -> String {
    let mut lines = vec![format!(
        "{:<22} {:<16} {:>4} {:>10} {:>21} {:>8}",
        "what", "variant", "n", "median", "quartiles", "ratio"
    )];
    for row in rows {
        let summary = &row.summary;
        lines.push(format!(
            "{:<22} {:<16} {:>4} {:>7.1} {} {:>9.1} - {:>9.1} {:>8.3}",
            row.what,
            row.variant,
            summary.n,
            summary.median,
            row.unit,
            summary.first_quartile,
            summary.third_quartile,
            row.ratio_to_none
        ));
    }
    lines.join("\n")
}
