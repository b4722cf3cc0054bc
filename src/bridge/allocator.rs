// SPDX-License-Identifier: Apache-2.0
//! The allocator's calls, from bytes to the filter. The filter has its own lock: the master's calls come on one thread
//! and offers on another.

use super::ffi::bridge::{Message, Messages, Share, Verdict};
use super::guard::guard;
use super::message::{each, read, text};
use super::pieces::{self, resources as resources_of, resources_in, used as used_of};
use super::process;
use super::recent::Recent;
use crate::error::Error;
use crate::filter::publisher::{self, Publisher};
use crate::filter::{Filter, Piece};
use crate::system::metrics_file::MetricsFile;
use crate::wire::SlaveInfo;
use crate::wire::refusal::Filters;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the C++ allocator holds.
pub(super) struct AllocatorCore {
    filter: Arc<Filter>,
    /// Of the inner allocator's thread.
    recent: Mutex<Recent>,
    _publisher: Option<Publisher>,
}

/// Makes the filter. It knows nothing of GPUs of this machine: masters have none.
pub(super) fn create_allocator(parameters: &[u8]) -> Result<Box<AllocatorCore>, Error> {
    guard("allocator.create", || {
        let config = process::allocator(parameters)?;
        let file = config.metrics_file.clone();
        let filter = Arc::new(Filter::new(config));
        let publish = |file| {
            let metrics = Box::new(MetricsFile::new(Some(file)));
            Publisher::start(filter.clone(), metrics, publisher::PERIOD)
        };
        Ok(Box::new(AllocatorCore {
            _publisher: file.map(publish).transpose()?,
            recent: Mutex::default(),
            filter,
        }))
    })
}

impl AllocatorCore {
    pub(super) fn role_sorter(&self) -> Result<String, Error> {
        guard("allocator.role_sorter", || {
            Ok(self.filter.role_sorter().to_owned())
        })
    }

    pub(super) fn framework_sorter(&self) -> Result<String, Error> {
        guard("allocator.framework_sorter", || {
            Ok(self.filter.framework_sorter().to_owned())
        })
    }

    pub(super) fn inner_filters(&self) -> Result<bool, Error> {
        guard("allocator.inner_filters", || Ok(self.filter.inner_filters()))
    }

    pub(super) fn initialized(&self, allocation_nanoseconds: i64, mesos_filters: bool) -> Result<(), Error> {
        guard("allocator.initialized", || {
            let nanoseconds = u64::try_from(allocation_nanoseconds).unwrap_or(0);
            let interval = Duration::from_nanos(nanoseconds);
            self.filter.initialized(interval, mesos_filters);
            Ok(())
        })
    }

    pub(super) fn framework_added(
        &self,
        framework: &str,
        info: &[u8],
        suppressed: Vec<String>,
        active: bool,
        used: Vec<Share>,
    ) -> Result<(), Error> {
        guard("allocator.framework_added", || {
            let used = used_of(&used)?;
            self.filter
                .framework_added(framework, info, &suppressed, active, &used);
            Ok(())
        })
    }

    pub(super) fn framework_updated(
        &self,
        framework: &str,
        info: &[u8],
        suppressed: Vec<String>,
    ) -> Result<(), Error> {
        guard("allocator.framework_updated", || {
            self.filter.framework_updated(framework, info, &suppressed);
            Ok(())
        })
    }

    pub(super) fn framework_removed(&self, framework: &str) -> Result<(), Error> {
        guard("allocator.framework_removed", || {
            self.filter.framework_removed(framework);
            Ok(())
        })
    }

    pub(super) fn framework_active(&self, framework: &str, active: bool) -> Result<(), Error> {
        guard("allocator.framework_active", || {
            self.filter.framework_active(framework, active);
            Ok(())
        })
    }

    pub(super) fn suppressed(&self, framework: &str, roles: Vec<String>) -> Result<(), Error> {
        guard("allocator.suppressed", || {
            self.filter.suppressed(framework, &roles);
            Ok(())
        })
    }

    pub(super) fn revival_waits(&self, framework: &str) -> Result<f64, Error> {
        guard("allocator.revival_waits", || {
            Ok(self.filter.revival_waits(framework).as_secs_f64())
        })
    }

    pub(super) fn revived(&self, framework: &str, roles: Vec<String>) -> Result<(), Error> {
        guard("allocator.revived", || {
            self.filter.revived(framework, &roles);
            Ok(())
        })
    }

    pub(super) fn agent_added(
        &self,
        agent: &str,
        info: &[u8],
        total: Vec<Message>,
        used: Vec<Share>,
    ) -> Result<(), Error> {
        guard("allocator.agent_added", || {
            let info: SlaveInfo = read("SlaveInfo", info)?;
            let used = used_of(&used)?;
            self.filter
                .agent_added(agent, &info.hostname, &pieces_of(&total)?, &used);
            Ok(())
        })
    }

    pub(super) fn agent_updated(&self, agent: &str, total: Vec<Message>) -> Result<(), Error> {
        guard("allocator.agent_updated", || {
            self.filter.agent_updated(agent, &pieces_of(&total)?);
            Ok(())
        })
    }

    pub(super) fn agent_removed(&self, agent: &str) -> Result<(), Error> {
        guard("allocator.agent_removed", || {
            self.filter.agent_removed(agent);
            Ok(())
        })
    }

    pub(super) fn provider_added(
        &self,
        agent: &str,
        total: Vec<Message>,
        used: Vec<Share>,
    ) -> Result<(), Error> {
        guard("allocator.provider_added", || {
            let used = used_of(&used)?;
            self.filter.provider_added(agent, &pieces_of(&total)?, &used);
            Ok(())
        })
    }

    pub(super) fn quota_changed(&self, role: &str) -> Result<(), Error> {
        guard("allocator.quota_changed", || {
            self.filter.quota_changed(role);
            Ok(())
        })
    }

    pub(super) fn looks_at(&self, framework: &str) -> Result<bool, Error> {
        guard("allocator.looks_at", || Ok(self.filter.looks_at(framework)))
    }

    pub(super) fn concerned(&self, framework: &str, agents: Messages<'_>) -> Result<Vec<usize>, Error> {
        guard("allocator.concerned", || {
            let mut unread = None;
            let ids = each(&agents).map_while(|bytes| match bytes.and_then(text) {
                Ok(id) => Some(id),
                Err(error) => {
                    unread = Some(error);
                    None
                }
            });
            let concerned = self.filter.concerned(framework, ids);
            unread.map_or(Ok(concerned), Err)
        })
    }

    pub(super) fn decide(
        &self,
        framework: &str,
        role: &str,
        agent: &str,
        resources: Messages<'_>,
    ) -> Result<Verdict, Error> {
        guard("allocator.decide", || {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            let (resources, pieces) = recent.read(&resources)?;
            let verdict = self.filter.decide(framework, role, agent, pieces);
            let parts = pieces::parts(&verdict.withheld, resources)?;
            let all =
                !parts.is_empty() && parts.len() == resources.len() && parts.iter().all(|part| part.whole);
            Ok(Verdict {
                all,
                parts: if all { Vec::new() } else { parts },
                refuse_seconds: verdict.refuse.as_secs_f64(),
            })
        })
    }

    pub(super) fn used(&self, agent: &str, resources: Messages<'_>, now: bool) -> Result<(), Error> {
        guard("allocator.used", || {
            let resources = resources_in(&resources)?;
            self.filter.used(agent, &pieces::of(&resources), now);
            Ok(())
        })
    }

    pub(super) fn watches(&self, agent: &str, used: bool) -> Result<bool, Error> {
        guard("allocator.watches", || Ok(self.filter.watches(agent, used)))
    }

    pub(super) fn returned(
        &self,
        framework: &str,
        agent: &str,
        refused: bool,
        filters: &[u8],
    ) -> Result<bool, Error> {
        guard("allocator.returned", || {
            let refuse = refusal(refused, filters)?;
            Ok(self.filter.returned(framework, agent, refuse))
        })
    }

    pub(super) fn recovered(
        &self,
        framework: &str,
        agent: &str,
        resources: Messages<'_>,
        refused: bool,
        filters: &[u8],
    ) -> Result<(), Error> {
        guard("allocator.recovered", || {
            let resources = resources_in(&resources)?;
            self.filter.recovered(
                framework,
                pieces::role(&resources),
                agent,
                &pieces::of(&resources),
                refusal(refused, filters)?,
            );
            Ok(())
        })
    }
}

fn pieces_of(resources: &[Message]) -> Result<Vec<Piece>, Error> {
    Ok(pieces::of(&resources_of(resources)?))
}

/// How long what is given back is refused, where it is.
fn refusal(refused: bool, filters: &[u8]) -> Result<Option<Duration>, Error> {
    match refused {
        true => Ok(Some(read::<Filters>("Filters", filters)?.refuse_time())),
        false => Ok(None),
    }
}
