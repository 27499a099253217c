//! Plain accesses of memory: they are no operations, but must be in order with each other.
//!
//! Memory is known by pieces of words, each a cell of the engine's. At first a piece is what an access
//! covers; when another access covers only a part of it, the piece is split, and both parts have the
//! same past. So two threads that use different bytes of a word never meet.
//!
//! What a signal handler does while it interrupts this is not seen.
//!
//! These functions stay in guest mode, which is cheap: nothing here may use thread-local storage or
//! let others run. A second access of the same kind, with nothing in between that others could notice,
//! is told by a small table before anything else happens.

use raddle_engine::CellId;

use crate::addresses::Table;
use crate::execution::running;
use crate::mode::{epoch, is_guest};
use crate::solo::Solo;
use crate::trampoline::entry;
use crate::tsan::calls;

const WORD: usize = 8;
const KIND: &str = "memory";

/// The pieces of a word: which bytes, and the cell. They have no byte in common.
#[derive(Clone, Copy, Default)]
struct Word {
    pieces: [Option<(u8, CellId)>; WORD],
}

static WORDS: Solo<Table<Word>> = Solo::new(Table::new());

/// What was accessed lately.
#[derive(Clone, Copy)]
struct Recent {
    word: usize,
    epoch: u64,
    read: u8,
    written: u8,
}

const RECENT: usize = 1024;
static LATELY: Solo<[Recent; RECENT]> = Solo::new(
    [Recent {
        word: 0,
        epoch: 0,
        read: 0,
        written: 0,
    }; RECENT],
);

pub(crate) fn begin(stamp: u64) {
    WORDS.get().begin(stamp);
}

/// What comes next at these addresses is something else.
pub(crate) fn forget(range: std::ops::Range<usize>) {
    WORDS.get().forget(range);
}

/// The running thread accesses some bytes of one word.
#[inline]
fn access_word(word: usize, bytes: u8, writes: bool, code: usize) {
    let Some(mut lately) = LATELY.try_get() else {
        return;
    };
    let recent = &mut lately[word / WORD % RECENT];
    let now = epoch();
    if recent.word != word || recent.epoch != now {
        *recent = Recent {
            word,
            epoch: now,
            read: 0,
            written: 0,
        };
    }
    let covered = match writes {
        true => recent.written,
        false => recent.read | recent.written,
    };
    if bytes & !covered == 0 {
        return;
    }
    match writes {
        true => recent.written |= bytes,
        false => recent.read |= bytes,
    }
    access_pieces(word, bytes, writes, code);
}

fn access_pieces(address: usize, bytes: u8, writes: bool, code: usize) {
    let (native, code) = (running(), calls::users(code));
    let here = 0u8;
    if writes && !native.is_on_stack(&raw const here as usize, address) {
        native.forget_looks();
    }
    let mut words = WORDS.get();
    let word = match words.get(address) {
        Some(word) => word,
        None => words.insert(address, Word::default()),
    };
    let mut left = bytes;
    for index in 0..WORD {
        let Some((piece, cell)) = word.pieces[index] else {
            if left != 0 {
                let cell = native.add_cell(KIND, address + left.trailing_zeros() as usize);
                word.pieces[index] = Some((left, cell));
                native.access(cell, writes, code);
            }
            return;
        };
        let common = piece & left;
        if common == 0 {
            continue;
        }
        left &= !common;
        let rest = piece & !common;
        if rest != 0 {
            let address = address + rest.trailing_zeros() as usize;
            let other = native.split_cell(KIND, address, cell);
            word.pieces[index] = Some((common, cell));
            let free = word.pieces.iter_mut().find(|piece| piece.is_none());
            *free.expect("raddle: a word has eight bytes") = Some((rest, other));
        }
        native.access(cell, writes, code);
        if left == 0 {
            return;
        }
    }
}

/// The running thread accesses so many bytes.
#[inline]
pub(crate) fn access_range(address: usize, size: usize, writes: bool, code: usize) {
    if size == 0 || !is_guest() {
        return;
    }
    let end = address.saturating_add(size);
    let mut word = address & !(WORD - 1);
    while word < end {
        let mut bytes = u8::MAX;
        if word < address {
            bytes &= u8::MAX << (address - word);
        }
        if end - word < WORD {
            bytes &= u8::MAX >> (WORD - (end - word));
        }
        access_word(word, bytes, writes, code);
        word += WORD;
    }
}

/// The functions for accesses of each size.
macro_rules! accesses {
    ($($($name:ident)*, $inner:ident: $writes:literal, $size:literal;)*) => {
        $(
            extern "C" fn $inner(address: usize, code: usize) {
                access_range(address, $size, $writes, code);
            }
            entry! {
                $(fn $name(address: usize) -> () as $inner("rsi");)*
            }
        )*
    };
}

accesses! {
    __tsan_read1 __tsan_volatile_read1 __tsan_unaligned_volatile_read1, read1: false, 1;
    __tsan_read2 __tsan_unaligned_read2 __tsan_volatile_read2 __tsan_unaligned_volatile_read2,
        read2: false, 2;
    __tsan_read4 __tsan_unaligned_read4 __tsan_volatile_read4 __tsan_unaligned_volatile_read4,
        read4: false, 4;
    __tsan_read8 __tsan_unaligned_read8 __tsan_volatile_read8 __tsan_unaligned_volatile_read8
        __tsan_vptr_read, read8: false, 8;
    __tsan_read16 __tsan_unaligned_read16 __tsan_volatile_read16 __tsan_unaligned_volatile_read16,
        read16: false, 16;
    __tsan_write1 __tsan_volatile_write1 __tsan_unaligned_volatile_write1
        __tsan_read_write1, write1: true, 1;
    __tsan_write2 __tsan_unaligned_write2 __tsan_volatile_write2 __tsan_unaligned_volatile_write2
        __tsan_read_write2 __tsan_unaligned_read_write2, write2: true, 2;
    __tsan_write4 __tsan_unaligned_write4 __tsan_volatile_write4 __tsan_unaligned_volatile_write4
        __tsan_read_write4 __tsan_unaligned_read_write4, write4: true, 4;
    __tsan_write8 __tsan_unaligned_write8 __tsan_volatile_write8 __tsan_unaligned_volatile_write8
        __tsan_read_write8 __tsan_unaligned_read_write8, write8: true, 8;
    __tsan_write16 __tsan_unaligned_write16 __tsan_volatile_write16 __tsan_unaligned_volatile_write16
        __tsan_read_write16 __tsan_unaligned_read_write16, write16: true, 16;
}

entry! {
    fn __tsan_read_range(address: usize, size: usize) -> () as read_range("rdx");
    fn __tsan_write_range(address: usize, size: usize) -> () as write_range("rdx");
    fn __tsan_vptr_update(address: usize, new: usize) -> () as update_vptr("rdx");
}

extern "C" fn read_range(address: usize, size: usize, code: usize) {
    access_range(address, size, false, code);
}

extern "C" fn write_range(address: usize, size: usize, code: usize) {
    access_range(address, size, true, code);
}

/// A constructor or destructor says which class its object is of now. To say what is so already is no
/// write.
extern "C" fn update_vptr(address: usize, new: usize, code: usize) {
    // SAFETY: the program is about to write there.
    let old = unsafe { (address as *const usize).read() };
    access_range(address, WORD, old != new, code);
}
