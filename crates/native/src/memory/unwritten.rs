//! Memory that nothing has written since it became the program's, for checks that report reads of it.
//!
//! New blocks, and the stack below the running function, are filled with a pattern that depends on the address.
//! A byte is unwritten if no instrumented write of the execution has covered it, and if all such bytes of its
//! word still have the pattern. So writes by libraries that are not instrumented are known by the contents. Such
//! a write may leave the pattern by chance, which is rare; a failure is reported only if it recurs with
//! [another pattern](use_other_pattern), which differs in every byte.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::{blocks, heap_range};
use crate::abi::alternate_stack;
use crate::abi::stack::STACK;
use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::addresses::Table;
use crate::host::mode;

const WORD: usize = 8;
const PAGE: usize = 4096;
/// Larger blocks are not filled, because that would need as much memory.
const MAX_FILLED: usize = 16 << 20;
/// Bytes of the stack that are filled below the running function.
const FILLED_STACK: usize = 4096;
/// Minimum size in bytes of a value that is recognised without a look at its neighbours.
const RECOGNISABLE: usize = 4;

const OFF: u8 = 0;
const ON: u8 = 1;
const OTHER_PATTERN: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(OFF);

/// A check begins, which reports reads of unwritten memory or does not.
pub(crate) fn begin_check(is_wanted: bool) {
    STATE.store(if is_wanted { ON } else { OFF }, Relaxed);
}

/// Uses another pattern from the next execution on, or the first one again.
pub(crate) fn use_other_pattern(is_other: bool) {
    STATE.store(if is_other { OTHER_PATTERN } else { ON }, Relaxed);
}

/// True if the check reports reads of unwritten memory.
#[inline]
pub(crate) fn is_on() -> bool {
    STATE.load(Relaxed) != OFF
}

/// The bytes of the execution that were written, of each page.
#[derive(Default)]
pub(crate) struct Written {
    pages: Table<Box<[u8; PAGE / WORD]>>,
    /// Calls and epoch when the stack was last found to be filled.
    filled: (u64, u64),
}

impl Part for Written {
    fn renew(&mut self) {
        let Written { pages, filled } = self;
        pages.clear();
        *filled = (0, 0);
    }
}

pub(crate) static WRITTEN: PartCell<Written> = PartCell::new();

impl Written {
    fn set(&mut self, range: Range<usize>, is_written: bool) {
        let mut start = range.start;
        while start < range.end {
            let page = start / PAGE;
            let end = range.end.min((page + 1) * PAGE);
            let bytes = start % PAGE..end - page * PAGE;
            match self.pages.get(page * PAGE) {
                Some(bits) => set_bits(&mut bits[..], bytes, is_written),
                None if is_written => {
                    let bits = self.pages.insert(page * PAGE, Box::new([0; PAGE / WORD]));
                    set_bits(&mut bits[..], bytes, true);
                }
                None => {}
            }
            start = end;
        }
    }

    /// Returns the bytes of a word that were written, as bits.
    fn written(&mut self, word: usize) -> u8 {
        let page = self.pages.get(word & !(PAGE - 1));
        page.map_or(0, |bits| bits[word % PAGE / WORD])
    }

    /// Returns the bytes of a word that are unwritten, as bits. `others` are bytes with other contents now.
    fn unwritten(&mut self, word: usize, extent: &Range<usize>, others: u8) -> u8 {
        let unseen = bytes_of(word, extent) & !self.written(word);
        let pattern = pattern(word).to_le_bytes();
        let mut compared = (0..WORD).filter(|byte| unseen & !others & 1 << byte != 0);
        match compared.all(|byte| read(word + byte) == pattern[byte]) {
            true => unseen,
            false => 0,
        }
    }

    fn is_unwritten(&mut self, range: &Range<usize>, extent: &Range<usize>) -> bool {
        words_of(range).all(|word| {
            let read = bytes_of(word, range);
            self.unwritten(word, extent, 0) & read == read
        })
    }

    /// True if it seems that nothing was written to the stack between these addresses since it was filled. Words
    /// are looked at whose distances from the end are powers of two: functions use the end first.
    fn is_filled(&mut self, range: &Range<usize>) -> bool {
        let distances = (1..).map(|power| WORD << power);
        let words = distances.map_while(|distance| range.end.checked_sub(distance));
        words
            .take_while(|&word| word >= range.start)
            .all(|word| self.unwritten(word, range, 0) == u8::MAX)
    }
}

/// Sets bits of a range, or clears them.
fn set_bits(bits: &mut [u8], range: Range<usize>, is_set: bool) {
    let first = range.start.next_multiple_of(8).min(range.end);
    let last = (range.end & !7).max(first);
    bits[first / 8..last / 8].fill(if is_set { u8::MAX } else { 0 });
    for bit in (range.start..first).chain(last..range.end) {
        match is_set {
            true => bits[bit / 8] |= 1 << (bit % 8),
            false => bits[bit / 8] &= !(1 << (bit % 8)),
        }
    }
}

/// Returns the words that bytes are in.
fn words_of(range: &Range<usize>) -> impl Iterator<Item = usize> + use<> {
    (range.start & !(WORD - 1)..range.end).step_by(WORD)
}

/// Returns the bytes of a word that are in a range, as bits.
fn bytes_of(word: usize, range: &Range<usize>) -> u8 {
    let bits = (0..WORD).filter(|byte| range.contains(&(word + byte)));
    bits.fold(0, |bits, byte| bits | 1 << byte)
}

/// Reads a byte of the heap or of the running thread's stack.
fn read(address: usize) -> u8 {
    // SAFETY: callers pass addresses of blocks that were not freed, or of the stack above the stack pointer, and
    // no other thread runs.
    unsafe { (address as *const u8).read_volatile() }
}

/// Returns the pattern of a word in the running execution.
fn pattern(word: usize) -> u64 {
    pattern_of(word, STATE.load(Relaxed) == OTHER_PATTERN)
}

/// Returns one of the two patterns of a word. No byte of it is ASCII.
fn pattern_of(word: usize, is_other: bool) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const OTHER: u64 = 0x2a2a_2a2a_2a2a_2a2a;
    // The finalizer of MurmurHash3 (Appleby), without its last step.
    let mut hash = word as u64;
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    match is_other {
        true => (hash | HIGH) ^ OTHER,
        false => hash | HIGH,
    }
}

fn pattern_at(address: usize) -> u8 {
    pattern(address & !(WORD - 1)).to_le_bytes()[address % WORD]
}

/// Fills memory with the pattern.
///
/// # Safety
///
/// It must be writable, and not in use.
unsafe fn write_pattern(range: Range<usize>) {
    let first = range.start.next_multiple_of(WORD).min(range.end);
    let last = (range.end & !(WORD - 1)).max(first);
    // SAFETY: all of these addresses are in the range, which is writable and not in use, as the caller promises.
    unsafe {
        for address in (range.start..first).chain(last..range.end) {
            (address as *mut u8).write(pattern_at(address));
        }
        for word in (first..last).step_by(WORD) {
            (word as *mut u64).write(pattern(word));
        }
    }
}

/// True if a new block of this size is filled with the pattern.
pub(crate) fn fills(size: usize) -> bool {
    is_on() && size <= MAX_FILLED && mode::is_guest()
}

/// Fills a new block.
///
/// # Safety
///
/// It must be as large, and not in use.
pub(crate) unsafe fn fill(start: usize, size: usize) {
    // SAFETY: as the caller promises.
    unsafe { write_pattern(start..start + size) };
}

/// In guest mode: a function is entered, or accesses memory. What it has called may have left something on the stack
/// below it, which is not in use.
#[cold]
pub(crate) fn fill_stack() {
    if !mode::is_guest() || alternate_stack::is_nested() {
        return;
    }
    // The call of raddle's function has its return address there.
    let end = alternate_stack::program_stack() & !(WORD - 1);
    let start = end.saturating_sub(FILLED_STACK).max(alternate_stack::get());
    // Raddle's functions run on the alternate stack, and the program may run on a stack of its own.
    let here = &raw const end as usize;
    let is_there = (alternate_stack::get()..running().end_of_stack()).contains(&end);
    let Some(mut written) = WRITTEN.try_get() else {
        return;
    };
    let now = (shadow_stack::changes(), mode::epoch());
    if std::mem::replace(&mut written.filled, now) == now {
        return;
    }
    if !is_there || start >= end || (start..end).contains(&here) || written.is_filled(&(start..end))
    {
        return;
    }
    // SAFETY: the stack is writable from the alternate stack up, and what is below the stack pointer of a function
    // that calls others is not in use.
    unsafe { write_pattern(start..end) };
    written.set(start..end, false);
}

/// Returns the block or the stack that bytes are in, if it was filled with the pattern.
fn extent(range: &Range<usize>) -> Option<Range<usize>> {
    if heap_range::contains(range.start) {
        let (block, offset) = blocks::find(range.start)?;
        let start = range.start - offset;
        let is_there = block.freed.is_none() && range.end <= start + block.size;
        let is_filled = block.made.1.is_some() && block.size <= MAX_FILLED;
        return (is_there && is_filled).then_some(start..start + block.size);
    }
    let end = running().end_of_stack();
    let stack = end.saturating_sub(STACK)..end;
    (stack.contains(&range.start) && range.end <= end).then_some(stack)
}

/// The running thread writes `size` bytes.
pub(crate) fn write(address: usize, size: usize) {
    if let Some(mut written) = WRITTEN.try_get() {
        written.set(address..address.saturating_add(size), true);
    }
}

/// True if all of these bytes are unwritten.
pub(crate) fn contains(address: usize, size: usize) -> bool {
    let range = address..address.saturating_add(size);
    if !may_contain(address) {
        return false;
    }
    let Some(mut written) = WRITTEN.try_get() else {
        return false;
    };
    // Most memory is found to be written at the first look.
    let word = address & !(WORD - 1);
    let is_first_written = written.written(word) & 1 << (address - word) != 0;
    if is_first_written || read(address) != pattern_at(address) {
        return false;
    }
    extent(&range).is_some_and(|extent| written.is_unwritten(&range, &extent))
}

/// True if an address may be in a block, or is on the running thread's stack.
fn may_contain(address: usize) -> bool {
    let end = running().end_of_stack();
    heap_range::contains(address) || (end.saturating_sub(STACK)..end).contains(&address)
}

/// True if a value that was read there is what the memory had before any write. Under weak memory models the memory
/// may have another value by then.
pub(crate) fn is_initial(address: usize, size: usize, value: u64) -> bool {
    let range = address..address.saturating_add(size);
    let mut bytes = range.clone().zip(value.to_le_bytes());
    if !bytes.all(|(address, byte)| byte == pattern_at(address)) {
        return false;
    }
    let Some(extent) = extent(&range) else {
        return false;
    };
    size >= RECOGNISABLE
        || WRITTEN.try_get().is_some_and(|mut written| {
            words_of(&range).all(|word| {
                let read = bytes_of(word, &range);
                written.unwritten(word, &extent, read) & read == read
            })
        })
}

/// In guest mode: a block has moved, and the bytes that were unwritten still are.
pub(crate) fn move_block(from: usize, to: usize, size: usize) {
    let Some(mut written) = WRITTEN.try_get() else {
        return;
    };
    let Some(extent) = extent(&(from..from + size)) else {
        return;
    };
    // Both begin at a word.
    for offset in (0..size).step_by(WORD) {
        let unwritten = written.unwritten(from + offset, &extent, 0);
        for byte in (0..WORD.min(size - offset)).map(|byte| offset + byte) {
            let to = to + byte..to + byte + 1;
            match unwritten & 1 << (byte - offset) != 0 {
                // SAFETY: the new block is as large as its caller says, and is not in use yet.
                true => unsafe { write_pattern(to) },
                false => written.set(to, true),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_inputs::Inputs;

    /// Memory with the pattern in it.
    fn filled(size: usize) -> (Vec<u64>, Range<usize>) {
        let memory = vec![0u64; size.div_ceil(WORD)];
        let start = memory.as_ptr() as usize;
        // SAFETY: the memory is as large, and only used by address.
        unsafe { write_pattern(start..start + size) };
        (memory, start..start + size)
    }

    #[test]
    fn bytes_are_unwritten_until_they_are_written_in_either_way() {
        let mut inputs = Inputs::new(5);
        for _ in 0..200 {
            let (_memory, extent) = filled(1 + inputs.below(60) as usize);
            let mut written = Written::default();
            let mut expected = vec![true; extent.len()];
            for _ in 0..inputs.below(6) {
                let start = inputs.below(extent.len() as u64) as usize;
                let end = start + 1 + inputs.below((extent.len() - start) as u64) as usize;
                let range = extent.start + start..extent.start + end;
                if inputs.below(2) == 0 {
                    // SAFETY: the addresses are in the memory.
                    range
                        .clone()
                        .for_each(|at| unsafe { (at as *mut u8).write(b'x') });
                    written.set(range, true);
                    expected[start..end].fill(false);
                } else {
                    // Code that is not instrumented writes: the rest of its words counts as written, too.
                    // SAFETY: as above.
                    range.for_each(|at| unsafe { (at as *mut u8).write(b'y') });
                    let first = start & !(WORD - 1);
                    let last = end.next_multiple_of(WORD).min(expected.len());
                    expected[first..last].fill(false);
                }
            }
            for (offset, expected) in expected.into_iter().enumerate() {
                let at = extent.start + offset;
                let is_unwritten = written.is_unwritten(&(at..at + 1), &extent);
                // A write that is seen after one that is not makes its neighbours unwritten at most where these
                // have the pattern.
                assert!(!is_unwritten || expected || read(at) == pattern_at(at));
                assert!(is_unwritten || !expected);
            }
        }
    }

    #[test]
    fn patterns_differ_in_every_byte_and_are_not_text() {
        for word in (0..10_000).step_by(WORD) {
            let [one, other] = [false, true].map(|it| pattern_of(word, it).to_le_bytes());
            assert!(one.iter().zip(other).all(|(&one, other)| one != other));
            assert!(one.iter().chain(&other).all(|byte| !byte.is_ascii()));
        }
    }
}
