// SPDX-License-Identifier: Apache-2.0
//! The modules of this library, and which flag of which Mesos process each is named in.

/// What a Mesos process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An agent.
    Agent,
    /// A master.
    Master,
}

impl Role {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Master => "master",
        }
    }
}

/// One module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Module {
    /// Its name, which is its symbol.
    pub name: &'static str,
    /// The flag that makes a Mesos process create it.
    pub flag: &'static str,
    /// The process.
    pub role: Role,
}

/// The isolator.
pub const ISOLATOR: Module = Module {
    name: "mesos_gpu_Isolator",
    flag: "isolation",
    role: Role::Agent,
};
/// The hook.
pub const HOOK: Module = Module {
    name: "mesos_gpu_Hook",
    flag: "hooks",
    role: Role::Agent,
};
/// The resource estimator.
pub const ESTIMATOR: Module = Module {
    name: "mesos_gpu_ResourceEstimator",
    flag: "resource_estimator",
    role: Role::Agent,
};
/// The controller of the quality of service.
pub const CONTROLLER: Module = Module {
    name: "mesos_gpu_QoSController",
    flag: "qos_controller",
    role: Role::Agent,
};
/// The allocator.
pub const ALLOCATOR: Module = Module {
    name: "mesos_gpu_Allocator",
    flag: "allocator",
    role: Role::Master,
};

/// All of them.
pub const MODULES: [Module; 5] = [ISOLATOR, HOOK, ESTIMATOR, CONTROLLER, ALLOCATOR];

/// What every name of ours begins with.
pub const PREFIX: &str = "mesos_gpu_";

/// The module of this name.
pub fn named(name: &str) -> Option<Module> {
    MODULES.into_iter().find(|module| module.name == name)
}

/// Whether a name is meant to be one of ours, right or wrong.
pub fn is_meant(name: &str) -> bool {
    name.trim().to_ascii_lowercase().starts_with(PREFIX)
}

/// The nearest of our names, for a cure.
pub fn nearest(name: &str) -> &'static str {
    let distance = |module: &Module| crate::config::keys::distance(name.trim(), module.name);
    MODULES
        .iter()
        .min_by_key(|module| distance(module))
        .map_or(ISOLATOR.name, |module| module.name)
}
