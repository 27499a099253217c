//! System calls without the interposed functions of the C library.
//!
//! They are made inside the C library, where [`dispatch`](crate::host::dispatch) does not intercept
//! them.

use std::ffi::{c_int, c_long};

use super::mode;
use crate::abi::real::real;

/// Makes a system call; returns its result, or an error as a negative number. `errno` of the caller is
/// preserved.
///
/// # Safety
///
/// The requirements of the system call on its arguments must hold.
pub(crate) unsafe fn call(number: c_long, arguments: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    type Word = usize;
    let syscall = real!(fn syscall(c_long, Word, Word, Word, Word, Word, Word) -> isize);
    let before = mode::errno();
    // SAFETY: the caller promises the requirements of the system call on its arguments.
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
