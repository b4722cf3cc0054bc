// SPDX-License-Identifier: Apache-2.0
//! A module record as Mesos gets at it: `dlopen` the library, `dlsym` the module's name, read eight pointers.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;

use nix::libc;

/// The first six pointers of a record, which are texts, in the order in which Mesos reads them.
pub const TEXTS: [&str; 6] = [
    "moduleApiVersion",
    "mesosVersion",
    "kind",
    "authorName",
    "authorEmail",
    "description",
];

/// An opened library. It stays open: Mesos does not close one either, and the threads that it starts could not survive it.
pub struct Opened(*mut c_void);

/// What Mesos reads of a module.
#[derive(Debug)]
pub struct Record {
    /// By the place in [`TEXTS`]; none where the pointer is null.
    pub texts: [Option<String>; 6],
    pub has_check: bool,
    pub has_factory: bool,
}

impl Opened {
    /// Opens as Mesos does, every reference bound at once, but in a process that has no Mesos.
    pub fn open(library: &Path) -> Result<Self, String> {
        let path = CString::new(library.to_str().unwrap()).unwrap();
        // SAFETY: `dlopen` requires a NUL-terminated path, which `path` is and stays for the call, and that the
        // library's constructors are sound: they are ours, and C++'s own.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            Err(last_error())
        } else {
            Ok(Self(handle))
        }
    }

    /// The record of a module.
    pub fn record(&self, module: &str) -> Result<Record, String> {
        let name = CString::new(module).unwrap();
        // SAFETY: `dlsym` requires a handle from `dlopen`, which is never closed here, and a NUL-terminated name.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if address.is_null() {
            return Err(last_error());
        }
        // SAFETY: the caller names a module, so this is the address of a record: eight pointers, whose size and order
        // cpp/module_record.cpp proves when it is compiled; nothing writes them, and the library stays open.
        let words = unsafe { address.cast::<[*const c_char; 8]>().read() };
        let text = |word: *const c_char| {
            // SAFETY: a text of a record that is not null is a NUL-terminated constant of a library that stays open.
            (!word.is_null()).then(|| unsafe { CStr::from_ptr(word) }.to_string_lossy().into_owned())
        };
        Ok(Record {
            texts: std::array::from_fn(|i| text(words[i])),
            has_check: !words[6].is_null(),
            has_factory: !words[7].is_null(),
        })
    }
}

fn last_error() -> String {
    // SAFETY: `dlerror` answers null or a NUL-terminated text that stays until this thread's next call of a dl function,
    // and it is copied before that.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "unknown error".to_owned()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}
