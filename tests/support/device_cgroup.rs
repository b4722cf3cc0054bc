// SPDX-License-Identifier: Apache-2.0
//! The v1 `devices` controller in memory, with the kernel's rules: stories may lean on it because the same contract
//! holds it and the kernel together (`tests/contract_device_cgroup.rs`).
//!
//! Every cgroup either denies all but its exceptions or allows all but its exceptions; a new one starts as its parent.

mod kernel;

use kernel::{Cgroup, EPERM, EVERYTHING, ROOT, add, permits, take, touches};
use mesos_gpu::domain::device_rules::{Access, DeviceRule, NodeKind};
use mesos_gpu::ports::device_cgroup::{DeviceCgroup, ProcessCgroups};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// One write, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// `allow` or `deny`.
    pub verb: &'static str,
    /// The cgroup.
    pub cgroup: String,
    /// The rule.
    pub rule: String,
}

/// The controller. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct FakeDeviceCgroup {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    cgroups: BTreeMap<String, Cgroup>,
    writes: Vec<Write>,
    failing: Option<(&'static str, String)>,
    processes: BTreeMap<u32, String>,
}

impl FakeDeviceCgroup {
    /// Only the root.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a cgroup, whose parent must exist; like mkdir.
    pub fn create(&self, cgroup: &str) {
        let mut state = self.state.lock().unwrap();
        let parent = state
            .parent(cgroup)
            .unwrap_or_else(|| panic!("{cgroup} has no parent"));
        state.cgroups.insert(cgroup.to_owned(), parent);
    }

    /// Makes a cgroup as Mesos does for a container: it denies all but these rules.
    pub fn create_denying(&self, cgroup: &str, but: &[&str]) {
        self.create(cgroup);
        let exceptions = but.iter().map(|rule| rule.parse().unwrap()).collect();
        self.state.lock().unwrap().cgroups.insert(
            cgroup.to_owned(),
            Cgroup {
                denies: true,
                exceptions,
            },
        );
    }

    /// Takes a cgroup away, with everything below.
    pub fn remove(&self, cgroup: &str) {
        let below = format!("{cgroup}/");
        self.state
            .lock()
            .unwrap()
            .cgroups
            .retain(|name, _| name != cgroup && !name.starts_with(&below));
    }

    /// Moves a process into a cgroup, which must exist; like writing it into `cgroup.procs`.
    pub fn enter(&self, cgroup: &str, pid: u32) {
        let mut state = self.state.lock().unwrap();
        state.find(cgroup).unwrap();
        state.processes.insert(pid, cgroup.to_owned());
    }

    /// The process ends.
    pub fn end(&self, pid: u32) {
        self.state.lock().unwrap().processes.remove(&pid);
    }

    /// From now on every `allow`, `deny`, `list` or `cgroup_of` fails with this reason.
    pub fn fail(&self, verb: &'static str, reason: &str) {
        self.state.lock().unwrap().failing = Some((verb, reason.to_owned()));
    }

    /// Ends [`Self::fail`].
    pub fn heal(&self) {
        self.state.lock().unwrap().failing = None;
    }

    /// Every write that was tried, in order.
    pub fn writes(&self) -> Vec<Write> {
        self.state.lock().unwrap().writes.clone()
    }

    /// What the cgroup may do, as the kernel prints it.
    pub fn lines(&self, cgroup: &str) -> Vec<String> {
        self.list(cgroup)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn write(&self, verb: &'static str, cgroup: &str, rule: DeviceRule) -> Result<(), String> {
        let mut state = self.state.lock().unwrap();
        state.writes.push(Write {
            verb,
            cgroup: cgroup.to_owned(),
            rule: rule.to_string(),
        });
        let result = state
            .fails(verb)
            .and_then(|()| state.write(verb == "allow", cgroup, rule));
        result.map_err(|why| format!("cannot {verb} \"{rule}\" in devices cgroup {cgroup:?}: {why}"))
    }
}

impl DeviceCgroup for FakeDeviceCgroup {
    fn exists(&self, cgroup: &str) -> bool {
        self.state.lock().unwrap().cgroups.contains_key(cgroup)
    }

    fn allow(&self, cgroup: &str, rule: DeviceRule) -> Result<(), String> {
        self.write("allow", cgroup, rule)
    }

    fn deny(&self, cgroup: &str, rule: DeviceRule) -> Result<(), String> {
        self.write("deny", cgroup, rule)
    }

    fn list(&self, cgroup: &str) -> Result<Vec<DeviceRule>, String> {
        let state = self.state.lock().unwrap();
        let found = state.fails("list").and_then(|()| state.find(cgroup));
        match found {
            Ok(found) if found.denies => Ok(found.exceptions),
            Ok(_) => Ok(vec![EVERYTHING]),
            Err(why) => Err(format!("cannot list devices cgroup {cgroup:?}: {why}")),
        }
    }

    fn processes(&self) -> Arc<dyn ProcessCgroups> {
        Arc::new(self.clone())
    }
}

impl ProcessCgroups for FakeDeviceCgroup {
    fn cgroup_of(&self, pid: u32) -> Result<Option<String>, String> {
        let state = self.state.lock().unwrap();
        match state.fails("cgroup_of") {
            Ok(()) => Ok(state.processes.get(&pid).cloned()),
            Err(why) => Err(format!("cannot read the cgroup of process {pid}: {why}")),
        }
    }
}

impl State {
    fn fails(&self, verb: &str) -> Result<(), String> {
        match &self.failing {
            Some((failing, reason)) if *failing == verb => Err(reason.clone()),
            _ => Ok(()),
        }
    }

    fn find(&self, cgroup: &str) -> Result<Cgroup, String> {
        self.cgroups
            .get(cgroup)
            .cloned()
            .ok_or_else(|| "there is no such cgroup".to_owned())
    }

    fn parent(&self, cgroup: &str) -> Option<Cgroup> {
        match cgroup.rsplit_once('/') {
            Some((parent, _)) => self.cgroups.get(parent).cloned(),
            None => Some(ROOT),
        }
    }

    fn write(&mut self, allow: bool, name: &str, rule: DeviceRule) -> Result<(), String> {
        let mut cgroup = self.find(name)?;
        let parent = self.parent(name).ok_or("there is no such cgroup")?;
        if rule.access == Access::default() || (rule.kind == NodeKind::All && rule != EVERYTHING) {
            return Err("no rule that the kernel would read as it is meant".to_owned());
        }
        if rule == EVERYTHING {
            if !self.below(name).is_empty() {
                return Err("Invalid argument (os error 22)".to_owned());
            }
            if allow && parent.denies {
                return Err(EPERM.to_owned());
            }
            cgroup = if allow {
                parent
            } else {
                Cgroup {
                    denies: true,
                    exceptions: Vec::new(),
                }
            };
        } else if allow && cgroup.denies {
            if !permits(&parent, rule, true) {
                return Err(EPERM.to_owned());
            }
            add(&mut cgroup.exceptions, rule);
        } else if allow {
            // An exception that the parent makes too cannot be lifted here.
            if !parent.denies && touches(&parent.exceptions, rule) {
                return Err(EPERM.to_owned());
            }
            take(&mut cgroup.exceptions, rule);
        } else if cgroup.denies {
            take(&mut cgroup.exceptions, rule);
        } else {
            add(&mut cgroup.exceptions, rule);
        }
        self.cgroups.insert(name.to_owned(), cgroup.clone());
        if !allow && rule != EVERYTHING {
            self.restrict_below(name, cgroup.denies, rule);
        }
        Ok(())
    }

    /// A new restriction reaches every cgroup below, parents before children.
    fn restrict_below(&mut self, name: &str, denies: bool, rule: DeviceRule) {
        for child in self.below(name) {
            let (Some(mut cgroup), Some(parent)) = (self.cgroups.get(&child).cloned(), self.parent(&child))
            else {
                continue;
            };
            if !denies && !cgroup.denies {
                add(&mut cgroup.exceptions, rule);
            } else {
                take(&mut cgroup.exceptions, rule);
            }
            let denied = cgroup.denies;
            cgroup
                .exceptions
                .retain(|exception| permits(&parent, *exception, denied));
            self.cgroups.insert(child, cgroup);
        }
    }

    fn below(&self, name: &str) -> Vec<String> {
        let below = format!("{name}/");
        self.cgroups
            .keys()
            .filter(|other| other.starts_with(&below))
            .cloned()
            .collect()
    }
}
