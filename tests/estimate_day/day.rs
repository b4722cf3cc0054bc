// SPDX-License-Identifier: Apache-2.0
//! Plays the day: a look every five seconds, guests that take every offer, and the account of it.

use crate::owner::{self, Second};
use crate::random::Random;
use mesos_gpu::domain::container::ContainerId;
use mesos_gpu::domain::estimate::{
    Books, Estimator, Eviction, GpuSample, Holding, Look, MemoryUse, Percent, ProcessUse, Sample, Thresholds,
};
use mesos_gpu::domain::gpu::UnitId;
use std::collections::BTreeMap;
use std::time::Duration;

const GPUS: usize = 8;
const SECONDS: usize = 86_400;
const INTERVAL: usize = 5;
/// What an H200 has, in MiB.
const MEMORY: u64 = 143_771;
/// How long a guest takes to die.
const DYING: usize = 2;

/// The account.
#[derive(Debug, Default)]
pub struct Figures {
    /// Seconds in which a held GPU was idle.
    pub idle: u64,
    /// Of these, seconds in which a guest used it.
    pub regained: u64,
    /// Seconds of guests that were cut short.
    pub lost: u64,
    pub placements: u64,
    pub wrong: Vec<String>,
    pub owner_active: u64,
    pub memory_short: u64,
    pub unseen: u64,
    /// Seconds in which an owner computed beside a guest; and the longest such run.
    pub shared: u64,
    pub longest_shared: u64,
}

impl Figures {
    pub fn evictions(&self) -> u64 {
        self.owner_active + self.memory_short + self.unseen
    }
}

struct Guest {
    id: ContainerId,
    pid: u32,
    began: usize,
    ends: usize,
    holds: u64,
    dies: Option<usize>,
}

pub struct Day {
    random: Random,
    thresholds: Thresholds,
    owners: Vec<Vec<Second>>,
    guests: Vec<Option<Guest>>,
    /// Seconds, for each GPU, of the present run of sharing.
    runs: Vec<u64>,
    /// Whether the driver told everything of each GPU, look by look.
    heard: Vec<Vec<bool>>,
    /// Until when the driver hangs.
    hangs_until: usize,
    figures: Figures,
    launched: u32,
}

fn uuid(gpu: usize) -> UnitId {
    UnitId::new(&format!("GPU-{gpu}"))
}

fn owner_id(owner: u64) -> ContainerId {
    ContainerId::root_of(&format!("owner-{owner:x}"))
}

/// The process of the owner of this GPU; a guest's is above [`GUESTS`].
fn owner_pid(gpu: usize) -> u32 {
    100 + u32::try_from(gpu).unwrap()
}

const GUESTS: u32 = 1000;

impl Day {
    pub fn new(seed: u64, thresholds: Thresholds) -> Self {
        let mut random = Random::new(seed);
        let owners = (0..GPUS).map(|_| owner::day(&mut random, SECONDS)).collect();
        Self {
            random,
            thresholds,
            owners,
            guests: (0..GPUS).map(|_| None).collect(),
            runs: vec![0; GPUS],
            heard: vec![Vec::new(); GPUS],
            hangs_until: 0,
            figures: Figures::default(),
            launched: 0,
        }
    }

    pub fn play(mut self) -> Figures {
        let mut estimator = Estimator::new(self.thresholds);
        for now in 0..SECONDS {
            self.second(now);
            if now % INTERVAL == INTERVAL - 1 {
                self.look(&mut estimator, now);
            }
        }
        self.figures
    }

    /// Accounts for one second, and ends guests.
    fn second(&mut self, now: usize) {
        for gpu in 0..GPUS {
            let owner = self.owners[gpu][now];
            let computes = owner.owner.is_some() && owner.computes > self.thresholds.utilization.get();
            let idle = owner.owner.is_some() && !computes && self.is_small(owner.holds);
            self.figures.idle += u64::from(idle);
            let Some(guest) = &self.guests[gpu] else {
                self.runs[gpu] = 0;
                continue;
            };
            self.figures.regained += u64::from(idle);
            self.figures.shared += u64::from(computes);
            self.runs[gpu] = if computes { self.runs[gpu] + 1 } else { 0 };
            self.figures.longest_shared = self.figures.longest_shared.max(self.runs[gpu]);
            if guest.dies.is_some_and(|dies| dies <= now) {
                self.figures.lost += u64::try_from(now - guest.began).unwrap();
                self.guests[gpu] = None;
            } else if guest.ends <= now {
                self.guests[gpu] = None;
            }
        }
    }

    fn is_small(&self, mib: u64) -> bool {
        mib << 20 <= self.thresholds.memory.of(MEMORY << 20)
    }

    fn look(&mut self, estimator: &mut Estimator, now: usize) {
        let books = self.books(now);
        let sample = self.sample(now);
        let guests: BTreeMap<u32, ContainerId> = self
            .guests
            .iter()
            .flatten()
            .map(|guest| (guest.pid, guest.id.clone()))
            .collect();
        let at = Duration::from_secs(now.try_into().unwrap());
        let new = estimator.look(&Look {
            at,
            sample: sample.as_ref().map_err(Clone::clone),
            books: &books,
            whose: &|pid| match guests.get(&pid) {
                Some(guest) => Some(guest.clone()),
                None => (pid < GUESTS).then(|| ContainerId::root_of("of the owner")),
            },
        });
        for must_go in new {
            match must_go.why {
                Eviction::OwnerActive(_) | Eviction::OwnerNew => self.figures.owner_active += 1,
                Eviction::MemoryShort(_) => self.figures.memory_short += 1,
                Eviction::OwnerUnseen(_) => self.figures.unseen += 1,
            }
            let gpu = (0..GPUS).find(|gpu| uuid(*gpu) == must_go.gpu).unwrap();
            self.guests[gpu].as_mut().unwrap().dies = Some(now + DYING);
        }
        for offered in estimator.offerable(at, &books, 0) {
            let gpu = (0..GPUS).find(|gpu| uuid(*gpu) == offered).unwrap();
            self.place(gpu, now);
        }
    }

    fn place(&mut self, gpu: usize, now: usize) {
        self.figures.placements += 1;
        if let Some(why) = self.is_wrong(gpu, now) {
            self.figures.wrong.push(format!("on GPU {gpu} at {now}: {why}"));
        }
        self.launched += 1;
        // Now and then one takes all the memory there is.
        let holds = if self.random.permille(30) {
            MEMORY - 2048
        } else {
            self.random.between(4 << 10, 120 << 10)
        };
        self.guests[gpu] = Some(Guest {
            id: ContainerId::root_of(&format!("guest-{}", self.launched)),
            pid: GUESTS + self.launched,
            began: now,
            ends: now + usize::try_from(self.random.between(600, 5400)).unwrap(),
            holds,
            dies: None,
        });
    }

    /// What the owner really did in the window before.
    fn is_wrong(&self, gpu: usize, now: usize) -> Option<String> {
        if self.guests[gpu].is_some() {
            return Some("a guest is there".to_owned());
        }
        let window = usize::try_from(self.thresholds.window.as_secs()).unwrap();
        let first = (now + 1).checked_sub(window)?;
        let seconds = &self.owners[gpu][first..=now];
        let owner = seconds.last()?.owner;
        if owner.is_none() || seconds.iter().any(|second| second.owner != owner) {
            return Some("it was not held by the same owner".to_owned());
        }
        if seconds.iter().any(|second| !self.is_small(second.holds)) {
            return Some("the owner held memory".to_owned());
        }
        let most = self.thresholds.utilization.get() * u32::try_from(INTERVAL).unwrap();
        let busy = seconds
            .chunks(INTERVAL)
            .any(|chunk| chunk.iter().map(|second| second.computes).sum::<u32>() > most);
        if busy {
            return Some("the owner computed".to_owned());
        }
        let looks = self.heard[gpu].iter().rev().take(window / INTERVAL);
        (!looks.into_iter().all(|heard| *heard)).then(|| "the driver did not say all".to_owned())
    }

    fn books(&self, now: usize) -> Books {
        let holding = |gpu: usize| Holding {
            holders: self.owners[gpu][now].owner.map(owner_id).into_iter().collect(),
            guests: self.guests[gpu].iter().map(|guest| guest.id.clone()).collect(),
            placeable: true,
        };
        (0..GPUS).map(|gpu| (uuid(gpu), holding(gpu))).collect()
    }

    /// What NVML tells; now and then it hangs or keeps something to itself.
    fn sample(&mut self, now: usize) -> Result<Sample, String> {
        if self.random.permille(1) {
            let length = if self.random.permille(250) {
                300
            } else {
                self.random.between(5, 30)
            };
            self.hangs_until = now + usize::try_from(length).unwrap();
        }
        let mut sample = Sample::default();
        for gpu in 0..GPUS {
            let (told, whole) = self.gpu(gpu, now);
            self.heard[gpu].push(whole && now >= self.hangs_until);
            sample.gpus.push(told);
        }
        if now < self.hangs_until {
            return Err("nvmlDeviceGetUtilizationRates did not return".to_owned());
        }
        Ok(sample)
    }

    fn gpu(&mut self, gpu: usize, now: usize) -> (GpuSample, bool) {
        let seconds = &self.owners[gpu][now + 1 - INTERVAL..=now];
        let last = seconds[INTERVAL - 1];
        let average: u32 = seconds.iter().map(|second| second.computes).sum::<u32>() / 5;
        let guest = self.guests[gpu].as_ref();
        let mut processes = Vec::new();
        let process = |pid, share, holds: u64| ProcessUse {
            pid,
            utilization: Percent::told(share),
            memory: Some(holds << 20),
        };
        if last.owner.is_some() && last.holds > 0 {
            processes.push(process(owner_pid(gpu), average, last.holds));
        }
        let used = last.holds + guest.map_or(0, |guest| guest.holds);
        let computes = last.computes.max(guest.map_or(0, |_| 95));
        if let Some(guest) = guest {
            processes.push(process(guest.pid, 95 - average.min(95) / 2, guest.holds));
        }
        let mut told = GpuSample {
            uuid: uuid(gpu),
            utilization: Percent::told(computes),
            memory: MemoryUse::told(used.min(MEMORY) << 20, MEMORY << 20),
            processes: Some(processes),
            power: None,
            temperature: None,
        };
        let whole = !self.random.permille(1);
        if !whole {
            match self.random.between(0, 3) {
                0 => told.utilization = Percent::told(u32::MAX),
                1 => told.memory = MemoryUse::told(u64::MAX, u64::MAX),
                2 => told.processes = None,
                _ => told.uuid = UnitId::new("GPU-lost"),
            }
        }
        (told, whole)
    }
}
