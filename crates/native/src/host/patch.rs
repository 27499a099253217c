//! Functions of the program that are replaced in place: the first instruction becomes a jump.
//!
//! The instructions that the jump overwrites are moved elsewhere, followed by a jump to the rest, so that the
//! original can still be called. A function with a jump back into its first instructions is left alone.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Decoder, DecoderOptions, FlowControl, Instruction,
    InstructionBlock,
};

use super::system;

const PAGE: usize = 4096;
/// Size of the room for moved instructions, for all functions.
const ROOM: usize = 16 * PAGE;
/// For each function.
const SLOT: usize = 128;
/// The jump to another place that is not too far away.
const JUMP: usize = 5;
/// Maximum distance of such a jump, and the step by which room is searched for.
const FAR: usize = 1 << 30;
const STEP: usize = 1 << 20;

/// Where the next slot is, and where there are no more.
static NEXT: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// The instructions of a function.
pub(crate) fn instructions(function: usize, size: usize) -> Vec<Instruction> {
    // SAFETY: code of the program can be read.
    let code = unsafe { std::slice::from_raw_parts(function as *const u8, size) };
    Decoder::with_ip(64, code, function as u64, DecoderOptions::NONE)
        .into_iter()
        .collect()
}

/// From now on calls of the function are calls of `with`. Returns the address of the original, if it could be
/// replaced.
///
/// # Safety
///
/// There must be a function of this size, which no thread is in; `with` must have the same signature.
pub(crate) unsafe fn replace(function: usize, size: usize, with: usize) -> Option<usize> {
    let first = first_instructions(function, size)?;
    let next = first.last()?.next_ip();
    let slot = slot(function)?;
    let original = slot + 16;
    let block = InstructionBlock::new(&first, original as u64);
    let moved = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok()?;
    let mut code = absolute_jump(with);
    code.resize(original - slot, 0xcc);
    code.extend(&moved.code_buffer);
    let here = slot + code.len();
    code.extend(relative_jump(here, next as usize)?);
    if code.len() > SLOT {
        return None;
    }
    let jump = relative_jump(function, slot)?;
    // SAFETY: the slot is nobody else's, and the function is replaced as the caller wants.
    unsafe {
        write(slot, &code)?;
        write(function, &jump)?;
    }
    Some(original)
}

/// True if a function can be replaced.
pub(crate) fn can_be(function: usize, size: usize) -> bool {
    first_instructions(function, size).is_some()
}

/// Returns the instructions that the jump overwrites, if no other code depends on their place.
fn first_instructions(function: usize, size: usize) -> Option<Vec<Instruction>> {
    let all = instructions(function, size);
    let end = (function + JUMP) as u64;
    let count = 1 + all.iter().position(|it| it.next_ip() >= end)?;
    let first = &all[..count];
    let moved = function as u64 + 1..first[count - 1].next_ip();
    let returns_here = |it: &Instruction| {
        it.is_invalid()
            || matches!(
                it.flow_control(),
                FlowControl::Call | FlowControl::IndirectCall
            )
    };
    let jumps_back = |it: &Instruction| {
        let is_branch = matches!(
            it.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        is_branch && moved.contains(&it.near_branch_target())
    };
    let can_be = !first.iter().any(returns_here) && !all.iter().any(jumps_back);
    can_be.then(|| first.to_vec())
}

fn absolute_jump(to: usize) -> Vec<u8> {
    // `jmp [rip]`, with the address behind it.
    let mut code = vec![0xff, 0x25, 0, 0, 0, 0];
    code.extend(to.to_le_bytes());
    code
}

fn relative_jump(from: usize, to: usize) -> Option<[u8; JUMP]> {
    let distance = to.wrapping_sub(from + JUMP) as isize;
    let [a, b, c, d] = i32::try_from(distance).ok()?.to_le_bytes();
    Some([0xe9, a, b, c, d])
}

/// Room for a piece of code near a function.
fn slot(function: usize) -> Option<usize> {
    let [next, end] = NEXT.each_ref().map(|it| it.load(Relaxed));
    let is_near = next.abs_diff(function) < FAR;
    let start = match is_near && next + SLOT <= end {
        true => next,
        false => {
            let start = map_near(function)?;
            NEXT[1].store(start + ROOM, Relaxed);
            start
        }
    };
    NEXT[0].store(start + SLOT, Relaxed);
    Some(start)
}

/// Asks the kernel for room near an address.
fn map_near(address: usize) -> Option<usize> {
    let address = address & !(STEP - 1);
    let below = (1..FAR / STEP).filter_map(|steps| address.checked_sub(steps * STEP));
    let above = (1..FAR / STEP).map(|steps| address + steps * STEP);
    let protection = (libc::PROT_READ | libc::PROT_EXEC) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE) as usize;
    below.chain(above).find(|&at| {
        let arguments = [at, ROOM, protection, flags, usize::MAX, 0];
        // SAFETY: asks for new memory where there is none.
        let found = unsafe { system::call(libc::SYS_mmap, arguments) };
        if found > 0 && found as usize != at {
            // An old kernel does not know that it must be there.
            // SAFETY: nobody uses it.
            unsafe { system::call(libc::SYS_munmap, [found as usize, ROOM, 0, 0, 0, 0]) };
        }
        found as usize == at
    })
}

/// Writes code.
///
/// # Safety
///
/// No thread may run the code there.
unsafe fn write(to: usize, code: &[u8]) -> Option<()> {
    let start = to & !(PAGE - 1);
    let size = (to + code.len()).next_multiple_of(PAGE) - start;
    let protect = |protection: i32| {
        let arguments = [start, size, protection as usize, 0, 0, 0];
        // SAFETY: code can be run before and after, and can be written meanwhile.
        unsafe { system::call(libc::SYS_mprotect, arguments) == 0 }
    };
    if !protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
        return None;
    }
    // SAFETY: it can be written now.
    unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), to as *mut u8, code.len()) };
    protect(libc::PROT_READ | libc::PROT_EXEC).then_some(())
}
