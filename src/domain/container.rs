// SPDX-License-Identifier: Apache-2.0
//! Which container: the path of ids from the root container down.

use std::fmt;

/// A container's id: the root's value first, then one value a nesting level. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerId(Vec<String>);

impl ContainerId {
    /// A container from its values, root first; none for an empty list.
    pub fn from_path(path: Vec<String>) -> Option<Self> {
        (!path.is_empty()).then_some(Self(path))
    }

    /// A root container.
    pub fn root_of(value: &str) -> Self {
        Self(vec![value.to_owned()])
    }

    /// The values, root first.
    pub fn path(&self) -> &[String] {
        &self.0
    }

    /// Whether the container is a child of another.
    pub fn is_nested(&self) -> bool {
        self.0.len() > 1
    }

    /// The top-level container this one belongs to (itself when it is one).
    pub fn root(&self) -> Self {
        Self(self.0[..1].to_vec())
    }

    /// The container directly above; none for a root.
    pub fn parent(&self) -> Option<Self> {
        self.is_nested()
            .then(|| Self(self.0[..self.0.len() - 1].to_vec()))
    }

    /// The path of the container's own cgroup below a hierarchy: `<cgroups_root>/<root>[/mesos/<child>…]`.
    pub fn cgroup(&self, cgroups_root: &str) -> String {
        format!("{}/{}", cgroups_root.trim_matches('/'), self.0.join("/mesos/"))
    }

    /// The top-level container that a cgroup below a hierarchy belongs to, its own, a child's or one that it made itself;
    /// none where it is not below the agent's.
    pub fn root_at(cgroup: &str, cgroups_root: &str) -> Option<Self> {
        let below = cgroup
            .trim_start_matches('/')
            .strip_prefix(cgroups_root.trim_matches('/'))?
            .strip_prefix('/')?;
        let value = below.split('/').next().unwrap_or_default();
        (!matches!(value, "" | "." | "..")).then(|| Self::root_of(value))
    }
}

/// The executor that a top-level container was made for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Executor {
    /// Its framework's id.
    pub framework: String,
    /// Its own id, unique in the framework.
    pub id: String,
}

/// As Mesos writes it: `root.child`.
impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_container_has_its_cgroup_below_its_parents() {
        let child = ContainerId::from_path(vec!["a".into(), "b".into()]).unwrap();
        assert_eq!(child.cgroup("/mesos/"), "mesos/a/mesos/b");
        assert_eq!(child.root().cgroup("mesos"), "mesos/a");
        assert_eq!(child.to_string(), "a.b");
        assert!(child.is_nested() && !child.root().is_nested());
        assert_eq!(child.parent(), Some(ContainerId::root_of("a")));
        assert_eq!(ContainerId::from_path(vec![]), None);
    }

    #[test]
    fn a_cgroup_belongs_to_the_top_level_container_above_it_and_to_no_other() {
        let child = ContainerId::from_path(vec!["a".into(), "b".into()]).unwrap();
        for (cgroup, root, want) in [
            ("mesos/a", "mesos", Some("a")),
            ("/mesos/a", "/mesos/", Some("a")),
            (child.cgroup("mesos").as_str(), "mesos", Some("a")),
            ("mesos/a/made/by/itself", "mesos", Some("a")),
            ("x/y/a", "x/y", Some("a")),
            ("mesos", "mesos", None),
            ("mesos/", "mesos", None),
            ("mesosphere/a", "mesos", None),
            ("other/mesos/a", "mesos", None),
            ("/../mesos/a", "mesos", None),
            ("mesos/../a", "mesos", None),
            ("", "mesos", None),
            ("user.slice", "mesos", None),
        ] {
            let want = want.map(ContainerId::root_of);
            assert_eq!(ContainerId::root_at(cgroup, root), want, "{cgroup}");
        }
    }
}
