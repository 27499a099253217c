//! The number of this process, without a system call for each query.

use std::sync::OnceLock;

use super::arena;

const PAGE: usize = 4096;

/// Address of a page with the number, which is 0 in a forked process; 0 where the kernel does not support such
/// pages.
static NUMBER: OnceLock<usize> = OnceLock::new();

/// Returns the number of this process.
pub(crate) fn get() -> libc::pid_t {
    let page = *NUMBER.get_or_init(map) as *mut libc::pid_t;
    // SAFETY: `getpid` has no precondition. The page is mapped for ever, and only the OS thread that runs the
    // check uses it.
    unsafe {
        match page.as_mut() {
            None => libc::getpid(),
            Some(number) => {
                if *number == 0 {
                    *number = libc::getpid();
                }
                *number
            }
        }
    }
}

fn map() -> usize {
    let page = arena::map(PAGE);
    // SAFETY: the page was just mapped, and nothing else refers to it.
    let is_wiped =
        !page.is_null() && unsafe { libc::madvise(page.cast(), PAGE, libc::MADV_WIPEONFORK) } == 0;
    if is_wiped { page as usize } else { 0 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_forked_process_has_another_number() {
        let own = super::get();
        assert_eq!(own as u32, std::process::id());
        assert_eq!(super::get(), own);
        // SAFETY: the child only compares numbers and ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                let is_new = super::get() == libc::getpid() && super::get() != own;
                libc::_exit(i32::from(!is_new));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert_eq!(status, 0);
        }
    }
}
