// SPDX-License-Identifier: Apache-2.0
//! Why: tests read of an offer only how much of what is in it and where.

use serde_json::Value;

use crate::resources;

/// An offer of one agent.
#[derive(Debug, Clone)]
pub struct Offer {
    raw: Value,
    resources: Vec<Value>,
}

impl Offer {
    /// Its id.
    pub fn id(&self) -> &str {
        self.raw["id"]["value"].as_str().unwrap_or_default()
    }

    /// The agent it is of.
    pub fn agent_id(&self) -> &str {
        self.raw["agent_id"]["value"].as_str().unwrap_or_default()
    }

    /// That agent's host name.
    pub fn hostname(&self) -> &str {
        self.raw["hostname"].as_str().unwrap_or_default()
    }

    /// The role it is made to.
    pub fn role(&self) -> &str {
        self.raw["allocation_info"]["role"].as_str().unwrap_or("*")
    }

    /// How much of a scalar resource is in it, revocable ones left out.
    pub fn amount(&self, name: &str) -> f64 {
        resources::sum(&self.resources, name, false)
    }

    /// How much of a revocable scalar resource is in it.
    pub fn revocable(&self, name: &str) -> f64 {
        resources::sum(&self.resources, name, true)
    }

    /// Regular GPUs.
    pub fn gpus(&self) -> f64 {
        self.amount("gpus")
    }

    /// Regular CPUs.
    pub fn cpus(&self) -> f64 {
        self.amount("cpus")
    }

    /// Regular memory in MB.
    pub fn mem(&self) -> f64 {
        self.amount("mem")
    }

    /// The attributes of the agent by name, as text.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let list = self.raw["attributes"].as_array()?;
        let found = list.iter().find(|a| a["name"] == name)?;
        let text = found["text"]["value"].as_str().map(str::to_owned);
        text.or_else(|| found["scalar"]["value"].as_f64().map(|v| v.to_string()))
    }

    /// All resources as the master sent them.
    pub fn resources(&self) -> &[Value] {
        &self.resources
    }

    /// All that the master sent.
    pub fn raw(&self) -> &Value {
        &self.raw
    }
}

impl From<Value> for Offer {
    fn from(raw: Value) -> Self {
        let resources = raw["resources"].as_array().cloned().unwrap_or_default();
        Self { raw, resources }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sums_run_over_all_entries_of_a_name() {
        let offer = Offer::from(json!({
            "id": {"value": "o"}, "agent_id": {"value": "a"}, "hostname": "h", "allocation_info": {"role": "r"},
            "attributes": [{"name": "gpu_model", "type": "TEXT", "text": {"value": "H200"}}],
            "resources": [
                {"name": "gpus", "type": "SCALAR", "scalar": {"value": 1.0}},
                {"name": "gpus", "type": "SCALAR", "scalar": {"value": 2.0}, "reservations": [{"role": "r"}]},
                {"name": "gpus", "type": "SCALAR", "scalar": {"value": 4.0}, "revocable": {}},
                {"name": "ports", "type": "RANGES", "ranges": {}},
            ],
        }));
        assert_eq!(
            (offer.gpus(), offer.revocable("gpus"), offer.cpus()),
            (3.0, 4.0, 0.0)
        );
        assert_eq!(
            (offer.id(), offer.agent_id(), offer.hostname(), offer.role()),
            ("o", "a", "h", "r")
        );
        assert_eq!(offer.attribute("gpu_model").as_deref(), Some("H200"));
    }
}
