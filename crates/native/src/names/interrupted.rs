//! Position of a thread that makes no progress: in the program's own code, or in a call out of it.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::OnceLock;

use crate::host::loaded;

const PAGE: usize = 4096;
/// Number of pages of the stack that are searched.
const PAGES: usize = 16;

/// Code of the program.
static CODE: OnceLock<Vec<Range<usize>>> = OnceLock::new();

/// Finds the program's code, at the beginning of a check.
pub(crate) fn prepare() {
    CODE.get_or_init(find_code);
}

fn is_code(address: usize) -> bool {
    let code = CODE.get().map_or(&[][..], Vec::as_slice);
    code.iter().any(|range| range.contains(&address))
}

/// In a signal handler: returns the interrupted instruction if it is the program's, and otherwise
/// the first call out of the program on the stack.
pub(crate) fn interrupted(context: *mut c_void) -> usize {
    if context.is_null() {
        return 0;
    }
    // SAFETY: callers pass the context of a signal handler, which the kernel fills in and keeps until the
    // handler returns.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let at = registers[libc::REG_RIP as usize] as usize;
    if is_code(at) {
        return at + 1;
    }
    let mut top = (registers[libc::REG_RSP as usize] as usize).next_multiple_of(size_of::<usize>());
    let mut page = [0usize; PAGE / size_of::<usize>()];
    for _ in 0..PAGES {
        let size = PAGE - top % PAGE;
        if !read(top, &mut page, size) {
            break;
        }
        let words = &page[..size / size_of::<usize>()];
        if let Some(&found) = words.iter().find(|&&word| returns_from_call(word)) {
            return found;
        }
        top += size;
    }
    0
}

/// Copies `size` bytes from an address; returns false if they are not mapped.
fn read(from: usize, to: &mut [usize], size: usize) -> bool {
    let remote = libc::iovec {
        iov_base: from as *mut c_void,
        iov_len: size,
    };
    let local = libc::iovec {
        iov_base: to.as_mut_ptr().cast(),
        iov_len: size.min(size_of_val(to)),
    };
    // SAFETY: the kernel reads this process, as far as memory is mapped, and writes at most as many bytes as
    // the slice has.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    copied == size as isize
}

/// True if an address is after a call in the program's code.
fn returns_from_call(address: usize) -> bool {
    const LONGEST: usize = 6;
    if !is_code(address) || !is_code(address.wrapping_sub(LONGEST)) {
        return false;
    }
    // SAFETY: the bytes are mapped and readable: the address is in code, and `LONGEST` bytes further than its
    // beginning.
    let before = unsafe { std::slice::from_raw_parts((address - LONGEST) as *const u8, LONGEST) };
    // Direct call, call through memory, or call through a register.
    before[1] == 0xe8
        || before[..2] == [0xff, 0x15]
        || before[4] == 0xff && (0xd0..0xd8).contains(&before[5])
}

fn find_code() -> Vec<Range<usize>> {
    let mut list = Vec::new();
    loaded::each(|module| {
        if module.is_users() && !module.name().starts_with("linux-vdso") {
            list.extend(module.code());
        }
    });
    list
}
