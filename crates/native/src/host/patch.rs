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
/// Bytes of one mapping for moved instructions, shared by functions.
const ROOM: usize = 16 * PAGE;
/// Bytes for the moved instructions of one function.
const SLOT: usize = 128;
/// Bytes of a jump with a 32-bit offset.
const JUMP: usize = 5;
/// Maximum distance of such a jump, and the step of the search for free memory, in bytes.
const FAR: usize = 1 << 30;
const STEP: usize = 1 << 20;

/// Address of the next slot, and end of the memory for slots.
static NEXT: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Returns the instructions of a function.
pub(crate) fn instructions(function: usize, size: usize) -> Vec<Instruction> {
    // SAFETY: callers pass a function of a loaded module and its size, and code is readable.
    let code = unsafe { std::slice::from_raw_parts(function as *const u8, size) };
    Decoder::with_ip(64, code, function as u64, DecoderOptions::NONE)
        .into_iter()
        .collect()
}

/// Turns calls of the function into calls of `with` from now on. Returns the address of the
/// original, if it could be replaced.
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
    // SAFETY: `write` needs code that no thread is in: the slot is new, and the caller promises it for the
    // function.
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

/// Returns the address of a free slot near a function.
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

/// Maps memory near an address.
fn map_near(address: usize) -> Option<usize> {
    let address = address & !(STEP - 1);
    let below = (1..FAR / STEP).filter_map(|steps| address.checked_sub(steps * STEP));
    let above = (1..FAR / STEP).map(|steps| address + steps * STEP);
    let protection = (libc::PROT_READ | libc::PROT_EXEC) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE) as usize;
    below.chain(above).find(|&at| {
        let arguments = [at, ROOM, protection, flags, usize::MAX, 0];
        // SAFETY: MAP_FIXED_NOREPLACE touches no memory that is in use.
        let found = unsafe { system::call(libc::SYS_mmap, arguments) };
        if found > 0 && found as usize != at {
            // An old kernel ignores MAP_FIXED_NOREPLACE and may map elsewhere.
            // SAFETY: the kernel has just mapped the range, and nothing refers to it.
            unsafe { system::call(libc::SYS_munmap, [found as usize, ROOM, 0, 0, 0, 0]) };
        }
        found as usize == at
    })
}

/// Overwrites code.
///
/// # Safety
///
/// No thread may run the code there.
unsafe fn write(to: usize, code: &[u8]) -> Option<()> {
    let start = to & !(PAGE - 1);
    let size = (to + code.len()).next_multiple_of(PAGE) - start;
    let protect = |protection: i32| {
        let arguments = [start, size, protection as usize, 0, 0, 0];
        // SAFETY: the pages contain code, which stays readable and executable.
        unsafe { system::call(libc::SYS_mprotect, arguments) == 0 }
    };
    if !protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
        return None;
    }
    // SAFETY: the pages were made writable, and no thread is in this code, as the caller promises.
    unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), to as *mut u8, code.len()) };
    protect(libc::PROT_READ | libc::PROT_EXEC).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_inputs::Inputs;

    fn can_be_replaced(code: &[u8]) -> bool {
        can_be(code.as_ptr() as usize, code.len())
    }

    #[test]
    fn only_functions_whose_first_instructions_can_be_moved_are_replaced() {
        let nops_and_return = [0x90, 0x90, 0x90, 0x90, 0x90, 0xc3];
        assert!(can_be_replaced(&nops_and_return));
        // `mov eax, 1; ret`
        assert!(can_be_replaced(&[0xb8, 1, 0, 0, 0, 0xc3]));
        // Shorter than the jump.
        assert!(!can_be_replaced(&[0x90, 0x90, 0x90, 0xc3]));
        // `push rbx; call +0; ret`: the call would return to the moved instructions.
        assert!(!can_be_replaced(&[0x53, 0xe8, 0, 0, 0, 0, 0xc3]));
        // `call rax` after two bytes.
        assert!(!can_be_replaced(&[
            0x90, 0x90, 0xff, 0xd0, 0x90, 0x90, 0xc3
        ]));
        // No instruction.
        assert!(!can_be_replaced(&[0x06, 0x90, 0x90, 0x90, 0x90, 0xc3]));
    }

    #[test]
    fn functions_that_jump_back_are_replaced_if_they_jump_to_the_start() {
        // Five instructions of one byte, and then a jump to one of them.
        for target in 0..5i8 {
            let code = [0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, (target - 7) as u8, 0xc3];
            assert_eq!(can_be_replaced(&code), target == 0, "to {target}");
        }
        // A conditional jump to the instruction behind them.
        assert!(can_be_replaced(&[
            0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x74, 0xfd, 0xc3
        ]));
    }

    fn target(code: &[u8], at: usize) -> u64 {
        let mut decoder = Decoder::with_ip(64, code, at as u64, DecoderOptions::NONE);
        decoder.decode().near_branch_target()
    }

    #[test]
    fn a_relative_jump_goes_where_it_should() {
        let mut inputs = Inputs::new(3);
        for _ in 0..10_000 {
            let from = inputs.below(1 << 47) as usize;
            let to = from.wrapping_add_signed((inputs.next() as i64 >> 31) as isize);
            match relative_jump(from, to) {
                Some(jump) => assert_eq!(target(&jump, from), to as u64),
                None => assert!(from.abs_diff(to) >= (1 << 31) - JUMP),
            }
        }
        assert_eq!(relative_jump(0, 1 << 40), None);
        assert_eq!(relative_jump(1 << 40, 0), None);
    }

    #[test]
    fn an_absolute_jump_has_its_target_behind_it() {
        let code = absolute_jump(0x1122_3344_5566_7788);
        let mut decoder = Decoder::with_ip(64, &code, 0x1000, DecoderOptions::NONE);
        let jump = decoder.decode();
        assert!(jump.is_jmp_near_indirect());
        let place = jump.memory_displacement64() as usize - 0x1000;
        let word: [u8; 8] = code[place..].try_into().unwrap();
        assert_eq!(usize::from_le_bytes(word), 0x1122_3344_5566_7788);
    }

    extern "C" fn replacement(number: u32) -> u32 {
        number * 100
    }

    #[test]
    fn callers_find_the_replacement_and_the_original_can_be_called() {
        // `lea eax, [rdi + 1]; test eax, eax; je +2; add eax, edi; ret`: returns 2 * number + 1.
        let code = [0x8d, 0x47, 1, 0x85, 0xc0, 0x74, 2, 0x01, 0xf8, 0xc3];
        let protection = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as usize;
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
        type Function = extern "C" fn(u32) -> u32;
        // SAFETY: without MAP_FIXED, `mmap` touches no memory in use. The page contains a function of this
        // type, which no thread is in.
        unsafe {
            let page = system::call(libc::SYS_mmap, [0, PAGE, protection, flags, usize::MAX, 0]);
            assert!(page > 0);
            let place = page as *mut u8;
            std::ptr::copy_nonoverlapping(code.as_ptr(), place, code.len());
            let function = std::mem::transmute::<*mut u8, Function>(place);
            assert_eq!(function(20), 41);
            let with = replacement as Function as usize;
            let original = replace(place as usize, code.len(), with).expect("it can be replaced");
            assert_eq!(function(20), 2_000);
            let original = std::mem::transmute::<usize, Function>(original);
            assert_eq!(original(20), 41);
            assert_eq!(original(u32::MAX), 0, "the branch that was moved");
        }
    }
}
