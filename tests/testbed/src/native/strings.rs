// SPDX-License-Identifier: Apache-2.0
//! Strings on their way to C: NUL-terminated, and alive for as long as a call may look at them.

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use crate::error::{Error, Tried};

/// `argc` and `argv` of a C program; the strings live as long as it.
pub(super) struct Arguments {
    _strings: Vec<CString>,
    pointers: Vec<*const c_char>,
    count: c_int,
}

impl Arguments {
    pub(super) fn new(arguments: &[String]) -> Result<Self, Error> {
        let strings = arguments
            .iter()
            .map(|text| c_string(text))
            .collect::<Result<Vec<_>, _>>()?;
        // The strings' bytes do not move when the vector that holds them does.
        let pointers = strings
            .iter()
            .map(|text| text.as_ptr())
            .chain([ptr::null()])
            .collect();
        let count = c_int::try_from(strings.len()).tried(|| "count the arguments".to_owned())?;
        Ok(Self {
            _strings: strings,
            pointers,
            count,
        })
    }

    pub(super) fn count(&self) -> c_int {
        self.count
    }

    pub(super) fn pointers(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

pub(super) fn c_string(text: &str) -> Result<CString, Error> {
    CString::new(text).tried(|| format!("hand over {text:?}"))
}

pub(super) fn c_path(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes()).tried(|| format!("hand over {}", path.display()))
}

pub(super) fn c_option(text: Option<&str>) -> Result<Option<CString>, Error> {
    text.map(c_string).transpose()
}

pub(super) fn pointer(text: Option<&CString>) -> *const c_char {
    text.map_or(ptr::null(), |text| text.as_ptr())
}
