//! Memory for raddle itself. It is apart from the program's, so that neither disturbs the other and the
//! program's memory can be restored.
//!
//! Sizes are powers of two with a free list for each; larger pieces are mapped one by one. Uses no
//! thread-local storage and no lock of the C library.

use std::alloc::{GlobalAlloc, Layout};
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lock::Lock;
use super::{shared_memory, system};

/// The smallest and the largest piece that is kept, as powers of two.
const SMALLEST: u32 = 4;
const LARGEST: u32 = 20;
/// Number of bytes that are asked of the system at once.
const CHUNK: usize = 4 << 20;

/// The allocator.
pub(crate) struct Arena;

struct Pieces {
    free: [*mut u8; (LARGEST - SMALLEST + 1) as usize],
    next: usize,
    end: usize,
}

// SAFETY: free pieces are nobody's but those who have the list.
unsafe impl Send for Pieces {}

static PIECES: Lock<Pieces> = Lock::new(Pieces {
    free: [null_mut(); (LARGEST - SMALLEST + 1) as usize],
    next: 0,
    end: 0,
});

/// Maximum number of mappings that are recorded; a fixed array, since the allocator itself needs it.
const KNOWN: usize = 4096;
/// Start and size of each mapping; free entries have size 0.
static MAPPED: Lock<[(usize, usize); KNOWN]> = Lock::new([(0, 0); KNOWN]);

/// Returns the mappings for raddle so far.
pub(crate) fn mapped() -> [(usize, usize); KNOWN] {
    MAPPED.with(|mapped| *mapped)
}

/// Asks the system for zeroed memory for raddle; null if there is none.
pub(crate) fn map(size: usize) -> *mut u8 {
    if shared_memory::is_used() {
        return shared_memory::map(size) as *mut u8;
    }
    let memory = map_for_program(size);
    MAPPED.with(|mapped| {
        if let Some(free) = mapped.iter_mut().find(|free| free.1 == 0) {
            *free = (memory as usize, size);
        }
    });
    memory
}

/// Gives back memory from [`map`].
pub(crate) fn unmap(range: Range<usize>) {
    MAPPED.with(|mapped| {
        let known = mapped.iter_mut().find(|known| known.0 == range.start);
        known.map(std::mem::take);
    });
    // SAFETY: mapped for this, and nobody uses it any more.
    unsafe { libc::munmap(range.start as *mut _, range.len()) };
}

/// Asks the system for zeroed memory for the program; null if there is none. Pages are only there once
/// they are used.
pub(crate) fn map_for_program(size: usize) -> *mut u8 {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let no_file = usize::MAX;
    let arguments = [0, size, protection as usize, flags as usize, no_file, 0];
    // Not by `mmap`, which would take it for the program's wish if a guest runs.
    // SAFETY: asks for new memory.
    match unsafe { system::call(libc::SYS_mmap, arguments) } {
        ..0 => null_mut(),
        memory => memory as *mut u8,
    }
}

/// How much raddle has.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// As [`map`], for the allocator. Without memory raddle cannot even report a failure, so it prints a message
/// and ends the process.
fn map_own(size: usize) -> *mut u8 {
    let held = HELD.fetch_add(size, Ordering::Relaxed) + size;
    let memory = match held <= most() {
        true => map(size),
        false => null_mut(),
    };
    if memory.is_null() {
        const WORDS: &[u8] =
            b"raddle: there is no memory left to write down what the program does\n  \
            help: let the check use less memory, or run fewer executions (RADDLE_MAX_EXECUTIONS)\n";
        // SAFETY: writes a text, and ends the process without asking anybody.
        unsafe {
            libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len());
            libc::_exit(2);
        }
    }
    memory
}

/// Half of the machine's memory, so that other processes keep the rest.
fn most() -> usize {
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let mut most = MOST.load(Ordering::Relaxed);
    if most == 0 {
        // SAFETY: asks the C library.
        let (pages, size) = unsafe {
            (
                libc::sysconf(libc::_SC_PHYS_PAGES),
                libc::sysconf(libc::_SC_PAGESIZE),
            )
        };
        let all = usize::try_from(pages.saturating_mul(size)).unwrap_or(0);
        most = if all == 0 { usize::MAX } else { all / 2 };
        MOST.store(most, Ordering::Relaxed);
    }
    most
}

fn class(layout: Layout) -> u32 {
    let size = layout.size().max(layout.align()).max(1 << SMALLEST);
    size.next_power_of_two().trailing_zeros()
}

impl Pieces {
    fn take(&mut self, class: u32) -> *mut u8 {
        let list = &mut self.free[(class - SMALLEST) as usize];
        if !list.is_null() {
            let piece = *list;
            // SAFETY: a free piece begins with the address of the next.
            *list = unsafe { piece.cast::<*mut u8>().read() };
            return piece;
        }
        let size = 1usize << class;
        let start = self.next.next_multiple_of(size);
        if start + size > self.end {
            let chunk = map_own(CHUNK);
            self.next = chunk as usize;
            self.end = self.next + CHUNK;
            return self.take(class);
        }
        self.next = start + size;
        start as *mut u8
    }

    fn give_back(&mut self, piece: *mut u8, class: u32) {
        let list = &mut self.free[(class - SMALLEST) as usize];
        // SAFETY: the piece is at least as large as an address, and nobody uses it.
        unsafe { piece.cast::<*mut u8>().write(*list) };
        *list = piece;
    }
}

// SAFETY: pieces are as large and as well aligned as was asked for, and are given to one at a time.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class(layout) {
            class @ ..=LARGEST => PIECES.with(|pieces| pieces.take(class)),
            _ => map_own(layout.size().max(layout.align())),
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match class(layout) {
            class @ ..=LARGEST => PIECES.with(|pieces| pieces.give_back(piece, class)),
            _ => {
                let (start, size) = (piece as usize, layout.size().max(layout.align()));
                HELD.fetch_sub(size, Ordering::Relaxed);
                unmap(start..start + size);
            }
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller vouches for the new size.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if class(new) <= LARGEST && class(new) == class(layout) {
            return piece;
        }
        // SAFETY: both pieces are at least as large as what is copied.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(piece, moved, size.min(layout.size()));
                self.dealloc(piece, layout);
            }
            moved
        }
    }
}
