// SPDX-License-Identifier: Apache-2.0
//! The figures for machines.

use serde::Serialize;
use testbed::Error;

use crate::stats::Summary;

/// A figure of one variant, where it stands beside no other.
#[derive(Debug, Serialize)]
pub struct Row {
    /// What was measured.
    pub what: &'static str,
    /// The unit of the figures.
    pub unit: &'static str,
    /// Of what.
    pub variant: &'static str,
    #[serde(flatten)]
    pub summary: Summary,
}

/// Writes the rows as JSON where a file is asked for.
pub fn write(rows: &[impl Serialize], file: Option<&str>) -> Result<(), Error> {
    let Some(file) = file else {
        return Ok(());
    };
    let text = serde_json::to_string_pretty(rows).map_err(|e| Error::new("write the figures as JSON", e))?;
    std::fs::write(file, text).map_err(|e| Error::new(format!("write {file}"), e))
}
