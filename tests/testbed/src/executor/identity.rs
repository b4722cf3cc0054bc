// SPDX-License-Identifier: Apache-2.0
//! Why: who an executor is and where its agent listens comes in environment variables alone.

use std::time::Duration;

use crate::mesos_text;

/// What the agent told the executor about itself.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// `host:port` of the agent.
    pub(crate) agent: String,
    pub(crate) framework_id: String,
    pub(crate) executor_id: String,
    /// The executor is to outlive its agent's restart.
    pub(crate) checkpoint: bool,
    /// For how long it waits for the agent to come back.
    pub(crate) recovery_timeout: Duration,
    /// How long its tasks have to end when it is told to shut down.
    pub(crate) shutdown_grace: Duration,
    /// What to send as `Authorization`, where the agent wants one.
    pub(crate) token: Option<String>,
}

impl Identity {
    pub(crate) fn from_environment() -> Result<Self, String> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let need = |name: &str| get(name).ok_or_else(|| format!("environment variable {name} is not set"));
        let duration = |name: &str, default: u64| match get(name) {
            Some(text) => {
                mesos_text::duration(&text).map_err(|e| format!("environment variable {name}: {e}"))
            }
            None => Ok(Duration::from_secs(default)),
        };
        Ok(Self {
            agent: need("MESOS_AGENT_ENDPOINT")?,
            framework_id: need("MESOS_FRAMEWORK_ID")?,
            executor_id: need("MESOS_EXECUTOR_ID")?,
            checkpoint: get("MESOS_CHECKPOINT").is_some_and(|v| v == "1"),
            recovery_timeout: duration("MESOS_RECOVERY_TIMEOUT", 15 * 60)?,
            shutdown_grace: duration("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", 5)?,
            token: get("MESOS_EXECUTOR_AUTHENTICATION_TOKEN"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(list: &[(&str, &str)]) -> Result<Identity, String> {
        Identity::from_variables(|name| {
            list.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        })
    }

    const BASE: [(&str, &str); 3] = [
        ("MESOS_AGENT_ENDPOINT", "127.0.0.1:5051"),
        ("MESOS_FRAMEWORK_ID", "f"),
        ("MESOS_EXECUTOR_ID", "e"),
    ];

    #[test]
    fn a_missing_variable_is_named() {
        assert_eq!(
            from(&BASE[..2]).unwrap_err(),
            "environment variable MESOS_EXECUTOR_ID is not set"
        );
    }

    #[test]
    fn times_have_defaults_and_are_read_as_mesos_writes_them() {
        let plain = from(&BASE).unwrap();
        assert!(!plain.checkpoint);
        assert_eq!(plain.recovery_timeout, Duration::from_secs(900));
        let list = [
            &BASE[..],
            &[("MESOS_CHECKPOINT", "1"), ("MESOS_RECOVERY_TIMEOUT", "2mins")],
        ]
        .concat();
        let told = from(&list).unwrap();
        assert!(told.checkpoint);
        assert_eq!(told.recovery_timeout, Duration::from_secs(120));
    }
}
