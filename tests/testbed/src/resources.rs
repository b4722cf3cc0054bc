// SPDX-License-Identifier: Apache-2.0
//! Why: tasks, executors, containers and offers all carry lists of Mesos resources in the same JSON form, and
//! a list that lacks `allocation_info` in an accepted offer is refused by the master. One place writes and reads them.

use serde_json::{Value, json};

/// Scalar resources as an operator names them: no role, not revocable.
pub fn scalars(amounts: &[(String, f64)]) -> Vec<Value> {
    amounts
        .iter()
        .map(|(name, value)| json!({"name": name, "type": "SCALAR", "scalar": {"value": value}}))
        .collect()
}

/// The same list marked as revocable.
pub fn revocable(mut resources: Vec<Value>) -> Vec<Value> {
    for resource in &mut resources {
        resource["revocable"] = json!({});
    }
    resources
}

/// The same list as part of what was offered to `role`. Entries that already say their role keep it.
pub fn allocated(mut resources: Vec<Value>, role: &str) -> Vec<Value> {
    for resource in &mut resources {
        if resource.get("allocation_info").is_none() {
            resource["allocation_info"] = json!({"role": role});
        }
    }
    resources
}

/// How much of `name` is in the list, counting only revocable or only regular resources.
pub fn sum(resources: &[Value], name: &str, revocable: bool) -> f64 {
    resources
        .iter()
        .filter(|r| r["name"] == name && r.get("revocable").is_some() == revocable)
        .filter_map(|r| r["scalar"]["value"].as_f64())
        .sum()
}

/// Owned amounts from a literal list.
pub fn amounts(list: &[(&str, f64)]) -> Vec<(String, f64)> {
    list.iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revocable_and_regular_amounts_are_counted_apart() {
        let mut list = scalars(&amounts(&[("gpus", 2.0), ("cpus", 1.0)]));
        list.extend(revocable(scalars(&amounts(&[("gpus", 1.0)]))));
        assert_eq!(sum(&list, "gpus", false), 2.0);
        assert_eq!(sum(&list, "gpus", true), 1.0);
        assert_eq!(sum(&list, "cpus", true), 0.0);
    }

    #[test]
    fn a_role_that_is_given_stays() {
        let mut list = scalars(&amounts(&[("gpus", 2.0), ("cpus", 1.0)]));
        list[0]["allocation_info"] = json!({"role": "mine"});
        let list = allocated(list, "other");
        assert_eq!(list[0]["allocation_info"]["role"], "mine");
        assert_eq!(list[1]["allocation_info"]["role"], "other");
    }
}
