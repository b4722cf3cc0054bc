// SPDX-License-Identifier: Apache-2.0
//! The figures of images as a table for people.

use super::figures::Row;

/// Draws it.
pub fn draw(rows: &[Row]) -> String {
    let mut lines = vec![format!(
        "{:<29} {:<14} {:>4} {:>13} {:>23} {:>10} {:>11}",
        "what", "variant", "n", "median", "quartiles", "p95", "to none"
    )];
    for row in rows {
        let summary = &row.summary;
        let more = row
            .more_than_none
            .map_or(String::new(), |more| format!("{more:+.3}"));
        lines.push(format!(
            "{:<29} {:<14} {:>4} {:>10.3} {:<2} {:>10.3} - {:>10.3} {:>10.3} {more:>11}",
            row.what,
            row.variant,
            summary.n,
            summary.median,
            row.unit,
            summary.first_quartile,
            summary.third_quartile,
            summary.ninety_fifth,
        ));
    }
    lines.join("\n")
}
