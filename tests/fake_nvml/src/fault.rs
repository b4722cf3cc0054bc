// SPDX-License-Identifier: Apache-2.0
//! What is wrong with a call, asked anew while the call waits: a test must be able to lift a hang that it caused.

use crate::machine::{Fault, Machine};
use std::sync::Arc;
use std::time::Duration;

/// How often a hanging call looks whether it still has to.
pub(crate) const TICK: Duration = Duration::from_millis(5);

impl Fault {
    fn applies(&self, function: &str, gpu: Option<u32>) -> bool {
        let named =
            self.function == "*" || self.function == function || self.function == without_version(function);
        named && (self.gpu.is_none() || self.gpu == gpu)
    }
}

impl Machine {
    /// The first fault that applies to this call.
    pub(crate) fn fault_of(&self, function: &str, gpu: Option<u32>) -> Option<&Fault> {
        self.faults.iter().find(|fault| fault.applies(function, gpu))
    }
}

/// Lets the faults of a call happen. `look` gives the machine as it is now.
///
/// # Errors
/// The code that the call has to return.
pub(crate) fn suffer(
    function: &str,
    gpu: Option<u32>,
    mut look: impl FnMut() -> Result<Arc<Machine>, u32>,
) -> Result<Arc<Machine>, u32> {
    loop {
        let machine = look()?;
        match machine.fault_of(function, gpu) {
            None => return Ok(machine),
            Some(fault) if fault.hang => std::thread::sleep(TICK),
            Some(fault) => {
                std::thread::sleep(Duration::from_millis(fault.delay_ms));
                return if fault.code == 0 { look() } else { Err(fault.code) };
            }
        }
    }
}

/// `nvmlInit` of `nvmlInit_v2`.
fn without_version(function: &str) -> &str {
    match function.rsplit_once("_v") {
        Some((base, version)) if version.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => function,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_applies_to_its_function_and_gpu_only() {
        let every = Fault::code("nvmlDeviceGetMemoryInfo", 15);
        assert!(every.applies("nvmlDeviceGetMemoryInfo", Some(0)));
        assert!(every.applies("nvmlDeviceGetMemoryInfo_v2", None));
        assert!(!every.applies("nvmlDeviceGetMemoryBusWidth", None));

        let second = Fault::code("nvmlDeviceGetMemoryInfo_v2", 15).on_gpu(1);
        assert!(second.applies("nvmlDeviceGetMemoryInfo_v2", Some(1)));
        assert!(!second.applies("nvmlDeviceGetMemoryInfo_v2", Some(0)));
        assert!(!second.applies("nvmlDeviceGetMemoryInfo_v2", None));
        assert!(!second.applies("nvmlDeviceGetMemoryInfo", Some(1)));

        assert!(
            Fault::code("*", 15)
                .on_gpu(1)
                .applies("nvmlDeviceGetName", Some(1))
        );
        assert!(!Fault::code("*", 15).on_gpu(1).applies("nvmlInit_v2", None));
    }

    #[test]
    fn a_hang_ends_when_the_fault_is_lifted() {
        let mut looks = 0;
        let after = suffer("nvmlInit_v2", None, || {
            looks += 1;
            let sick = Machine::default().fault(Fault::hang("nvmlInit"));
            Ok(Arc::new(if looks < 3 { sick } else { Machine::default() }))
        });
        assert_eq!((after.is_ok(), looks), (true, 3));
    }
}
