// SPDX-License-Identifier: Apache-2.0
//! Why: what a framework says of itself decides which offers it gets; tests vary exactly this.

use serde_json::{Value, json};

/// What a framework tells the master about itself.
#[derive(Debug, Clone)]
pub struct FrameworkOptions {
    /// Its name.
    pub name: String,
    /// The user its tasks run as.
    pub user: String,
    /// The roles it takes offers for.
    pub roles: Vec<String>,
    /// Those of its roles for which it wants no offers at first.
    pub suppressed_roles: Vec<String>,
    /// It knows what to do with GPUs: without this, agents with GPUs are hidden from it.
    pub gpu_resources: bool,
    /// It takes revocable resources.
    pub revocable: bool,
    /// Further capabilities by name.
    pub capabilities: Vec<String>,
    /// Its executors outlive an agent's restart.
    pub checkpoint: bool,
    /// Seconds that its tasks outlive it.
    pub failover_timeout: f64,
    /// Its principal, if any.
    pub principal: Option<String>,
    /// The id it had before, to fail over.
    pub id: Option<String>,
}

impl Default for FrameworkOptions {
    fn default() -> Self {
        Self {
            name: "testbed".to_owned(),
            user: "root".to_owned(),
            roles: vec!["*".to_owned()],
            suppressed_roles: Vec::new(),
            gpu_resources: true,
            revocable: false,
            capabilities: Vec::new(),
            checkpoint: true,
            failover_timeout: 0.0,
            principal: None,
            id: None,
        }
    }
}

impl FrameworkOptions {
    /// A framework with this name that takes offers with GPUs.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn subscribe_call(&self) -> Value {
        let mut kinds = vec!["MULTI_ROLE"];
        if self.gpu_resources {
            kinds.push("GPU_RESOURCES");
        }
        if self.revocable {
            kinds.push("REVOCABLE_RESOURCES");
        }
        for kind in &self.capabilities {
            if !kinds.contains(&kind.as_str()) {
                kinds.push(kind);
            }
        }
        let capabilities: Vec<Value> = kinds.iter().map(|k| json!({"type": k})).collect();
        let mut info = json!({
            "user": self.user,
            "name": self.name,
            "roles": self.roles,
            "capabilities": capabilities,
            "checkpoint": self.checkpoint,
            "failover_timeout": self.failover_timeout,
        });
        if let Some(principal) = &self.principal {
            info["principal"] = json!(principal);
        }
        let mut call = json!({"type": "SUBSCRIBE"});
        if let Some(id) = &self.id {
            info["id"] = json!({"value": id});
            call["framework_id"] = json!({"value": id});
        }
        call["subscribe"] = json!({"framework_info": info, "suppressed_roles": self.suppressed_roles});
        call
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_follow_the_options_without_repeats() {
        let options = FrameworkOptions {
            revocable: true,
            capabilities: vec!["GPU_RESOURCES".to_owned(), "PARTITION_AWARE".to_owned()],
            ..FrameworkOptions::named("x")
        };
        let call = options.subscribe_call();
        let list = call["subscribe"]["framework_info"]["capabilities"]
            .as_array()
            .unwrap();
        let kinds: Vec<&str> = list.iter().filter_map(|c| c["type"].as_str()).collect();
        assert_eq!(
            kinds,
            [
                "MULTI_ROLE",
                "GPU_RESOURCES",
                "REVOCABLE_RESOURCES",
                "PARTITION_AWARE"
            ]
        );
    }

    #[test]
    fn the_id_of_a_failover_stands_in_both_places() {
        let call = FrameworkOptions {
            id: Some("f".to_owned()),
            ..FrameworkOptions::default()
        }
        .subscribe_call();
        assert_eq!(call["framework_id"]["value"], "f");
        assert_eq!(call["subscribe"]["framework_info"]["id"]["value"], "f");
    }
}
