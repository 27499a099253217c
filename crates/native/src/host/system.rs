//! System calls as they are, whatever functions of the C library were replaced.
//!
//! They are made by the C library, which is the one place where [`dispatch`](crate::host::dispatch) does not
//! see them.

use std::ffi::{c_int, c_long};

use super::mode;
use crate::abi::real::real;

/// Makes a system call; returns its result, or an error as a negative number. `errno` of the caller is
/// preserved.
///
/// # Safety
///
/// That of the call.
pub(crate) unsafe fn call(number: c_long, arguments: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    type Word = usize;
    let syscall = real!(fn syscall(c_long, Word, Word, Word, Word, Word, Word) -> isize);
    let before = mode::errno();
    // SAFETY: what the system call demands of its arguments is what the caller promises.
    let result = unsafe { syscall(number, first, second, third, fourth, fifth, sixth) };
    let result = match result {
        -1 => -(mode::errno() as isize),
        result => result,
    };
    mode::set_errno(before);
    result
}

/// Converts the result of a system call.
pub(crate) fn outcome(result: isize) -> Result<isize, c_int> {
    match result {
        -1 => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        result => Ok(result),
    }
}
