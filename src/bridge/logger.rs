// SPDX-License-Identifier: Apache-2.0
//! Every record of the `log` crate goes to the log of the running Mesos.

use super::ffi::bridge::log_record;
use log::{Level, LevelFilter, Metadata, Record};
use once_cell::sync::OnceCell;

struct MesosLog;

impl log::Log for MesosLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let severity = match record.level() {
            Level::Error => 2,
            Level::Warn => 1,
            Level::Info | Level::Debug | Level::Trace => 0,
        };
        let mut file = record.file().unwrap_or("mesos_gpu").as_bytes().to_vec();
        file.push(0);
        let line = record
            .line()
            .and_then(|line| i32::try_from(line).ok())
            .unwrap_or(0);
        // A log that cannot be written has nowhere to say so.
        let _ = log_record(severity, &file, line, &record.args().to_string());
    }

    fn flush(&self) {}
}

/// Installs the logger, once; what a program around us installed before stays.
pub(super) fn install() {
    static INSTALLED: OnceCell<()> = OnceCell::new();
    INSTALLED.get_or_init(|| {
        if log::set_logger(&MesosLog).is_ok() {
            log::set_max_level(LevelFilter::Info);
        }
    });
}
