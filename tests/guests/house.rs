// SPDX-License-Identifier: Apache-2.0
//! What guests do, and Mesos with them, as one-line calls.

use crate::story::{Story, quiet};
use crate::support::agent::{ROOT, Variables, answer, environment, id};
use crate::support::driver_proc::proc_gpu;
use crate::support::nvml::gpu_sample;
use mesos_gpu::agent::corrections::Correction;
use mesos_gpu::agent::reply::Reply;
use mesos_gpu::agent::sampling;
use mesos_gpu::agent::state::State;
use mesos_gpu::domain::gpu::UnitId;
use mesos_gpu::error::Error;
use mesos_gpu::isolator;
use mesos_gpu::isolator::recover::Live;
use mesos_gpu::wire::container::ExecutorInfo;
use mesos_gpu::wire::launch::ContainerLimitation;
use mesos_gpu::wire::task::{ExecutorID, FrameworkID};
use mesos_gpu::wire::{ContainerConfig, Resource};
use prost::Message;
use std::sync::mpsc::{Receiver, channel};

/// So many GPUs to hold, and so many revocable ones.
pub fn both(regular: f64, revocable: f64) -> Vec<Resource> {
    let mut resources = vec![Resource::scalar("cpus", 0.1)];
    if regular != 0.0 {
        resources.push(Resource::scalar("gpus", regular));
    }
    if revocable != 0.0 {
        resources.push(Resource {
            revocable: Resource::revocable_gpus(1).unwrap().revocable,
            ..Resource::scalar("gpus", revocable)
        });
    }
    resources
}

/// A container's configuration with these resources and no executor.
pub fn with(resources: Vec<Resource>) -> ContainerConfig {
    ContainerConfig {
        resources,
        ..ContainerConfig::default()
    }
}

/// The same for an executor of this name.
pub fn of_executor(name: &str, resources: Vec<Resource>) -> ContainerConfig {
    ContainerConfig {
        executor_info: Some(ExecutorInfo {
            executor_id: ExecutorID {
                value: name.to_owned(),
            },
            framework_id: Some(FrameworkID {
                value: "framework".to_owned(),
            }),
            ..ExecutorInfo::default()
        }),
        ..with(resources)
    }
}

impl Story {
    /// Launches a container with these resources, for no executor.
    pub fn enter(&mut self, name: &str, resources: Vec<Resource>) -> Result<Variables, Error> {
        self.enter_as(name, &with(resources))
    }

    pub fn enter_as(&mut self, name: &str, config: &ContainerConfig) -> Result<Variables, Error> {
        self.make_cgroup(name);
        self.prepare(&id(name), config).map(Option::unwrap_or_default)
    }

    /// A launch that may be answered later.
    pub fn enter_later(
        &mut self,
        name: &str,
        resources: Vec<Resource>,
    ) -> Receiver<Result<Option<Variables>, Error>> {
        let told = self.begin_to_enter(name, resources);
        self.settle();
        told
    }

    /// A launch whose later steps have not come yet.
    pub fn begin_to_enter(
        &mut self,
        name: &str,
        resources: Vec<Resource>,
    ) -> Receiver<Result<Option<Variables>, Error>> {
        self.make_cgroup(name);
        let (tell, told) = channel();
        let reply = Reply::new(move |launch: Result<_, Error>| {
            // Who asked may not care any more.
            let _ = tell.send(launch.map(environment));
        });
        isolator::prepare::prepare(&mut self.agent.state, &id(name), with(resources), reply);
        told
    }

    /// `update` to these resources.
    pub fn change(&mut self, name: &str, resources: Vec<Resource>) -> Result<(), Error> {
        answer(&self.change_later(name, resources))
    }

    /// `update` that may be answered later.
    pub fn change_later(&mut self, name: &str, resources: Vec<Resource>) -> Receiver<Result<(), Error>> {
        self.told(|state, reply| isolator::update::update(state, &id(name), resources, reply))
    }

    fn told<T: Send + 'static>(
        &mut self,
        verb: impl FnOnce(&mut State, Reply<T>),
    ) -> Receiver<Result<T, Error>> {
        let (tell, told) = channel();
        let reply = Reply::maybe(move |answer| {
            // Who asked may not care any more.
            let _ = tell.send(answer);
        });
        verb(&mut self.agent.state, reply);
        self.settle();
        told
    }

    /// Mesos's watch on a container.
    pub fn watch(&mut self, name: &str) -> Receiver<Result<Vec<u8>, Error>> {
        self.told(|state, reply| isolator::watch::watch(state, &id(name), reply))
    }

    /// The QoS controller asks.
    pub fn poll(&mut self) -> Receiver<Result<Vec<Correction>, Error>> {
        self.told(|state, reply| state.corrections.ask(reply))
    }

    /// Who is a guest on the GPU of this number.
    pub fn guests_on(&self, gpu: u8) -> Vec<String> {
        let guests = self.state.guests.on(&proc_gpu(gpu).uuid);
        guests.iter().map(ToString::to_string).collect()
    }

    /// What a container holds.
    pub fn holds(&self, name: &str) -> Vec<UnitId> {
        self.state.ledger.held_by(&id(name)).to_vec()
    }

    /// The owner `c<gpu>` computes from now on, in a process of its own beside one of each guest; the other GPUs are quiet.
    pub fn owner_computes(&mut self, gpu: u8, gpus: u8) {
        let pid = 900 + u32::from(gpu);
        self.cgroup.enter(&id(&format!("c{gpu}")).cgroup(ROOT), pid);
        let mut told = quiet(gpus);
        told[usize::from(gpu)] = gpu_sample(&proc_gpu(gpu), 100, 4096, &[(pid, 60, 2048)]);
        self.tell(told);
    }

    /// The agent is killed and starts again with these containers; each was launched for an executor of its name.
    pub fn restart(&self, live: &[&str], orphans: &[&str]) -> Self {
        let mut story = Self::of(self.agent.restart());
        let live: Vec<Live> = live
            .iter()
            .map(|name| Live {
                id: id(name),
                executor: isolator::prepare::executor(&of_executor(name, Vec::new()).executor_info.unwrap()),
                pid: None,
            })
            .collect();
        let orphans: Vec<_> = orphans.iter().map(|name| id(name)).collect();
        let told = story.told(|state, reply| isolator::recover::recover(state, &live, &orphans, &reply));
        answer(&told).unwrap();
        sampling::watch(&mut story.agent.state);
        story.settle();
        story
    }
}

/// What a watch was answered: reason and message; none while it is pending.
pub fn limitation(watch: &Receiver<Result<Vec<u8>, Error>>) -> Option<(i32, String)> {
    let bytes = watch.try_recv().ok()?.unwrap();
    let limitation = ContainerLimitation::decode(bytes.as_slice()).unwrap();
    Some((limitation.reason.unwrap(), limitation.message.unwrap()))
}
