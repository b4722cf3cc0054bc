// SPDX-License-Identifier: Apache-2.0
//! The one place where Rust calls into the C++ of `cpp/` and, through it, into Mesos.
#![allow(unsafe_code)]

pub(crate) mod allocator_bench;
pub(crate) mod allocator_race;
pub(crate) mod isolator_bench;
mod strings;

use std::ffi::{CStr, OsStr, c_char, c_int, c_long};
use std::path::Path;

use nix::libc;

use crate::base::Base;
use crate::error::{Error, Tried};
use strings::{Arguments, c_option, c_path, c_string, pointer};

/// Mirrors `testbed_Agent` in cpp/agent.cpp.
#[repr(C)]
struct Agent {
    argc: c_int,
    argv: *const *const c_char,
    id: *const c_char,
    master: *const c_char,
    work_dir: *const c_char,
    resource_estimator: *const c_char,
    qos_controller: *const c_char,
}

/// Mirrors `testbed_Master` in cpp/master.cpp.
#[repr(C)]
struct Master {
    work_dir: *const c_char,
    allocator_library: *const c_char,
    allocator_module: *const c_char,
    allocator_parameters: *const c_char,
    allocator_parameters_size: usize,
}

/// The settings of an io switchboard. Mirrors `testbed_Switchboard` in cpp/switchboard.cpp.
#[repr(C)]
struct Switchboard {
    tty: c_int,
    stdin_to: c_int,
    stdout_from: c_int,
    stdout_to: c_int,
    stderr_from: c_int,
    stderr_to: c_int,
    socket: *const c_char,
    wait_for_connection: c_int,
    heartbeat_nanoseconds: c_long,
}

unsafe extern "C" {
    fn testbed_initialize(program: *const c_char, id: *const c_char, realm: *const c_char) -> c_int;
    fn testbed_load_modules(folder: *const c_char) -> c_int;
    fn testbed_initialize_hooks(hooks: *const c_char) -> c_int;
    fn testbed_agent_id(buffer: *mut c_char, size: usize) -> c_int;
    fn testbed_agent(given: *const Agent) -> c_int;
    fn testbed_master(given: *const Master) -> c_int;
    fn testbed_containerizer_launch(argc: c_int, argv: *const *const c_char) -> c_int;
    fn testbed_network_cni_setup(argc: c_int, argv: *const *const c_char) -> c_int;
    fn testbed_io_switchboard(given: *const Switchboard) -> c_int;
}

/// Sets an environment variable for the Mesos that this process is about to run.
pub(crate) fn set_variable(name: &str, value: &OsStr) {
    // SAFETY: `set_var` requires that no other thread reads or writes the environment. `program` calls this before it
    // opens Mesos and before it starts a thread.
    unsafe { std::env::set_var(name, value) };
}

/// Removes an environment variable, as [`set_variable`].
pub(crate) fn remove_variable(name: &str) {
    // SAFETY: as in `set_variable`: `program` calls this while it has one thread.
    unsafe { std::env::remove_var(name) };
}

/// The Mesos library, open in this process with all its symbols global.
pub(crate) struct Mesos(());

impl Mesos {
    /// Opens the stubs and then the library, whose wants the stubs' names now satisfy.
    pub(crate) fn open(base: &Base) -> Result<Self, Error> {
        for path in base.libraries() {
            let name = c_path(&path)?;
            // SAFETY: `dlopen` requires a NUL-terminated path, which `name` is and stays for the call, and that the
            // library's constructors are sound: they are those of the digest-checked Mesos and of our own stubs.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
            if handle.is_null() {
                return Err(Error::new(format!("open {}", path.display()), last_dl_error()));
            }
        }
        Ok(Self(()))
    }

    /// Starts libprocess as the process `id`.
    pub(crate) fn initialize(&self, program: &str, id: &str, realm: &str) -> Result<(), Error> {
        let (program, id, realm) = (c_string(program)?, c_string(id)?, c_string(realm)?);
        // SAFETY: it takes three NUL-terminated strings that live for the call and lets no exception out.
        done("start libprocess", unsafe {
            testbed_initialize(program.as_ptr(), id.as_ptr(), realm.as_ptr())
        })
    }

    /// Loads every module manifest in `folder`.
    pub(crate) fn load_modules(&self, folder: &Path) -> Result<(), Error> {
        let folder = c_path(folder)?;
        // SAFETY: it takes a NUL-terminated string that lives for the call and lets no exception out.
        done("load modules", unsafe { testbed_load_modules(folder.as_ptr()) })
    }

    /// Initializes the hooks named in `hooks`.
    pub(crate) fn initialize_hooks(&self, hooks: &str) -> Result<(), Error> {
        let hooks = c_string(hooks)?;
        // SAFETY: it takes a NUL-terminated string that lives for the call and lets no exception out.
        done("initialize hooks", unsafe {
            testbed_initialize_hooks(hooks.as_ptr())
        })
    }

    /// The libprocess name of the next agent in this process.
    pub(crate) fn agent_id(&self) -> Result<String, Error> {
        let mut buffer = [0; 64];
        // SAFETY: it writes a NUL-terminated string of at most `size` bytes to `buffer`, which has that many.
        done("name the agent", unsafe {
            testbed_agent_id(buffer.as_mut_ptr(), buffer.len())
        })?;
        // SAFETY: success means that `buffer` holds a NUL-terminated string; it outlives the borrow.
        Ok(unsafe { CStr::from_ptr(buffer.as_ptr()) }
            .to_string_lossy()
            .into_owned())
    }

    /// Runs an agent for as long as the process lives.
    pub(crate) fn agent(
        &self,
        arguments: &[String],
        id: &str,
        master: &str,
        work_dir: &str,
        estimator: Option<&str>,
        controller: Option<&str>,
    ) -> Result<(), Error> {
        let arguments = Arguments::new(arguments)?;
        let (id, master, work_dir) = (c_string(id)?, c_string(master)?, c_string(work_dir)?);
        let (estimator, controller) = (c_option(estimator)?, c_option(controller)?);
        let given = Agent {
            argc: arguments.count(),
            argv: arguments.pointers(),
            id: id.as_ptr(),
            master: master.as_ptr(),
            work_dir: work_dir.as_ptr(),
            resource_estimator: pointer(estimator.as_ref()),
            qos_controller: pointer(controller.as_ref()),
        };
        // SAFETY: every pointer in `given` is NUL-terminated or null where null is allowed, and lives until it returns.
        done("run the agent", unsafe { testbed_agent(&given) })
    }

    /// Runs a master for as long as the process lives. `allocator` is library, module and serialized parameters.
    pub(crate) fn master(&self, work_dir: &str, allocator: Option<(&str, &str, &[u8])>) -> Result<(), Error> {
        let work_dir = c_string(work_dir)?;
        let library = c_option(allocator.map(|(library, _, _)| library))?;
        let module = c_option(allocator.map(|(_, module, _)| module))?;
        let parameters = allocator.map_or(&[][..], |(_, _, parameters)| parameters);
        let given = Master {
            work_dir: work_dir.as_ptr(),
            allocator_library: pointer(library.as_ref()),
            allocator_module: pointer(module.as_ref()),
            allocator_parameters: parameters.as_ptr().cast(),
            allocator_parameters_size: parameters.len(),
        };
        // SAFETY: every string in `given` is NUL-terminated or null where null is allowed, the parameters have the
        // length given with them, and all of them live until it returns.
        done("run the master", unsafe { testbed_master(&given) })
    }

    /// `mesos-containerizer launch`; the answer is the exit status.
    pub(crate) fn containerizer_launch(&self, arguments: &[String]) -> Result<c_int, Error> {
        let arguments = Arguments::new(arguments)?;
        // SAFETY: it takes `argc` NUL-terminated strings that live until it returns and lets no exception out.
        Ok(unsafe { testbed_containerizer_launch(arguments.count(), arguments.pointers()) })
    }

    /// `mesos-containerizer network-cni-setup`; the answer is the exit status.
    pub(crate) fn network_cni_setup(&self, arguments: &[String]) -> Result<c_int, Error> {
        let arguments = Arguments::new(arguments)?;
        // SAFETY: as in `containerizer_launch`.
        Ok(unsafe { testbed_network_cni_setup(arguments.count(), arguments.pointers()) })
    }

    /// Runs an io switchboard; it ends the process itself when it succeeds.
    pub(crate) fn io_switchboard(
        &self,
        given: &crate::program::switchboard::Settings,
    ) -> Result<c_int, Error> {
        let socket = c_string(&given.socket)?;
        let given = Switchboard {
            tty: given.tty.into(),
            stdin_to: given.stdin_to,
            stdout_from: given.stdout_from,
            stdout_to: given.stdout_to,
            stderr_from: given.stderr_from,
            stderr_to: given.stderr_to,
            socket: socket.as_ptr(),
            wait_for_connection: given.wait_for_connection.into(),
            heartbeat_nanoseconds: given
                .heartbeat
                .map_or(Ok(0), |time| c_long::try_from(time.as_nanos()))
                .tried(|| "take --heartbeat_interval".to_owned())?,
        };
        // SAFETY: `given` and its one NUL-terminated string live until it returns, and it lets no exception out.
        Ok(unsafe { testbed_io_switchboard(&given) })
    }
}

fn done(what: &str, status: c_int) -> Result<(), Error> {
    match status {
        0 => Ok(()),
        _ => Err(Error::new(what, "see the line above")),
    }
}

fn last_dl_error() -> String {
    // SAFETY: `dlerror` may be called at any time; it answers null or a NUL-terminated string that stays until this
    // thread's next call of a dl function, and is copied before that.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "unknown error".to_owned()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}
