// SPDX-License-Identifier: Apache-2.0
//! The fit of an image beside what else a launch takes: it is begun as soon as it is known which GPUs the container gets, and
//! done on the images' thread while the agent thread writes down who has them and tells the kernel.

use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::error::Error;
use crate::isolator::image::{self, Fitted, Then};
use crate::wire::ContainerConfig;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// One launch's fit. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Fitting(Arc<Mutex<Step>>);

#[derive(Default)]
enum Step {
    /// Not begun, or over.
    #[default]
    None,
    UnderWay,
    Done(Result<Fitted, Error>),
    Awaited(Then),
}

impl Fitting {
    /// Begins it, for a container that has or is about to get these units.
    pub fn begin(
        &self,
        state: &mut State,
        container: &ContainerId,
        config: &ContainerConfig,
        units: &[UnitId],
    ) {
        self.step(Step::UnderWay);
        let this = self.clone();
        let done = move |state: &mut State, fitted: Result<Fitted, Error>| match this.step(Step::None) {
            Step::Awaited(then) => then(state, fitted),
            _ => drop(this.step(Step::Done(fitted))),
        };
        image::fit(state, container, config, units, Box::new(done));
    }

    /// Goes on when it is done; one that was not begun is begun. `then` runs exactly once.
    pub fn wait(
        &self,
        state: &mut State,
        container: &ContainerId,
        config: &ContainerConfig,
        units: &[UnitId],
        then: Then,
    ) {
        match self.step(Step::None) {
            Step::Done(fitted) => then(state, fitted),
            Step::UnderWay => drop(self.step(Step::Awaited(then))),
            Step::None | Step::Awaited(_) => image::fit(state, container, config, units, then),
        }
    }

    fn step(&self, next: Step) -> Step {
        // Only the agent thread comes here, so nobody panicked in between.
        let mut step = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        mem::replace(&mut *step, next)
    }
}
