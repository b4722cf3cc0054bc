// SPDX-License-Identifier: Apache-2.0
//! What an NVML answered to `nvml-answers`, beside what another one did, and the simulated machine that has the same shape.

use std::fmt::Write as _;

use fake_nvml::{Gpu, Machine, Memory};

/// One call and its answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) call: String,
    /// NVML's code; -1 where the library has no such function.
    pub(super) code: i32,
    /// Whether two NVMLs must give the same value, or only the same code.
    pub(super) same: bool,
    pub(super) value: String,
    pub(super) microseconds: f64,
}

/// Reads what the program printed, in order. Calls that are made for each GPU have its index behind them.
pub(super) fn read(text: &str) -> Vec<Answer> {
    let (mut answers, mut gpu) = (Vec::new(), String::new());
    for line in text.lines() {
        if let Some(index) = line.strip_prefix("# GPU ") {
            gpu = format!(" [{index}]");
            continue;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        if let [call, code, kind, value, time] = fields[..]
            && let (Ok(code), Ok(microseconds)) = (code.parse(), time.parse())
        {
            let of_gpu = call.starts_with("nvmlDevice") || call.starts_with("nvmlEvent");
            answers.push(Answer {
                call: if of_gpu {
                    format!("{call}{gpu}")
                } else {
                    call.to_owned()
                },
                code,
                same: kind == "=",
                value: value.to_owned(),
                microseconds,
            });
        }
    }
    answers
}

/// A call to which two NVMLs answered differently.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) call: String,
    pub(super) this: String,
    pub(super) that: String,
}

/// Every difference, measured values aside.
pub(super) fn differences(these: &[Answer], those: &[Answer]) -> Vec<Difference> {
    let short = |answer: Option<&Answer>| match answer {
        None => "not asked".to_owned(),
        Some(answer) => answer.in_short(),
    };
    let mut found = Vec::new();
    for place in 0..these.len().max(those.len()) {
        let (this, that) = (these.get(place), those.get(place));
        let is_same = match (this, that) {
            (Some(this), Some(that)) => this.is_as(that),
            _ => false,
        };
        if !is_same {
            let named = this.or(that).map(|answer| answer.call.clone());
            found.push(Difference {
                call: named.unwrap_or_default(),
                this: short(this),
                that: short(that),
            });
        }
    }
    found
}

impl Answer {
    fn is_as(&self, other: &Self) -> bool {
        self.call == other.call && self.code == other.code && (!self.same || self.value == other.value)
    }

    fn in_short(&self) -> String {
        match self.code {
            -1 => "no such function".to_owned(),
            code => format!("{code} {}", self.value),
        }
    }
}

/// All answers of both, a line a call.
pub(super) fn table(these: &[Answer], those: &[Answer]) -> String {
    let mut text = format!(
        "{:<58} {:<60} {:>9}  {:<60} {:>9}\n",
        "call", "this machine: code, value", "us", "simulated: code, value", "us"
    );
    for (place, this) in these.iter().enumerate() {
        let that = those.get(place);
        let mark = if that.is_some_and(|that| this.is_as(that)) {
            ""
        } else {
            "  DIFFERS"
        };
        let (other, time) = that.map_or(("not asked".to_owned(), 0.0), |that| {
            (that.in_short(), that.microseconds)
        });
        let _ = writeln!(
            text,
            "{:<58} {:<60} {:>9.1}  {other:<60} {time:>9.1}{mark}",
            this.call,
            this.in_short(),
            this.microseconds
        );
    }
    text
}

/// The simulated machine that should answer like these answers: as many GPUs, each who it is.
pub(super) fn shape(answers: &[Answer]) -> Machine {
    let get = |call: &str| {
        let found = answers
            .iter()
            .find(|answer| answer.call == call && answer.code == 0);
        found.map(|answer| answer.value.as_str())
    };
    let count = get("nvmlDeviceGetCount_v2").and_then(|value| value.parse().ok());
    let mut machine = Machine::with_gpus(count.unwrap_or(0));
    if let Some(version) = get("nvmlSystemGetDriverVersion") {
        version.clone_into(&mut machine.driver_version);
    }
    if let Some(version) = get("nvmlSystemGetCudaDriverVersion_v2").and_then(|value| value.parse().ok()) {
        machine.cuda_version = version;
    }
    for gpu in &mut machine.gpus {
        let index = gpu.index;
        identify(gpu, &|call| get(&format!("{call} [{index}]")));
    }
    machine
}

fn identify<'a>(gpu: &mut Gpu, get: &dyn Fn(&str) -> Option<&'a str>) {
    if let Some(uuid) = get("nvmlDeviceGetUUID") {
        uuid.clone_into(&mut gpu.uuid);
    }
    if let Some(name) = get("nvmlDeviceGetName") {
        name.clone_into(&mut gpu.name);
    }
    if let Some(minor) = get("nvmlDeviceGetMinorNumber").and_then(|value| value.parse().ok()) {
        gpu.minor = minor;
    }
    // NVML writes the domain with eight digits and letters in upper case, the kernel with four and in lower case.
    if let Some(address) = get("nvmlDeviceGetPciInfo_v3") {
        gpu.pci = address.get(4..).unwrap_or(address).to_ascii_lowercase();
    }
    if let Some(total) = get("nvmlDeviceGetMemoryInfo_v2").and_then(|value| value.parse().ok()) {
        gpu.memory = Some(Memory {
            total,
            used: 0,
            free: total,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "nvmlInit_v2\t0\t=\t\t9.5\nnvmlDeviceGetCount_v2\t0\t=\t1\t1\n# GPU 0\n\
        nvmlDeviceGetUUID\t0\t=\tGPU-7\t1\nnvmlDeviceGetPciInfo_v3\t0\t=\t00000000:0F:06.0\t1\n\
        nvmlDeviceGetPowerUsage\t0\t~\t70\t1\nnvmlShutdown\t0\t=\t\t1\nnonsense\n";

    #[test]
    fn answers_are_read_and_the_shape_is_that_of_the_machine() {
        let answers = read(TOLD);
        assert_eq!(answers.len(), 6);
        let gpu = &shape(&answers).gpus[0];
        assert_eq!((gpu.uuid.as_str(), gpu.pci.as_str()), ("GPU-7", "0000:0f:06.0"));
    }

    #[test]
    fn a_measured_value_may_differ_and_nothing_else() {
        let (answers, mut others) = (read(TOLD), read(TOLD));
        others[4].value = "80".to_owned();
        assert_eq!(differences(&answers, &others), []);
        others[4].code = 3;
        others[2].value = "GPU-8".to_owned();
        others.pop();
        let found = differences(&answers, &others);
        let calls: Vec<&str> = found.iter().map(|one| one.call.as_str()).collect();
        assert_eq!(
            calls,
            [
                "nvmlDeviceGetUUID [0]",
                "nvmlDeviceGetPowerUsage [0]",
                "nvmlShutdown"
            ]
        );
        assert_eq!(table(&answers, &others).matches("DIFFERS").count(), 3);
    }
}
