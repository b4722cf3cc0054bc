// SPDX-License-Identifier: Apache-2.0
//! What crosses: bytes of Mesos's messages, numbers, texts, and the promises that Mesos waits on.

use super::allocator::{AllocatorCore, create_allocator};
use super::controller::{ControllerCore, create_controller};
use super::estimator::{EstimatorCore, UsageQuestion, create_estimator};
use super::fault::fault_told;
use super::hook::{HookCore, create_hook};
use super::isolator::{IsolatorCore, create_isolator};

#[allow(clippy::missing_safety_doc, missing_docs, unused_qualifications)] // What the macro writes.
#[cxx::bridge(namespace = "mesos_gpu")]
pub(super) mod bridge {
    /// The wire bytes of one message of a list.
    struct Message {
        bytes: Vec<u8>,
    }

    /// The wire bytes of messages, or texts, one behind the other, and where each of them ends.
    struct Messages<'a> {
        bytes: &'a [u8],
        ends: &'a [usize],
    }

    /// What a framework has of an agent, or an agent of a framework.
    struct Share {
        /// The other one's id.
        id: String,
        resources: Vec<Message>,
    }

    /// How much of one resource of an offer.
    struct Part {
        index: usize,
        /// All of it, whatever the amount.
        whole: bool,
        amount: f64,
    }

    /// What is withheld of what an agent offers.
    struct Verdict {
        /// All of it; then no parts are named.
        all: bool,
        parts: Vec<Part>,
        refuse_seconds: f64,
    }

    extern "Rust" {
        type IsolatorCore;
        fn create_isolator(parameters: &[u8]) -> Result<Box<IsolatorCore>>;
        fn recover(&self, states: Vec<Message>, orphans: Vec<Message>, reply: UniquePtr<NothingReply>);
        fn prepare(&self, container: &[u8], config: &[u8], reply: UniquePtr<LaunchReply>);
        fn isolate(&self, container: &[u8], pid: i32, reply: UniquePtr<NothingReply>);
        fn watch(&self, container: &[u8], reply: UniquePtr<LimitationReply>);
        fn update(&self, container: &[u8], resources: Vec<Message>, reply: UniquePtr<NothingReply>);
        fn usage(&self, container: &[u8], reply: UniquePtr<UsageReply>);
        fn status(&self, container: &[u8], reply: UniquePtr<StatusReply>);
        fn cleanup(&self, container: &[u8], reply: UniquePtr<NothingReply>);
    }

    extern "Rust" {
        type HookCore;
        fn create_hook(parameters: &[u8]) -> Result<Box<HookCore>>;
        fn resources(&self, slave_info: &[u8]) -> Result<Vec<Message>>;
        /// None when nothing is to be added.
        fn attributes(&self, slave_info: &[u8]) -> Result<Vec<Message>>;
        /// Empty when nothing is to be added.
        fn status(&self, framework: &[u8], task_status: &[u8]) -> Result<Vec<u8>>;
    }

    extern "Rust" {
        type AllocatorCore;
        fn create_allocator(parameters: &[u8]) -> Result<Box<AllocatorCore>>;
        fn role_sorter(&self) -> Result<String>;
        fn framework_sorter(&self) -> Result<String>;
        fn inner_filters(&self) -> Result<bool>;
        fn initialized(&self, allocation_nanoseconds: i64, mesos_filters: bool) -> Result<()>;
        fn framework_added(
            &self,
            framework: &str,
            info: &[u8],
            suppressed: Vec<String>,
            active: bool,
            used: Vec<Share>,
        ) -> Result<()>;
        fn framework_updated(&self, framework: &str, info: &[u8], suppressed: Vec<String>) -> Result<()>;
        fn framework_removed(&self, framework: &str) -> Result<()>;
        fn framework_active(&self, framework: &str, active: bool) -> Result<()>;
        fn suppressed(&self, framework: &str, roles: Vec<String>) -> Result<()>;
        /// For how many seconds a revival is not passed on.
        fn revival_waits(&self, framework: &str) -> Result<f64>;
        fn revived(&self, framework: &str, roles: Vec<String>) -> Result<()>;
        fn agent_added(&self, agent: &str, info: &[u8], total: Vec<Message>, used: Vec<Share>) -> Result<()>;
        fn agent_updated(&self, agent: &str, total: Vec<Message>) -> Result<()>;
        fn agent_removed(&self, agent: &str) -> Result<()>;
        fn provider_added(&self, agent: &str, total: Vec<Message>, used: Vec<Share>) -> Result<()>;
        fn quota_changed(&self, role: &str) -> Result<()>;
        /// Whether any offer to this framework is to be decided.
        fn looks_at(&self, framework: &str) -> Result<bool>;
        /// The places of those of these agents of which what they offer to this framework is, from the first on. `agents`
        /// are texts.
        fn concerned(&self, framework: &str, agents: Messages) -> Result<Vec<usize>>;
        fn decide(&self, framework: &str, role: &str, agent: &str, resources: Messages) -> Result<Verdict>;
        /// Tasks came to use this of an agent, or do not any more.
        fn used(&self, agent: &str, resources: Messages, now: bool) -> Result<()>;
        /// Whether what comes back of this agent, which tasks used or which was only offered, is of interest at all.
        fn watches(&self, agent: &str, used: bool) -> Result<bool>;
        /// What the master gives back of such an agent: whether the filter has to be told what it is. `filters` are read
        /// where it was refused.
        fn returned(&self, framework: &str, agent: &str, refused: bool, filters: &[u8]) -> Result<bool>;
        fn recovered(
            &self,
            framework: &str,
            agent: &str,
            resources: Messages,
            refused: bool,
            filters: &[u8],
        ) -> Result<()>;
    }

    extern "Rust" {
        type EstimatorCore;
        fn create_estimator(parameters: &[u8]) -> Result<Box<EstimatorCore>>;
        fn initialize(&self, usage: UniquePtr<Usage>) -> Result<()>;
        fn oversubscribable(&self, reply: UniquePtr<ResourcesReply>);
    }

    extern "Rust" {
        /// Somebody waits for who has what.
        type UsageQuestion;
        fn told(&self, usage: &[u8]);
        fn failed(&self, why: &str);
    }

    extern "Rust" {
        type ControllerCore;
        fn create_controller(parameters: &[u8]) -> Result<Box<ControllerCore>>;
        fn initialize(&self) -> Result<()>;
        fn corrections(&self, reply: UniquePtr<CorrectionsReply>);
        fn fail_later(&self, reply: UniquePtr<CorrectionsReply>, why: &str);
    }

    extern "Rust" {
        fn fault_told(entry: &str) -> bool;
    }

    unsafe extern "C++" {
        include!("mesos_gpu/reply.hpp");
        include!("mesos_gpu/oversubscription.hpp");
        include!("mesos_gpu/log.hpp");

        type NothingReply;
        fn done(self: &NothingReply) -> Result<()>;
        fn fail(self: &NothingReply, message: &str) -> Result<()>;

        type LaunchReply;
        fn launch(self: &LaunchReply, info: &[u8]) -> Result<()>;
        fn nothing(self: &LaunchReply) -> Result<()>;
        fn fail(self: &LaunchReply, message: &str) -> Result<()>;

        type LimitationReply;
        fn limit(self: &LimitationReply, limitation: &[u8]) -> Result<()>;
        fn fail(self: &LimitationReply, message: &str) -> Result<()>;

        type UsageReply;
        fn usage(self: &UsageReply, statistics: &[u8]) -> Result<()>;
        fn fail(self: &UsageReply, message: &str) -> Result<()>;

        type StatusReply;
        fn status(self: &StatusReply, status: &[u8]) -> Result<()>;
        fn fail(self: &StatusReply, message: &str) -> Result<()>;

        type ResourcesReply;
        fn resources(self: &ResourcesReply, resources: &[Message]) -> Result<()>;
        fn fail(self: &ResourcesReply, message: &str) -> Result<()>;

        type CorrectionsReply;
        fn corrections(self: &CorrectionsReply, corrections: &[Message]) -> Result<()>;
        fn fail(self: &CorrectionsReply, message: &str) -> Result<()>;

        type Usage;
        fn ask(self: &Usage, question: Box<UsageQuestion>) -> Result<()>;

        #[cxx_name = "logRecord"]
        fn log_record(severity: i32, file: &[u8], line: i32, message: &str) -> Result<()>;
    }
}
