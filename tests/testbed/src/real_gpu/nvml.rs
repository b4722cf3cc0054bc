// SPDX-License-Identifier: Apache-2.0
//! The chapter of NVML: every answer that the module lives on, beside the simulated one's; and what the module makes of it, for
//! an idle GPU and for one that computes, held against what the kernel says.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use fake_nvml::{Machine, Process, Simulation};
use mesos_gpu::domain::estimate::Sample;
use mesos_gpu::ports::driver_proc::{DriverProc, ProcReport};
use mesos_gpu::ports::nvml::{Done, Nvml, NvmlFailure, Survey};
use mesos_gpu::system::driver_proc::ProcDriver;
use mesos_gpu::system::nvml::{DEFAULT_LIBRARY, NvmlThread};

use super::answers;
use super::findings::Findings;
use super::life::until_busy;
use super::options::Options;
use super::programs::{CUDA_CHECK, NVML_ANSWERS, NVML_WATCH, output};
use crate::error::{Error, Tried};

const LIMIT: Duration = Duration::from_secs(60);
/// How long the GPU computes, and how long NVML is watched meanwhile.
const BUSY: &str = "8";
const WATCHED: &str = "3";

/// The NVML in question.
struct Driver {
    library: PathBuf,
    proc: PathBuf,
    simulation: Option<Simulation>,
}

impl Driver {
    fn of(options: &Options, folder: &Path) -> Result<Self, Error> {
        if !options.simulate {
            return Ok(Self {
                library: DEFAULT_LIBRARY.into(),
                proc: "/proc/driver/nvidia".into(),
                simulation: None,
            });
        }
        let simulation = Simulation::lay_out(&folder.join("this"), &Machine::with_gpus(2))
            .tried(|| "lay out a machine".to_owned())?;
        Ok(Self {
            library: simulation.library(),
            proc: simulation.proc_driver().join("nvidia"),
            simulation: Some(simulation),
        })
    }
}

/// The chapter.
pub(super) fn chapter(options: &Options, findings: &mut Findings) -> Result<(), Error> {
    let scratch = tempfile::tempdir().tried(|| "make a folder".to_owned())?;
    let driver = Driver::of(options, scratch.path())?;
    compare(&driver, scratch.path(), options, findings)?;

    let nvml = NvmlThread::start(Some(driver.library.clone()), Duration::from_secs(10));
    let began = Instant::now();
    let survey = ask(|done| nvml.survey(done))?;
    findings.figure(
        "first survey, with NVML's start",
        began.elapsed().as_secs_f64() * 1e3,
        "ms",
    );
    let began = Instant::now();
    ask(|done| nvml.survey(done))?;
    findings.figure("another survey", began.elapsed().as_secs_f64() * 1e3, "ms");
    findings.note("survey", format!("{survey:?}"));
    agrees(&survey, &ProcDriver::new(driver.proc.clone()).read(), findings);
    let began = Instant::now();
    let idle = ask(|done| nvml.sample(done))?;
    findings.figure("first sample", began.elapsed().as_secs_f64() * 1e3, "ms");
    findings.note("sample of idle GPUs", format!("{idle:?}"));
    findings.check(
        "every GPU tells how it is used, and by whom",
        idle.gpus.len() == survey.gpus.len() && idle.gpus.iter().all(|gpu| gpu.processes.is_some()),
        format!("{idle:?}"),
    );
    busy(&driver, &nvml, scratch.path(), options, findings)
}

fn compare(driver: &Driver, folder: &Path, options: &Options, findings: &mut Findings) -> Result<(), Error> {
    let program = NVML_ANSWERS.write_to(folder)?;
    let asked = |library: &Path| output(Command::new(&program).arg(library), LIMIT);
    let said = asked(&driver.library)?;
    options.write_log("nvml-answers", &said)?;
    let these = answers::read(&said);
    findings.check("NVML answers to its end", said.contains("after the end"), &said);
    let machine = answers::shape(&these);
    let other = Simulation::lay_out(&folder.join("that"), &machine)
        .tried(|| "lay out a machine of the same shape".to_owned())?;
    let those = answers::read(&asked(&other.library())?);
    options.write_log("nvml-compared", &answers::table(&these, &those))?;
    let differences = answers::differences(&these, &those);
    for one in &differences {
        findings.note(
            &format!("differs: {}", one.call),
            format!("here {}; simulated {}", one.this, one.that),
        );
    }
    if options.simulate {
        let seen = format!("{differences:?}");
        findings.check(
            "a simulated NVML answers like one of its own shape",
            differences.is_empty(),
            seen,
        );
    }
    for call in [
        "nvmlInit_v2",
        "nvmlDeviceGetUUID [0]",
        "nvmlDeviceGetUtilizationRates [0]",
    ] {
        if let Some(answer) = these.iter().find(|answer| answer.call == call) {
            findings.figure(call, answer.microseconds, "us");
        }
    }
    Ok(())
}

/// What NVML and the kernel's driver both say must be the same, or the module would hand out one GPU for another.
fn agrees(survey: &Survey, proc: &ProcReport, findings: &mut Findings) {
    let by_nvml: Vec<_> = survey
        .gpus
        .iter()
        .map(|gpu| (gpu.pci, gpu.uuid.clone(), gpu.minor))
        .collect();
    let by_kernel: Vec<_> = proc
        .gpus
        .iter()
        .map(|gpu| (gpu.pci, gpu.uuid.clone(), gpu.minor))
        .collect();
    findings.check(
        "NVML and the kernel agree on every GPU",
        by_nvml == by_kernel && !by_nvml.is_empty(),
        format!("NVML: {by_nvml:?}; kernel: {by_kernel:?}"),
    );
    findings.check(
        "and on the driver's version",
        survey.driver_version.is_some() && survey.driver_version == proc.driver_version,
        format!("{:?} and {:?}", survey.driver_version, proc.driver_version),
    );
    findings.check(
        "nothing is set aside",
        survey.problems.is_empty() && proc.problems.is_empty(),
        format!("{:?} {:?}", survey.problems, proc.problems),
    );
    let whole = survey
        .gpus
        .iter()
        .all(|gpu| gpu.name.is_some() && gpu.product.brand.is_some() && gpu.processes.is_some());
    findings.check("no GPU keeps a detail to itself", whole, format!("{survey:?}"));
}

/// A process that computes on the first GPU. It ends with this.
struct Computing {
    pid: u32,
    child: Option<Child>,
}

impl Drop for Computing {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn compute(driver: &Driver, folder: &Path) -> Result<Computing, Error> {
    if let Some(simulation) = &driver.simulation {
        let (pid, mut machine) = (std::process::id(), Machine::with_gpus(2));
        machine.gpus[0].processes.push(Process {
            pid,
            used_memory: Some(1 << 29),
            sm_util: 70,
            mem_util: 0,
            gpu_instance: None,
            compute_instance: None,
        });
        let updated = simulation.update(&machine);
        updated.tried(|| "let a simulated GPU compute".to_owned())?;
        return Ok(Computing { pid, child: None });
    }
    let tried = || "let the GPU compute".to_owned();
    let said = folder.join("busy.log");
    let mut command = Command::new(CUDA_CHECK.write_to(folder)?);
    command.args(["busy", BUSY]).stdin(Stdio::null());
    let child = command
        .stdout(File::create(&said).tried(tried)?)
        .spawn()
        .tried(tried)?;
    let computing = Computing {
        pid: child.id(),
        child: Some(child),
    };
    until_busy(&said)?;
    Ok(computing)
}

fn busy(
    driver: &Driver,
    nvml: &NvmlThread,
    folder: &Path,
    options: &Options,
    findings: &mut Findings,
) -> Result<(), Error> {
    let program = NVML_WATCH.write_to(folder)?;
    let computing = compute(driver, folder)?;
    let watched = output(Command::new(program).arg(&driver.library).arg(WATCHED), LIMIT)?;
    options.write_log("nvml-watched", &watched)?;
    findings.note("process that computes", computing.pid);
    findings.note("NVML meanwhile", &watched);
    let mut samples: Vec<Sample> = Vec::new();
    for _ in 0..3 {
        samples.push(ask(|done| nvml.sample(done))?);
        std::thread::sleep(Duration::from_millis(700));
    }
    let last = samples.last().and_then(|sample| sample.gpus.first());
    findings.note("samples of a busy GPU", format!("{samples:?}"));
    let process = last.and_then(|gpu| {
        let mut all = gpu.processes.iter().flatten();
        all.find(|process| process.pid == computing.pid)
    });
    findings.check(
        "the process that computes is listed by its number here, with its memory",
        process.is_some_and(|process| process.memory.is_some_and(|bytes| bytes > 0)),
        format!("{last:?}"),
    );
    findings.check(
        "and with a share of the GPU",
        process.is_some_and(|process| process.utilization.is_some_and(|share| share.get() > 0)),
        format!("{last:?}"),
    );
    let survey = ask(|done| nvml.survey(done))?;
    let listed = survey
        .gpus
        .first()
        .and_then(|gpu| gpu.processes.clone())
        .unwrap_or_default();
    findings.check(
        "a survey lists it too",
        listed.contains(&computing.pid),
        format!("{listed:?}"),
    );
    Ok(())
}

fn ask<T: Send + 'static>(question: impl FnOnce(Done<T>)) -> Result<T, Error> {
    let (to, answer) = mpsc::channel();
    question(Box::new(move |told: Result<T, NvmlFailure>| {
        let _ = to.send(told);
    }));
    let tried = || "ask NVML as the module does".to_owned();
    answer.recv_timeout(LIMIT).tried(tried)?.tried(tried)
}
