// SPDX-License-Identifier: Apache-2.0
//! Mesos's promises as replies of the agent thread.

use super::ffi::bridge::{
    CorrectionsReply, LaunchReply, LimitationReply, Message as Bytes, NothingReply, ResourcesReply,
    StatusReply, UsageReply,
};
use crate::agent::corrections::Correction;
use crate::agent::reply::Reply;
use crate::error::Error;
use crate::isolator::prepare::Launch;
use crate::wire::Resource;
use crate::wire::correction::QoSCorrection;
use cxx::UniquePtr;
use prost::Message;

// SAFETY: (all seven) `Send` asks that the object may be used and destroyed on another thread than the one that made it.
// Each holds one `shared_ptr` to a promise, whose count is atomic, and completing a libprocess promise takes the lock of
// its future; `include/mesos/1.11/process/future.hpp` does the same.
unsafe impl Send for NothingReply {}
// SAFETY: as above.
unsafe impl Send for LaunchReply {}
// SAFETY: as above.
unsafe impl Send for LimitationReply {}
// SAFETY: as above.
unsafe impl Send for UsageReply {}
// SAFETY: as above.
unsafe impl Send for StatusReply {}
// SAFETY: as above.
unsafe impl Send for ResourcesReply {}
// SAFETY: as above.
unsafe impl Send for CorrectionsReply {}

/// Mesos gets the answer; if C++ cannot take it, the failure instead, and if not even that, the log.
macro_rules! completes {
    ($promise:ident, $answer:ident, $value:ident => $complete:expr) => {{
        let done = match $answer {
            Ok($value) => $complete,
            Err(error) => $promise.fail(&failure(&error)),
        };
        if let Err(thrown) = done
            && let Err(again) = $promise.fail(thrown.what())
        {
            log::error!("cannot answer Mesos: {thrown}; {again}");
        }
    }};
}

fn failure(error: &Error) -> String {
    format!("mesos_gpu: {error}")
}

pub(super) fn nothing(promise: UniquePtr<NothingReply>) -> Reply<()> {
    Reply::new(move |answer: Result<(), Error>| completes!(promise, answer, _nothing => promise.done()))
}

pub(super) fn launch(promise: UniquePtr<LaunchReply>) -> Reply<Launch> {
    Reply::new(move |answer: Result<Launch, Error>| {
        completes!(promise, answer, info => match info {
            Some(info) => promise.launch(&info.encode_to_vec()),
            None => promise.nothing(),
        })
    })
}

pub(super) fn limitation(promise: UniquePtr<LimitationReply>) -> Reply<Vec<u8>> {
    Reply::maybe(
        move |answer: Result<Vec<u8>, Error>| completes!(promise, answer, limitation => promise.limit(&limitation)),
    )
}

pub(super) fn usage(promise: UniquePtr<UsageReply>) -> Reply<Vec<u8>> {
    Reply::new(
        move |answer: Result<Vec<u8>, Error>| completes!(promise, answer, statistics => promise.usage(&statistics)),
    )
}

pub(super) fn status(promise: UniquePtr<StatusReply>) -> Reply<Vec<u8>> {
    Reply::new(
        move |answer: Result<Vec<u8>, Error>| completes!(promise, answer, status => promise.status(&status)),
    )
}

pub(super) fn resources(promise: UniquePtr<ResourcesReply>) -> Reply<Vec<Resource>> {
    Reply::new(move |answer: Result<Vec<Resource>, Error>| {
        completes!(promise, answer, resources => {
            let bytes: Vec<Bytes> = resources.iter().map(bytes).collect();
            promise.resources(&bytes)
        })
    })
}

/// The answer to the QoS controller, which may stay open for ever. A failure goes to `fail`: at once, Mesos must not have it.
pub(super) fn corrections(
    promise: UniquePtr<CorrectionsReply>,
    fail: impl FnOnce(UniquePtr<CorrectionsReply>, String) + Send + 'static,
) -> Reply<Vec<Correction>> {
    Reply::maybe(move |answer: Result<Vec<Correction>, Error>| {
        let done = answer.map_err(|error| error.to_string()).and_then(|corrections| {
            let kills = corrections
                .iter()
                .map(|one| QoSCorrection::kill(&one.executor, &one.container));
            let bytes: Vec<Bytes> = kills.map(|kill| bytes(&kill)).collect();
            promise.corrections(&bytes).map_err(|thrown| thrown.to_string())
        });
        if let Err(why) = done {
            fail(promise, why);
        }
    })
}

fn bytes(message: &impl Message) -> Bytes {
    Bytes {
        bytes: message.encode_to_vec(),
    }
}
