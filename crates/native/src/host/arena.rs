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
/// Bytes that are requested from the system at once.
const CHUNK: usize = 4 << 20;
const PAGE: usize = 4096;

/// The allocator.
pub(crate) struct Arena;

struct Pieces {
    free: [*mut u8; (LARGEST - SMALLEST + 1) as usize],
    next: usize,
    end: usize,
}

// SAFETY: the list owns its free pieces, to which nothing else refers.
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

/// Requests zeroed memory for raddle from the system; null if there is none.
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

/// Returns memory from [`map`] to the system.
pub(crate) fn unmap(range: Range<usize>) {
    MAPPED.with(|mapped| {
        let known = mapped.iter_mut().find(|known| known.0 == range.start);
        known.map(std::mem::take);
    });
    // SAFETY: the range was mapped by `map`, and the caller gives it up.
    unsafe { libc::munmap(range.start as *mut _, range.len()) };
}

/// Requests zeroed memory for the program from the system; null if there is none. The kernel
/// provides pages at their first use.
pub(crate) fn map_for_program(size: usize) -> *mut u8 {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let no_file = usize::MAX;
    let arguments = [0, size, protection as usize, flags as usize, no_file, 0];
    // Not by `mmap`, which would take it for a request of the program if a guest runs.
    // SAFETY: without MAP_FIXED, `mmap` touches no memory that is in use.
    match unsafe { system::call(libc::SYS_mmap, arguments) } {
        ..0 => null_mut(),
        memory => memory as *mut u8,
    }
}

/// Bytes that raddle has mapped.
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
        // SAFETY: `write` reads as many bytes as the text has, and `_exit` has no precondition.
        unsafe {
            libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len());
            libc::_exit(2);
        }
    }
    memory
}

/// Returns the limit of raddle's memory in bytes: half of the machine's, so that other processes
/// keep the rest.
fn most() -> usize {
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let mut most = MOST.load(Ordering::Relaxed);
    if most == 0 {
        // SAFETY: `sysconf` has no precondition.
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
            // SAFETY: a piece in the list is free, and begins with the address of the next, which `give_back`
            // has written.
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
        // SAFETY: the piece is at least as large as an address, and its user gives it up.
        unsafe { piece.cast::<*mut u8>().write(*list) };
        *list = piece;
    }
}

// SAFETY: a piece is as large and as well aligned as its layout, and is not in the list while it is in use.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class(layout) {
            class @ ..=LARGEST => PIECES.with(|pieces| pieces.take(class)),
            // The kernel aligns to pages.
            _ if layout.align() > PAGE => null_mut(),
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
        // SAFETY: the caller of `realloc` promises that the size does not overflow when it is rounded up to
        // the alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if class(new) <= LARGEST && class(new) == class(layout) {
            return piece;
        }
        // SAFETY: both pieces have at least the copied size, and the old one has this layout, as
        // the caller promises.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_inputs::Inputs;

    struct Piece {
        start: *mut u8,
        layout: Layout,
        mark: u8,
    }

    impl Piece {
        fn bytes(&mut self) -> &mut [u8] {
            // SAFETY: the piece is as large as its layout, and in use by this value alone.
            unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
        }

        fn check(&mut self) {
            let mark = self.mark;
            assert!(
                self.bytes().iter().all(|&byte| byte == mark),
                "overlapping pieces"
            );
        }
    }

    #[test]
    fn pieces_are_aligned_do_not_overlap_and_keep_their_contents() {
        let mut inputs = Inputs::new(5);
        let mut pieces: Vec<Piece> = Vec::new();
        for round in 0..3_000 {
            let limit = 1 << inputs.below(22);
            let size = 1 + inputs.below(limit) as usize;
            let layout = Layout::from_size_align(size, 1 << inputs.below(12)).unwrap();
            let chosen = inputs.below(pieces.len().max(1) as u64) as usize;
            match inputs.below(5) {
                0 | 1 if pieces.len() < 64 => {
                    // SAFETY: the layout is not empty.
                    let start = unsafe { Arena.alloc(layout) };
                    assert!(!start.is_null() && (start as usize).is_multiple_of(layout.align()));
                    let mark = round as u8;
                    let mut piece = Piece {
                        start,
                        layout,
                        mark,
                    };
                    piece.bytes().fill(mark);
                    pieces.push(piece);
                }
                2 if !pieces.is_empty() => {
                    let piece = &mut pieces[chosen];
                    piece.check();
                    let before = piece.layout;
                    // SAFETY: the piece has this layout, and the new size is small.
                    piece.start = unsafe { Arena.realloc(piece.start, before, size) };
                    piece.layout = Layout::from_size_align(size, before.align()).unwrap();
                    let (mark, kept) = (piece.mark, size.min(before.size()));
                    assert!(piece.bytes()[..kept].iter().all(|&byte| byte == mark));
                    piece.bytes().fill(mark);
                }
                _ if !pieces.is_empty() => {
                    let mut piece = pieces.swap_remove(chosen);
                    piece.check();
                    // SAFETY: the piece has this layout, and is not used any more.
                    unsafe { Arena.dealloc(piece.start, piece.layout) };
                }
                _ => {}
            }
        }
    }

    #[test]
    fn an_alignment_beyond_a_page_is_refused_for_mapped_pieces() {
        let layout = Layout::from_size_align(2 << LARGEST, 2 << 20).unwrap();
        // SAFETY: the layout is not empty.
        assert!(unsafe { Arena.alloc(layout) }.is_null());
    }
}
