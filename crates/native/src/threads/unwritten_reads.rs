//! Reads of [unwritten](unwritten) memory.
//!
//! Loads are seen, and not what a program does with their values. A load alone is no failure where the language
//! allows to move bytes that mean nothing:
//!
//! * A read of which only a part is unwritten may be that of a structure with padding.
//! * A read of more than a word is a copy.
//! * A read that the next access stores elsewhere is a copy. The copy counts as written. For one assignment of a
//!   structure, compilers call the function for the write before that for the read.
//! * A read that the next access stores at the same address may set a field of bits, whose neighbours are read.
//!
//! * Two reads near each other with the same place in the source, one after the other, copy a structure, whose members
//!   the compiler keeps in registers.
//!
//! So a read is judged at the next access of its thread, at its next operation or at its end.

use super::failure;
use super::guests::{self, ThreadEnd};
use crate::engine::Manner;
use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::lock::Lock;
use crate::host::mode;
use crate::memory::{heap_range, unwritten};

/// In messages, what is read where comes before this.
pub(crate) const NOT_WRITTEN: &str = "\nnothing has written there";
/// Larger reads are copies.
const WORD: usize = 8;
/// Bytes between two members of a structure that is kept in registers.
const MAX_STRUCTURE: usize = 128;

/// A read of unwritten memory that may be a copy.
#[derive(Clone, Copy)]
struct Read {
    address: usize,
    size: usize,
    site: usize,
    /// The bytes that it has read.
    value: u64,
    /// Where the access of the thread before has written as many bytes, or the next one.
    written_to: [Option<usize>; 2],
    /// The access of the thread before, if it was a read.
    after: Option<Instruction>,
    instruction: Instruction,
}

/// An instruction that reads, and the address that it reads.
#[derive(Clone, Copy)]
struct Instruction {
    code: usize,
    address: usize,
}

impl Instruction {
    /// True if the two may copy parts of a structure.
    fn is_part_with(self, other: Instruction) -> bool {
        self.code != other.code
            && self.address.abs_diff(other.address) <= MAX_STRUCTURE
            && running().place(self.code) == running().place(other.code)
    }
}

/// Last accesses of a thread.
#[derive(Clone, Copy, Default)]
struct LastAccesses {
    /// A read that was not judged.
    read: Option<Read>,
    /// Address and size of the last access, if it was a write.
    write: Option<(usize, usize)>,
    /// The last access, if it was a read.
    instruction: Option<Instruction>,
}

/// Last accesses, by thread.
#[derive(Default)]
pub(crate) struct UnwrittenReads(Vec<LastAccesses>);

impl Part for UnwrittenReads {
    fn renew(&mut self) {
        let UnwrittenReads(threads) = self;
        threads.clear();
    }
}

pub(crate) static UNWRITTEN_READS: PartCell<UnwrittenReads> = PartCell::new();

/// Messages of failures that did not recur with another pattern: code that is not seen has written there.
static TRUSTED: Lock<Vec<String>> = Lock::new(Vec::new());

/// A check begins.
pub(crate) fn begin_check() {
    TRUSTED.with(Vec::clear);
}

/// The read with this message is not reported any more.
pub(crate) fn trust(message: String) {
    TRUSTED.with(|trusted| trusted.push(message));
}

fn load(address: usize, size: usize) -> u64 {
    let mut bytes = [0; WORD];
    for (offset, byte) in bytes.iter_mut().enumerate().take(size) {
        // SAFETY: the running thread has just accessed these bytes, or is about to.
        *byte = unsafe { ((address + offset) as *const u8).read_volatile() };
    }
    u64::from_le_bytes(bytes)
}

/// What a read is, as far as is known.
enum Verdict {
    Unknown(Read),
    Copy,
    Use,
}

impl Read {
    /// Judges the read by the next write of the thread, as address and size, if that is known.
    fn judge(self, next: Option<(usize, usize)>) -> Verdict {
        let is_copy = |&to: &usize| load(to, self.size) == self.value;
        if self.written_to.iter().flatten().any(is_copy) {
            return Verdict::Copy;
        }
        let [before, after] = self.written_to;
        match next.filter(|_| after.is_none()) {
            Some((address, size))
                if address < self.address + self.size && self.address < address + size =>
            {
                Verdict::Copy
            }
            Some((address, size)) if size == self.size => Verdict::Unknown(Read {
                written_to: [before, Some(address)],
                ..self
            }),
            _ => Verdict::Use,
        }
    }
}

/// Judges the last read of the running thread; returns it if it is a failure.
fn judge_last(next: Option<(usize, usize)>) -> Option<Read> {
    let thread = running().thread().index();
    let mut threads = UNWRITTEN_READS.try_get()?;
    let last = threads.0.get_mut(thread)?;
    let read = last.read.take()?;
    match read.judge(next) {
        Verdict::Unknown(read) => last.read = Some(read),
        Verdict::Copy => {}
        Verdict::Use => return Some(read),
    }
    None
}

/// In guest mode: the running thread is about to access `size` bytes plainly.
pub(crate) fn access(address: usize, size: usize, writes: bool, code: usize) {
    unwritten::fill_stack();
    let instruction = (!writes).then_some(Instruction { code, address });
    if let Some(read) = judge_last(writes.then_some((address, size))) {
        mode::host(|| fail(read, instruction));
    }
    let thread = running().thread().index();
    let mut threads = UNWRITTEN_READS.get();
    if threads.0.len() <= thread {
        threads.0.resize(thread + 1, LastAccesses::default());
    }
    let last = &mut threads.0[thread];
    let before = last.write.take();
    let after = std::mem::replace(&mut last.instruction, instruction);
    if writes {
        unwritten::write(address, size);
        last.write = Some((address, size));
    } else if size <= WORD && unwritten::contains(address, size) {
        let written_to = before.filter(|&(_, written)| written == size);
        last.read = Some(Read {
            address,
            size,
            site: shadow_stack::users(code),
            value: load(address, size),
            written_to: [written_to.map(|(address, _)| address), None],
            after,
            instruction: Instruction { code, address },
        });
    }
}

/// In host mode: the running thread does something that others may see.
#[inline]
pub(crate) fn settle() {
    if unwritten::is_on()
        && let Some(read) = judge_last(None)
    {
        fail(read, None);
    }
}

/// In host mode: the function of the running thread has returned.
pub(crate) fn finish() {
    if unwritten::is_on()
        && let Some(read) = judge_last(None)
        && report(read, None)
    {
        guests::with_running(|guest| guest.end = ThreadEnd::Everything);
    }
}

/// In host mode: the running thread has done an atomic operation, and has read this value if it reads.
#[inline]
pub(crate) fn access_atomically(
    address: usize,
    size: usize,
    value: Option<u64>,
    writes: bool,
    site: usize,
) {
    if !unwritten::is_on() {
        return;
    }
    if let Some(value) = value
        && unwritten::is_initial(address, size, value)
    {
        let read = Read {
            address,
            size,
            site,
            value,
            written_to: [None; 2],
            after: None,
            instruction: Instruction {
                code: site,
                address,
            },
        };
        fail(read, None);
    }
    if writes {
        unwritten::write(address, size);
    }
}

/// In host mode: ends the running thread, which has read unwritten memory, unless [`report`] finds that right.
#[cold]
fn fail(read: Read, next: Option<Instruction>) {
    if report(read, next) {
        guests::end_everything();
    }
}

/// Reports a read of unwritten memory, which is followed by this one; returns false if it is part of a copy, or if a
/// read there is trusted.
fn report(read: Read, next: Option<Instruction>) -> bool {
    let mut others = [read.after, next].into_iter().flatten();
    if others.any(|other| read.instruction.is_part_with(other)) {
        return false;
    }
    let native = running();
    let place = native.place(read.site).unwrap_or_default();
    let at = format!(" at {place}:");
    if TRUSTED.with(|trusted| trusted.iter().any(|message| message.contains(&at))) {
        return false;
    }
    let memory = match heap_range::contains(read.address) {
        true => native.memory(read.address),
        false => native.variable(read.address),
    };
    let memory = memory.unwrap_or_default();
    let (memory, since) = match memory.strip_prefix("the beginning of") {
        Some(block) => (format!("at the beginning of{block}"), ""),
        None if memory.starts_with("at offset") => (memory, ""),
        None => (format!("of `{memory}`"), " since its function was entered"),
    };
    let bytes = match read.size {
        1 => "1 byte".to_owned(),
        size => format!("{size} bytes"),
    };
    let message = format!(
        "it reads {bytes} {memory}{NOT_WRITTEN}{since}\n\
         help: initialise memory before it is read"
    );
    let message = failure::with_chain(&message, read.site);
    native.fail(Manner::Uninitialised, message, native.place(read.site));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(address: usize, size: usize) -> Read {
        Read {
            address,
            size,
            site: 0,
            value: load(address, size),
            written_to: [None; 2],
            after: None,
            instruction: Instruction { code: 0, address },
        }
    }

    fn is_use(read: Read, next: Option<(usize, usize)>) -> bool {
        matches!(read.judge(next), Verdict::Use)
    }

    #[test]
    fn a_read_is_judged_by_what_is_written_next() {
        let (from, mut to) = ([0xc3u8; 8], [0u8; 16]);
        let (at, to_at) = (from.as_ptr() as usize, to.as_mut_ptr() as usize);
        for size in [1, 2, 4, 8] {
            to.fill(0);
            let one = read(at, size);
            assert!(is_use(one, None), "nothing is written");
            assert!(is_use(one, Some((to_at, size + 1))), "another size");
            assert!(!is_use(one, Some((at, size))), "an update in place");
            assert!(!is_use(one, Some((at + size - 1, 1))), "of a part of it");
            let Verdict::Unknown(copied) = one.judge(Some((to_at, size))) else {
                panic!("it may be a copy");
            };
            assert!(is_use(copied, None), "another value is written");
            to[..size].copy_from_slice(&from[..size]);
            std::hint::black_box(&mut to);
            assert!(!is_use(copied, None), "a copy");
            assert!(!is_use(copied, Some((at, size))), "a copy");
            let after = Read {
                written_to: [Some(to_at), None],
                ..one
            };
            assert!(!is_use(after, None), "a copy whose write was seen before");
            assert!(
                !is_use(after, Some((at + 16, size))),
                "a copy, and then another write"
            );
        }
    }
}
