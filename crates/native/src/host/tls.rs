//! Thread-local storage for guests: blocks with the layout of the C library's own threads.
//!
//! A block is allocated by the function with which glibc allocates its own (`_dl_allocate_tls`,
//! private, but in every version). Then the few fields of the thread's header that other code reads
//! are set. Blocks are reused in the next execution, with all variables reset to their initial
//! values.

use std::ffi::{CStr, c_char, c_void};
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::OnceLock;

use super::process_state::ProcessState;
use super::{loaded, mode};

/// Fields of the header at the thread pointer, fixed by the ABI for x86-64.
pub(crate) const SELF: [usize; 2] = [0x00, 0x10];
const MULTIPLE_THREADS: usize = 0x18;
pub(crate) const STACK_GUARD: usize = 0x28;
pub(crate) const POINTER_GUARD: usize = 0x30;
/// First thread number of guests; larger than that of any real thread.
const FIRST_NUMBER: u32 = 0x4000_0000;
/// Offset of a thread's number in its header, if the C library does not export it.
const USUAL_NUMBER: usize = 0x2d0;

const ALLOCATE: &CStr = c"_dl_allocate_tls";

/// Thread-local variables of one module, perhaps of this library: their distance before the thread
/// pointer, and their image.
struct Module {
    is_ours: bool,
    before: usize,
    image: *const u8,
    initialised: usize,
    size: usize,
}

struct Blocks {
    pointers: Vec<usize>,
    modules: Vec<Module>,
}

static BLOCKS: ProcessState<Blocks> = ProcessState::new(Blocks {
    pointers: Vec::new(),
    modules: Vec::new(),
});

/// Returns the thread pointer of the block with this number, with all variables initialised.
pub(crate) fn block(number: usize) -> usize {
    let mut blocks = BLOCKS.get();
    if blocks.modules.is_empty() {
        blocks.modules = modules();
    }
    while blocks.pointers.len() <= number {
        let number = blocks.pointers.len() as u32;
        blocks.pointers.push(allocate(number));
    }
    let pointer = blocks.pointers[number];
    for module in &blocks.modules {
        // SAFETY: the block has room for the variables of each module at its offset, which the loader has
        // assigned. The thread that used them has ended.
        unsafe {
            let variables = (pointer - module.before) as *mut u8;
            std::ptr::copy_nonoverlapping(module.image, variables, module.initialised);
            let rest = module.size - module.initialised;
            variables.add(module.initialised).write_bytes(0, rest);
        }
    }
    pointer
}

fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: `dlsym` needs a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Returns the offset of a thread's number in its header.
pub(crate) fn number_field() -> usize {
    let description = symbol(c"_thread_db_pthread_tid").cast::<[u32; 3]>();
    match description.is_null() {
        true => USUAL_NUMBER,
        // SAFETY: the symbol is an array of three numbers for debuggers: size, count and offset of the field.
        false => unsafe { (*description)[2] as usize },
    }
}

/// True if the C library allocates blocks for others.
pub(crate) fn is_known() -> bool {
    !symbol(ALLOCATE).is_null()
}

fn allocate(number: u32) -> usize {
    type Allocate = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
    let allocate = symbol(ALLOCATE);
    assert!(!allocate.is_null(), "raddle: not a C library that is known");
    // SAFETY: glibc's function of this name has this type. The block is as large as that of a real thread, so
    // that its header has these fields.
    unsafe {
        let allocate: Allocate = std::mem::transmute(allocate);
        let pointer = allocate(null_mut()) as usize;
        assert!(pointer != 0, "raddle: no memory for a thread");
        let word = |field: usize| (pointer + field) as *mut usize;
        for field in SELF {
            word(field).write(pointer);
        }
        for guard in [STACK_GUARD, POINTER_GUARD] {
            word(guard).write(((mode::host_pointer() + guard) as *const usize).read());
        }
        ((pointer + MULTIPLE_THREADS) as *mut u32).write(1);
        ((pointer + number_field()) as *mut u32).write(FIRST_NUMBER + number);
        pointer
    }
}

fn modules() -> Vec<Module> {
    let mut list = Vec::new();
    loaded::each(|module| {
        if let Some(variables) = module.header(libc::PT_TLS)
            && let Some(start) = module.thread_local()
        {
            list.push(Module {
                is_ours: module.is_ours(),
                before: mode::host_pointer() - start,
                image: module.range(variables).start as *const u8,
                initialised: variables.p_filesz as usize,
                size: variables.p_memsz as usize,
            });
        }
    });
    list
}

impl Module {
    /// Returns the range of its variables in the block of the thread that runs the check.
    fn of_host(&self) -> Range<usize> {
        let start = mode::host_pointer() - self.before;
        start..start + self.size
    }
}

/// Returns the range of this library's variables in the block of the thread that runs the check.
pub(crate) fn own() -> Range<usize> {
    let own = modules().into_iter().find(|module| module.is_ours);
    own.map_or(0..0, |module| module.of_host())
}

/// Returns the ranges of variables in the first thread's block, without this library's own.
pub(crate) fn variables() -> Vec<Range<usize>> {
    let others = modules().into_iter().filter(|module| !module.is_ours);
    others.map(|module| module.of_host()).collect()
}

/// Returns the range of all variables of the thread with this thread pointer.
pub(crate) fn variables_of(pointer: usize) -> Range<usize> {
    let longest = modules().iter().map(|module| module.before).max();
    pointer - longest.unwrap_or(0)..pointer
}

/// Returns the start of the block of the thread that runs the check.
pub(crate) fn start() -> usize {
    variables_of(mode::host_pointer()).start
}

/// In guest mode, at the beginning of a thread: initialises the variables that the C library initialises in
/// its own threads.
pub(crate) fn prepare() {
    unsafe extern "C" {
        fn __ctype_init();
    }
    // SAFETY: `__ctype_init` has no precondition: it sets variables of the calling thread.
    unsafe { __ctype_init() };
}

/// Clears the C library's flag that the process has one thread. Threads of the program are not
/// known to the C library, and with the flag set counters of shared pointers are not atomic.
pub(crate) fn claim_threads() {
    static FOUND: OnceLock<usize> = OnceLock::new();
    let single = *FOUND.get_or_init(|| symbol(c"__libc_single_threaded") as usize);
    if single != 0 {
        // SAFETY: the symbol is a variable of this type, and no other thread runs yet.
        unsafe { (single as *mut c_char).write(0) };
    }
}
