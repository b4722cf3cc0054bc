// SPDX-License-Identifier: Apache-2.0
//! The pointers that C programs pass, as types: so that the functions themselves need no unsafe code, and null or a short
//! buffer is answered the same way everywhere.
//!
//! All of these types are made by the C caller only (none has a constructor here), as parameters of a call, and live no
//! longer than that call. What NVML's interface asks of the caller is therefore true of every value: it is null, or
//! points to what the parameter's type says, for as long as the call runs, and nobody else touches that meanwhile.

use crate::driver::{Answer, code};
use std::ffi::{CStr, c_char, c_uint, c_void};

/// Where one value goes.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

/// Where a text or the elements of an array go; how many fit comes as another parameter.
#[repr(transparent)]
pub(crate) struct Buffer<T>(*mut T);

/// A text that comes in.
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

/// A handle: a number in the shape of a pointer, never followed.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Handle(*mut c_void);

impl Handle {
    pub(crate) fn new(value: usize) -> Self {
        Self(std::ptr::without_provenance_mut(value))
    }

    pub(crate) fn value(self) -> usize {
        self.0.addr()
    }
}

impl<T> Out<T> {
    /// Hands `value` to the caller.
    pub(crate) fn put(&self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(code::INVALID_ARGUMENT);
        }
        // SAFETY: `write` asks for a valid, aligned address of a `T`: it is not null, so it is one (see the module).
        unsafe { self.0.write(value) };
        Ok(())
    }
}

impl Out<c_uint> {
    /// What the caller has put there: a capacity, or the version in front of a struct.
    pub(crate) fn get(&self) -> Result<c_uint, u32> {
        if self.0.is_null() {
            return Err(code::INVALID_ARGUMENT);
        }
        // SAFETY: `read` asks for an initialised `c_uint`: NVML's interface has the caller set the parameters read here.
        Ok(unsafe { self.0.read() })
    }
}

impl<T> Out<T> {
    /// The same place seen as its first field, the version that NVML's newer structs begin with. `T` is such a struct.
    pub(crate) fn version(&self) -> Out<c_uint> {
        Out(self.0.cast())
    }
}

impl Buffer<c_char> {
    /// Hands a text and its final zero to the caller, who has room for `length` bytes.
    pub(crate) fn put(&self, text: &str, length: c_uint) -> Answer {
        if self.0.is_null() {
            return Err(code::INVALID_ARGUMENT);
        }
        if usize::try_from(length).map_or(true, |length| text.len() >= length) {
            return Err(code::INSUFFICIENT_SIZE);
        }
        // SAFETY: `copy_nonoverlapping` asks for a source and a destination of that many bytes: the text has them, and
        // the buffer has `length`, which is at least one more. They cannot overlap: the text is ours.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), self.0.cast(), text.len()) };
        // SAFETY: `add` and `write` ask for an address inside the buffer: the text is shorter than `length`.
        unsafe { self.0.add(text.len()).write(0) };
        Ok(())
    }
}

impl<T: Copy> Buffer<T> {
    /// Whether the caller passed no array, which asks for the number of elements.
    pub(crate) fn is_absent(&self) -> bool {
        self.0.is_null()
    }

    /// Hands an array to the caller: `count` holds how many fit, and then how many there are.
    pub(crate) fn fill(&self, count: &Out<c_uint>, elements: &[T]) -> Answer {
        let capacity = count.get()?;
        let wanted = c_uint::try_from(elements.len()).map_err(|_| code::UNKNOWN)?;
        count.put(wanted)?;
        if wanted > capacity {
            Err(code::INSUFFICIENT_SIZE)
        } else {
            self.put_all(elements)
        }
    }

    /// Hands an array to the caller, who has room for as many elements: the function of NVML that asks has seen to it.
    pub(crate) fn put_all(&self, elements: &[T]) -> Answer {
        if elements.is_empty() {
            return Ok(());
        }
        if self.is_absent() {
            return Err(code::INVALID_ARGUMENT);
        }
        // SAFETY: `copy_nonoverlapping` asks for a source and a destination of that many elements: the slice has them,
        // and the array has room for no fewer (see above). They cannot overlap: the slice is ours.
        unsafe { std::ptr::copy_nonoverlapping(elements.as_ptr(), self.0, elements.len()) };
        Ok(())
    }
}

impl Text {
    /// The text.
    pub(crate) fn get(&self) -> Result<String, u32> {
        if self.0.is_null() {
            return Err(code::INVALID_ARGUMENT);
        }
        // SAFETY: `from_ptr` asks for a text with a final zero that stays as it is: NVML's interface asks the same, and
        // the copy is made before the call ends.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str()
            .map(str::to_owned)
            .map_err(|_| code::INVALID_ARGUMENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_an_invalid_argument_everywhere() {
        let null = Out::<c_uint>(std::ptr::null_mut());
        assert_eq!(null.put(1), Err(code::INVALID_ARGUMENT));
        assert_eq!(null.get(), Err(code::INVALID_ARGUMENT));
        assert_eq!(Text(std::ptr::null()).get(), Err(code::INVALID_ARGUMENT));
        assert_eq!(
            Buffer(std::ptr::null_mut()).put("a", 9),
            Err(code::INVALID_ARGUMENT)
        );
        let mut count = 3;
        let filled = Buffer::<u64>(std::ptr::null_mut()).fill(&Out(&raw mut count), &[1]);
        assert_eq!(filled, Err(code::INVALID_ARGUMENT));
    }

    #[test]
    fn a_buffer_that_is_too_short_is_left_alone_and_told_the_size() {
        let mut text = [7; 4];
        let buffer = Buffer(text.as_mut_ptr());
        assert_eq!(buffer.put("abcd", 4), Err(code::INSUFFICIENT_SIZE));
        assert_eq!(buffer.put("abc", 4), Ok(()));
        assert_eq!(text, [b'a', b'b', b'c', 0].map(|b| b.cast_signed()));

        let (mut array, mut count) = ([0u64; 2], 2);
        let filled = Buffer(array.as_mut_ptr()).fill(&Out(&raw mut count), &[1, 2, 3]);
        assert_eq!((filled, count, array), (Err(code::INSUFFICIENT_SIZE), 3, [0, 0]));
    }
}
