// SPDX-License-Identifier: Apache-2.0
//! The frameworks that the master told of: what they may have, what they want, and how many GPUs they have.

use crate::domain::allocation_policy::cut::Reason;
use crate::domain::allocation_policy::piece::ONE;
use crate::domain::allocation_policy::turn::Moment;
use crate::domain::allocation_policy::{Policy, Settings};
use crate::wire::framework::FrameworkInfo;
use std::collections::HashMap;

/// A framework, for as long as this process knows it: an id that is used again gets another key.
pub type Key = u32;
/// A role of a framework; each has its own.
pub type Holder = u32;

/// One role of a framework.
#[derive(Debug)]
pub struct Role {
    /// The framework in this role.
    pub holder: Holder,
    /// Its name.
    pub name: String,
    /// Whether the framework wants offers in it.
    pub wanted: bool,
    /// The policy for the framework in it.
    pub policy: Policy,
    /// The caps that count what the framework has in it.
    pub caps: Vec<usize>,
    /// How many GPUs the framework has in it, in thousandths.
    pub held: u64,
}

/// A framework.
#[derive(Debug, Default)]
pub struct Framework {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether the master added it. Else only an agent told of what it uses.
    pub known: bool,
    /// Whether it may be offered GPUs.
    pub capable: bool,
    /// Whether it is connected.
    pub active: bool,
    /// Its roles, those it left included.
    pub roles: Vec<Role>,
    /// How often it took back what it declined.
    pub revivals: u32,
    /// When it did so last by its own wish.
    pub revived: Option<Moment>,
    /// Until when it is refused agents for whose GPUs someone waits.
    pub kept_until: Moment,
    /// How many of its revivals had to wait.
    pub waited: u64,
    /// How often something was withheld of it, by reason.
    pub withheld: [u64; Reason::ALL.len()],
}

impl Framework {
    /// Whether it is given GPUs in this role.
    pub fn may_have(&self, role: &Role) -> bool {
        self.capable || role.policy == Policy::Open
    }

    /// How many GPUs it has.
    pub fn held(&self) -> u64 {
        self.roles.iter().map(|role| role.held).sum()
    }

    /// Whether it wants offers in these roles; none are all of its roles.
    pub fn want(&mut self, roles: &[String], wanted: bool) {
        for role in &mut self.roles {
            if roles.is_empty() || roles.contains(&role.name) {
                role.wanted = wanted;
            }
        }
    }
}

/// All of them.
#[derive(Debug, Default)]
pub struct Frameworks {
    keys: HashMap<String, Key>,
    all: HashMap<Key, Framework>,
    next: Key,
    next_holder: Holder,
}

impl Frameworks {
    /// The key of an id.
    pub fn key(&self, id: &str) -> Option<Key> {
        self.keys.get(id).copied()
    }

    /// The framework of a key.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut Framework> {
        self.all.get_mut(&key)
    }

    /// The framework of a key.
    pub fn get(&self, key: Key) -> Option<&Framework> {
        self.all.get(&key)
    }

    /// The key of an id, which may be new.
    pub fn at(&mut self, id: &str) -> Key {
        if let Some(key) = self.key(id) {
            return key;
        }
        self.next = self.next.wrapping_add(1);
        self.keys.insert(id.to_owned(), self.next);
        let framework = Framework {
            id: id.to_owned(),
            ..Framework::default()
        };
        self.all.insert(self.next, framework);
        self.next
    }

    /// Takes on what a framework says of itself; roles it left stay as long as it has something in them.
    pub fn describe(
        &mut self,
        id: &str,
        info: &FrameworkInfo,
        suppressed: &[String],
        settings: &Settings,
    ) -> Key {
        let key = self.at(id);
        let Some(framework) = self.all.get_mut(&key) else {
            return key;
        };
        framework.known = true;
        framework.capable = info.has_gpu_resources();
        framework.name.clone_from(&info.name);
        let subscribed = info.subscribed();
        framework
            .roles
            .retain(|role| role.held > 0 || subscribed.contains(&role.name.as_str()));
        for role in &mut framework.roles {
            role.policy = settings.policy_for(id, &info.name, &role.name);
            role.caps = settings.caps_for(id, &info.name, &role.name);
            role.wanted = false;
        }
        for name in subscribed {
            let wanted = !suppressed.iter().any(|role| role == name);
            if let Some(role) = self.role(key, name, settings) {
                role.wanted = wanted;
            }
        }
        key
    }

    /// A role of a framework, which may be new to it.
    pub fn role(&mut self, key: Key, name: &str, settings: &Settings) -> Option<&mut Role> {
        let framework = self.all.get_mut(&key)?;
        let at = framework.roles.iter().position(|role| role.name == name);
        let at = at.unwrap_or_else(|| {
            self.next_holder = self.next_holder.wrapping_add(1);
            framework.roles.push(Role {
                holder: self.next_holder,
                name: name.to_owned(),
                wanted: false,
                policy: settings.policy_for(&framework.id, &framework.name, name),
                caps: settings.caps_for(&framework.id, &framework.name, name),
                held: 0,
            });
            framework.roles.len() - 1
        });
        framework.roles.get_mut(at)
    }

    /// Takes GPUs off the sum of a holder.
    pub fn release(&mut self, holder: Holder, milli: u64) {
        let mut roles = self.all.values_mut().flat_map(|framework| &mut framework.roles);
        if let Some(role) = roles.find(|role| role.holder == holder) {
            role.held = role.held.saturating_sub(milli);
        }
    }

    /// Forgets a framework.
    pub fn remove(&mut self, id: &str) -> Option<(Key, Framework)> {
        let key = self.keys.remove(id)?;
        Some((key, self.all.remove(&key)?))
    }

    /// Forgets frameworks that were never added and have nothing any more.
    pub fn forget_strangers(&mut self) {
        let is_over = |framework: &Framework| !framework.known && framework.held() == 0;
        self.keys
            .retain(|_, key| self.all.get(key).is_some_and(|framework| !is_over(framework)));
        self.all.retain(|_, framework| !is_over(framework));
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Framework> {
        self.all.values()
    }

    /// How many GPUs these caps leave, in thousandths: the least of them; none where there is no cap.
    pub fn room(&self, caps: &[usize], settings: &Settings) -> Option<u64> {
        let left = |cap: &usize| {
            let limit = settings.caps[*cap].value.saturating_mul(ONE);
            let roles = self.all.values().flat_map(|framework| &framework.roles);
            let counted = roles.filter(|role| role.held > 0 && role.caps.contains(cap));
            limit.saturating_sub(counted.map(|role| role.held).sum())
        };
        caps.iter().map(left).min()
    }

    /// How many may come to an agent and are given none of its GPUs: one for each such role of a framework.
    pub fn guests(&self) -> u32 {
        let active = self.all.values().filter(|framework| framework.active);
        let roles = active.flat_map(|framework| framework.roles.iter().map(move |role| (framework, role)));
        let guests = roles
            .filter(|(framework, role)| role.wanted && (!framework.may_have(role) || !role.caps.is_empty()));
        u32::try_from(guests.count()).unwrap_or(u32::MAX)
    }

    /// Who wants GPUs and may have one more.
    pub fn waiting<'a>(&'a self, settings: &'a Settings) -> impl Iterator<Item = (Key, &'a Framework)> {
        let waits = |framework: &Framework, role: &Role| {
            role.wanted
                && framework.may_have(role)
                && self.room(&role.caps, settings).is_none_or(|room| room >= ONE)
        };
        self.all
            .iter()
            .map(|(key, framework)| (*key, framework))
            .filter(move |(_, framework)| {
                framework.active && framework.roles.iter().any(|role| waits(framework, role))
            })
    }
}
