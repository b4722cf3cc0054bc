// SPDX-License-Identifier: Apache-2.0
//! Every family of numbers that an agent writes, one below the other: the text is made from this table, and the
//! documentation and the dashboard are checked against it.

use std::fmt;

/// How a number behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, until the agent starts again.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts by size, with their sum.
    Histogram,
}

/// As Prometheus writes it.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        })
    }
}

/// Numbers of one name, told apart by their labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// Its name, with the unit at its end where it has one.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// The labels that its lines may have; one without a value is left out.
    pub labels: &'static [&'static str],
    /// What it is.
    pub help: &'static str,
    /// When a line of it is left out.
    pub absent: &'static str,
}

/// Makes the constants and the table of all.
macro_rules! families {
    ($($name:ident $text:literal $kind:ident [$($label:literal),*] $help:literal, $absent:literal;)*) => {
        $(
            #[doc = $help]
            pub const $name: Family = Family {
                name: $text,
                kind: Kind::$kind,
                labels: &[$($label),*],
                help: $help,
                absent: $absent,
            };
        )*
        /// Every one, in the order of the documentation.
        pub const FAMILIES: &[Family] = &[$($name),*];
    };
}

families! {
    BUILD_INFO "mesos_gpu_build_info" Gauge ["version", "driver"]
        "1, for the versions of the module and, where it is known, of the driver.",
        "never";
    SOUND "mesos_gpu_sound" Gauge []
        "Whether GPUs are handed out: 0 after a panic in the module, until the agent starts again.",
        "never";
    ADVERTISED "mesos_gpu_advertised" Gauge []
        "GPUs that the agent advertises.",
        "never";
    GPUS "mesos_gpu_gpus" Gauge ["phase"]
        "Advertised GPUs by what may be done with them.",
        "never";
    WAITED_FOR "mesos_gpu_waited_for" Gauge []
        "GPUs that launches and growths wait for.",
        "never";
    WAITING "mesos_gpu_waiting" Gauge []
        "Launches and growths that wait for GPUs.",
        "never";
    HOLDERS "mesos_gpu_holders" Gauge []
        "Containers that hold GPUs.",
        "never";
    GUESTS "mesos_gpu_guests" Gauge []
        "Containers that are on GPUs which they do not hold.",
        "never";
    NVML_UP "mesos_gpu_nvml_up" Gauge []
        "Whether NVML answered the last question for a sample.",
        "before the first answer, and without GPUs";
    NVML_FAILURES "mesos_gpu_nvml_failures_total" Counter ["reason"]
        "Questions for a sample that NVML did not answer.",
        "never";
    SET_ASIDE "mesos_gpu_set_aside" Gauge ["uuid"]
        "GPUs that are held back; the agent's log has the reason.",
        "of a GPU that is not held back";
    INFO "mesos_gpu_info" Gauge ["gpu", "minor", "index", "pci", "model", "parent"]
        "1, for what is known of a GPU.",
        "never";
    HELD "mesos_gpu_held" Gauge ["gpu", "minor"]
        "Whether a container holds the GPU.",
        "never";
    RELEASING "mesos_gpu_releasing" Gauge ["gpu", "minor"]
        "Whether the GPU was given back and it is not certain yet that nobody uses it.",
        "never";
    SICK "mesos_gpu_sick" Gauge ["gpu", "minor"]
        "Whether something is wrong with the GPU, whoever holds it; the agent's log has the reason.",
        "never";
    FOREIGN "mesos_gpu_foreign" Gauge ["gpu", "minor"]
        "Whether processes outside of the agent's containers use the GPU.",
        "never";
    UTILIZATION "mesos_gpu_utilization_ratio" Gauge ["gpu", "minor"]
        "Share of the last moment in which anybody computed on the GPU, from 0 to 1.",
        "when the sample is old, or the GPU does not tell (MIG)";
    MEMORY_USED "mesos_gpu_memory_used_bytes" Gauge ["gpu", "minor"]
        "Memory of the GPU that is in use.",
        "when the sample is old, or the GPU does not tell (unified memory)";
    MEMORY_TOTAL "mesos_gpu_memory_total_bytes" Gauge ["gpu", "minor"]
        "Memory of the GPU.",
        "when the sample is old, or the GPU does not tell (unified memory)";
    POWER "mesos_gpu_power_watts" Gauge ["gpu", "minor"]
        "What the GPU draws.",
        "when the sample is old, or the GPU does not tell";
    TEMPERATURE "mesos_gpu_temperature_celsius" Gauge ["gpu", "minor"]
        "How warm the GPU is.",
        "when the sample is old, or the GPU does not tell";
    SAMPLE_AGE "mesos_gpu_sample_age_seconds" Gauge ["gpu", "minor"]
        "How long before this file was written NVML was asked for what it told last of the GPU.",
        "before the first answer";
    CONTAINER_GPU "mesos_gpu_container_gpu" Gauge ["container", "framework", "executor", "gpu", "minor", "use"]
        "1, for each GPU that a container holds or is a guest on.",
        "when the container has ended";
    CONTAINER_WAITING "mesos_gpu_container_waiting" Gauge ["container", "framework", "executor"]
        "GPUs that the container waits for.",
        "when it does not wait";
    CONTAINER_UTILIZATION "mesos_gpu_container_utilization_ratio" Gauge ["container", "framework", "executor", "gpu", "minor"]
        "Share of the time since the sample before in which the container's processes computed on the GPU, from 0 to 1.",
        "when the container has ended, the sample is old, or it is not known of every process (MIG)";
    CONTAINER_MEMORY "mesos_gpu_container_memory_used_bytes" Gauge ["container", "framework", "executor", "gpu", "minor"]
        "Memory of the GPU that the container's processes hold.",
        "when the container has ended, the sample is old, or it is not known of every process (MIG)";
    CALLS "mesos_gpu_calls_total" Counter ["call"]
        "Calls of Mesos to the module.",
        "never";
    CALL_FAILURES "mesos_gpu_call_failures_total" Counter ["call", "reason"]
        "Calls that failed.",
        "never";
    CALL_DURATION "mesos_gpu_call_duration_seconds" Histogram ["call"]
        "How long Mesos waited for the module's answer.",
        "of watch, which has no answer while all is well";
}
