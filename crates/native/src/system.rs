//! System calls, without the C library: some of its functions were replaced, and it keeps their errors
//! in thread-local storage.

use std::arch::asm;

/// Makes a system call; what it returns, or an error as a negative number.
///
/// # Safety
///
/// That of the call.
#[inline]
pub(crate) unsafe fn call(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result;
    // SAFETY: vouched for by the caller.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r9") sixth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}
