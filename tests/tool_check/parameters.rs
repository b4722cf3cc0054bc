// SPDX-License-Identifier: Apache-2.0
//! Agents whose parameters are wrong, and machines on which something is.

use super::setup::{Case, Setup, seed};
use super::tool::has_devices;
use fake_nvml::Machine;

#[test]
fn ROOT_CGROUPS_each_mistake_in_parameters_is_found_by_its_rule_with_the_cure() {
    if !has_devices() {
        return;
    }
    let cases: &[Case] = &[
        ("parameter-unknown", "error", "write release_wait", |s| {
            s.parameter("release_wiat", "1secs")
        }),
        ("parameter-wrong-value", "error", "for example 500ms", |s| {
            s.parameter("nvml_timeout", "5")
        }),
        ("parameter-repeated", "error", "give it once", |s| {
            let given = s.module(0)["parameters"].as_array_mut().unwrap();
            given.push(given[0].clone());
        }),
        ("parameters-differ", "error", "the same value to both", |s| {
            s.parameter("gpus", "0");
            s.parameter_of(1, "gpus", "1");
        }),
        ("parameters-contradict", "error", "leave the parameter out", |s| {
            s.parameter("cgroups_root", "mesos");
            s.flag("cgroups_root", "mesos_agent");
        }),
        ("parameters-not-read", "warning", "to mesos_gpu_Isolator", |s| {
            s.load("mesos_gpu_QoSController");
            s.module(2)["parameters"] = serde_json::json!([{ "key": "gpus", "value": "0" }]);
        }),
        ("gpus-not-there", "error", "mesos-gpu list", |s| {
            s.parameter("gpus", "0-3")
        }),
        ("attributes-may-change", "note", "leave \"driver\" out", |s| {
            s.parameter("attributes", "model,driver")
        }),
        ("metrics-folder", "warning", "make the folder", |s| {
            s.parameter("metrics_file", "/none/gpus.prom")
        }),
        ("job-folder", "warning", "/run/mesos-gpu/jobs", |s| {
            let file = s.world.write("jobs", "");
            s.parameter("dcgm_job_dir", &file);
        }),
        ("checkpoint-not-writable", "error", "on a disk", |s| {
            s.parameter("checkpoint_dir", "/proc/mesos-gpu")
        }),
        ("image-dir", "warning", "on which nothing else is mounted", |s| {
            let file = s.world.write("file", "");
            s.parameter("image_dir", &file);
        }),
        ("cdi-spec", "warning", "nvidia-ctk cdi generate", |s| {
            s.parameter("cdi_spec", "/none/nvidia.yaml")
        }),
        ("cdi-spec", "warning", "nvidia-ctk cdi generate", |s| {
            let file = s.world.write("cdi.yaml", "a: 1\n");
            s.parameter("cdi_spec", &file);
        }),
        ("driver-root", "warning", "leave driver_root out", |s| {
            s.parameter("driver_root", "/none")
        }),
    ];
    seed(Setup::agent, cases);
}

#[test]
fn ROOT_CGROUPS_each_fault_of_the_machine_is_found_by_its_rule_with_the_cure() {
    if !has_devices() {
        return;
    }
    let cases: &[Case] = &[
        ("driver-not-loaded", "warning", "modprobe nvidia", |s| {
            let mut machine = Machine::with_gpus(2);
            machine.driver_loaded = false;
            s.world.simulation.update(&machine).unwrap();
        }),
        ("node-missing", "warning", "nvidia-modprobe -c", |s| {
            std::fs::remove_file(s.world.simulation.dev().join("nvidia1")).unwrap();
        }),
        ("nvml-fails", "warning", "until nvidia-smi works", |s| {
            let fault = fake_nvml::Fault::code("nvmlInit_v2", 18);
            s.world
                .simulation
                .update(&Machine::with_gpus(2).fault(fault))
                .unwrap();
        }),
        ("gpu-set-aside", "warning", "the kernel's log", |s| {
            let mut machine = Machine::with_gpus(3);
            machine.gpus[2].information = Some("nothing\n".to_owned());
            s.world.simulation.update(&machine).unwrap();
        }),
        ("gpu-set-aside", "warning", "the kernel's log", |s| {
            let fault = fake_nvml::Fault::code("nvmlDeviceGetMinorNumber", 15).on_gpu(1);
            s.world
                .simulation
                .update(&Machine::with_gpus(2).fault(fault))
                .unwrap();
        }),
        ("checkpoint-in-memory", "note", "on a disk", |s| {
            s.flag("work_dir", "/dev/shm/mesos-gpu-check");
        }),
    ];
    seed(Setup::agent, cases);
}
