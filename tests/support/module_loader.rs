// SPDX-License-Identifier: Apache-2.0
//! A helper that makes nodes without a kernel: it counts how often it is asked, and does or refuses what a story needs.

use super::FakeDevNodes;
use mesos_gpu::ports::module_loader::ModuleLoader;
use std::sync::{Arc, Mutex};

type Work = Box<dyn FnMut() + Send>;

/// The helper. Clones share it.
#[derive(Clone, Default)]
pub struct FakeModuleLoader {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    calls: usize,
    failing: Option<String>,
    work: Option<Work>,
}

impl FakeModuleLoader {
    /// It succeeds, and makes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// It makes the nodes of unified memory in this directory.
    pub fn making(nodes: &FakeDevNodes) -> Self {
        let (fake, nodes) = (Self::new(), nodes.clone());
        fake.on_load(move || {
            nodes.put("nvidia-uvm", 238, 0);
            nodes.put("nvidia-uvm-tools", 238, 1);
        });
        fake
    }

    /// From now on this runs at every call that does not fail.
    pub fn on_load(&self, work: impl FnMut() + Send + 'static) {
        self.state.lock().unwrap().work = Some(Box::new(work));
    }

    /// From now on every call fails with this reason.
    pub fn fail(&self, reason: &str) {
        self.state.lock().unwrap().failing = Some(reason.to_owned());
    }

    /// Ends [`Self::fail`].
    pub fn heal(&self) {
        self.state.lock().unwrap().failing = None;
    }

    /// How often it was called.
    pub fn calls(&self) -> usize {
        self.state.lock().unwrap().calls
    }
}

impl ModuleLoader for FakeModuleLoader {
    fn load_uvm(&self) -> Result<(), String> {
        let mut state = self.state.lock().unwrap();
        state.calls += 1;
        if let Some(reason) = &state.failing {
            return Err(format!("cannot load the unified-memory module: {reason}"));
        }
        if let Some(work) = &mut state.work {
            work();
        }
        Ok(())
    }
}
