// SPDX-License-Identifier: Apache-2.0
//! A checkpoint in memory, which outlives the agents of a story, remembers every save, and breaks when told to.

use mesos_gpu::domain::record::Record;
use mesos_gpu::ports::checkpoint::{Checkpoint, Loaded};
use std::sync::{Arc, Mutex};

/// A checkpoint. Clones share it: what one agent saved the next one loads.
#[derive(Debug, Clone)]
pub struct FakeCheckpoint {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    stored: Loaded,
    aside: Option<String>,
    boot_id: String,
    failing: Option<String>,
    saves: Vec<Record>,
}

impl Default for FakeCheckpoint {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeCheckpoint {
    /// Nothing was ever written, in the boot `boot-1`.
    pub fn new() -> Self {
        let state = State {
            stored: Loaded::Absent,
            aside: None,
            boot_id: "boot-1".to_owned(),
            failing: None,
            saves: Vec::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// This was written last.
    pub fn with(record: Record) -> Self {
        let fake = Self::new();
        fake.put(Loaded::Present(record));
        fake
    }

    /// Puts anything in the place of what was written last.
    pub fn put(&self, stored: Loaded) {
        self.state.lock().unwrap().stored = stored;
    }

    /// What was written last cannot be used from now on, for this reason.
    pub fn ruin(&self, reason: &str) {
        self.put(Loaded::Unusable(format!("cannot use checkpoint: {reason}")));
    }

    /// From now on every save fails with this reason.
    pub fn fail_saving(&self, reason: &str) {
        self.state.lock().unwrap().failing = Some(reason.to_owned());
    }

    /// Ends [`Self::fail_saving`].
    pub fn heal(&self) {
        self.state.lock().unwrap().failing = None;
    }

    /// The machine is started again: another boot.
    pub fn set_boot_id(&self, boot_id: &str) {
        self.state.lock().unwrap().boot_id = boot_id.to_owned();
    }

    /// Every record that was saved, in order; not those whose save failed.
    pub fn saves(&self) -> Vec<Record> {
        self.state.lock().unwrap().saves.clone()
    }

    /// Why what was moved aside first could not be used.
    pub fn aside(&self) -> Option<String> {
        self.state.lock().unwrap().aside.clone()
    }
}

impl Checkpoint for FakeCheckpoint {
    fn load(&self) -> Loaded {
        self.state.lock().unwrap().stored.clone()
    }

    fn save(&self, record: &Record) -> Result<(), String> {
        let mut state = self.state.lock().unwrap();
        if let Some(reason) = &state.failing {
            return Err(format!("cannot save checkpoint: {reason}"));
        }
        if let Loaded::Unusable(why) = state.stored.clone() {
            state.aside.get_or_insert(why);
        }
        state.stored = Loaded::Present(record.clone());
        state.saves.push(record.clone());
        Ok(())
    }

    fn boot_id(&self) -> String {
        self.state.lock().unwrap().boot_id.clone()
    }
}
