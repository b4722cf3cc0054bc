// SPDX-License-Identifier: Apache-2.0
//! Why: tests ask the master what it believes (agents, their totals, frameworks) and reserve resources with it.

use std::fmt;

use serde_json::{Value, json};

use super::{ApiError, accepted};
use crate::http::Client;
use crate::resources;

/// Speaks the master's operator API.
#[derive(Debug, Clone)]
pub struct MasterOperator {
    client: Client,
}

impl MasterOperator {
    /// The master at `host:port`.
    pub fn new(address: impl fmt::Display) -> Self {
        Self {
            client: Client::new(address),
        }
    }

    /// Any call of the master's `/api/v1`, as JSON.
    pub fn call(&self, body: &Value) -> Result<Value, ApiError> {
        let reply = self.client.post("/api/v1", body)?;
        accepted(body, reply)
    }

    /// True once the master says it is healthy.
    pub fn health(&self) -> bool {
        self.call(&json!({"type": "GET_HEALTH"}))
            .is_ok_and(|r| r["get_health"]["healthy"] == true)
    }

    /// The master's `/state`.
    pub fn state(&self) -> Result<Value, ApiError> {
        let reply = self.client.get("/state")?;
        accepted(&json!({"type": "GET /state"}), reply)
    }

    /// The master's metrics by name.
    pub fn metrics(&self) -> Result<Value, ApiError> {
        let reply = self.client.get("/metrics/snapshot")?;
        accepted(&json!({"type": "GET /metrics/snapshot"}), reply)
    }

    /// The registered agents, as the master describes them.
    pub fn agents(&self) -> Result<Vec<Value>, ApiError> {
        let answer = self.call(&json!({"type": "GET_AGENTS"}))?;
        Ok(answer["get_agents"]["agents"]
            .as_array()
            .cloned()
            .unwrap_or_default())
    }

    /// Sets what a role is guaranteed and what it may have at most, together. Without limits it may have all.
    pub fn set_quota(
        &self,
        role: &str,
        guarantees: &[(&str, f64)],
        limits: &[(&str, f64)],
    ) -> Result<(), ApiError> {
        let scalars = |list: &[(&str, f64)]| {
            let pairs = list
                .iter()
                .map(|(name, value)| ((*name).to_owned(), json!({"value": value})));
            Value::Object(pairs.collect())
        };
        let config = json!({"role": role, "guarantees": scalars(guarantees), "limits": scalars(limits)});
        // A guarantee that the cluster cannot meet is for tests to try.
        let update = json!({"force": true, "quota_configs": [config]});
        self.call(&json!({"type": "UPDATE_QUOTA", "update_quota": update}))
            .map(drop)
    }

    /// The roles with what they hold, as the master describes them.
    pub fn roles(&self) -> Result<Vec<Value>, ApiError> {
        let answer = self.call(&json!({"type": "GET_ROLES"}))?;
        Ok(answer["get_roles"]["roles"]
            .as_array()
            .cloned()
            .unwrap_or_default())
    }

    /// Reserves scalar resources of one agent for a role.
    pub fn reserve(&self, agent_id: &str, role: &str, amounts: &[(&str, f64)]) -> Result<(), ApiError> {
        let mut list = resources::scalars(&resources::amounts(amounts));
        for resource in &mut list {
            resource["reservations"] = json!([{"type": "DYNAMIC", "role": role}]);
        }
        let reserve = json!({"agent_id": {"value": agent_id}, "resources": list});
        self.call(&json!({"type": "RESERVE_RESOURCES", "reserve_resources": reserve}))
            .map(drop)
    }
}
