//! The memory operand of an x86-64 instruction.
//!
//! Only as much is decoded as the address needs. A thread-local variable of the executable is at a constant
//! distance from the thread pointer, which is the base of `fs` and the word at `fs:0`, so code that uses the
//! variable of its own thread adds a constant to one of the two.

/// The use of memory by an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    /// The instruction uses no memory, or only its stack or a static.
    None,
    /// It reads or writes this address.
    Address(usize),
    /// It computes this address from the thread pointer, and may also use it.
    OfThread(usize),
    /// It calls the system.
    SystemCall,
}

const LEA: u8 = 0x8d;
/// Addition of a memory operand to a register.
const ADD: u8 = 0x03;

/// The instruction map of an opcode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Map {
    One,
    /// The opcodes after `0f`.
    Two,
    /// The opcodes after `0f 38` and `0f 3a`, and those of vector prefixes.
    Other,
}

/// Extensions of register numbers, and the factor of a short displacement.
#[derive(Clone, Copy)]
struct Extension {
    register: usize,
    index: usize,
    base: usize,
    scale: isize,
}

/// Reads the bytes of an instruction, one after the other.
struct Code(*const u8);

impl Code {
    /// # Safety
    ///
    /// The instruction must have another byte.
    unsafe fn byte(&mut self) -> u8 {
        // SAFETY: the caller guarantees that the byte is part of the instruction, which is readable.
        unsafe {
            let byte = self.0.read();
            self.0 = self.0.add(1);
            byte
        }
    }

    /// # Safety
    ///
    /// The instruction must have four more bytes.
    unsafe fn word(&mut self) -> isize {
        // SAFETY: as for `byte`.
        unsafe {
            let word = self.0.cast::<i32>().read_unaligned();
            self.0 = self.0.add(4);
            word as isize
        }
    }
}

/// Returns the memory operand of the instruction at `code`, which is about to be executed with these registers.
///
/// # Safety
///
/// `code` must be the address of a complete instruction.
pub(super) unsafe fn decode(
    code: *const u8,
    registers: &[usize; 16],
    thread_pointer: usize,
) -> Operand {
    let mut code = Code(code);
    let mut is_of_thread = false;
    let mut extension = Extension {
        register: 0,
        index: 0,
        base: 0,
        scale: 1,
    };
    // SAFETY: each byte is read only if the ones before it say that the instruction has it.
    unsafe {
        let mut opcode = code.byte();
        loop {
            match opcode {
                0x64 => is_of_thread = true,
                0x65 => return Operand::None,
                0x66 | 0x67 | 0xf0 | 0xf2 | 0xf3 | 0x2e | 0x36 | 0x3e | 0x26 => {}
                _ => break,
            }
            opcode = code.byte();
        }
        if opcode & 0xf0 == 0x40 {
            extension.set(!opcode << 5);
            opcode = code.byte();
        }
        let mut map = Map::One;
        match opcode {
            0x0f => {
                opcode = code.byte();
                map = Map::Two;
                if opcode == 0x38 || opcode == 0x3a {
                    opcode = code.byte();
                    map = Map::Other;
                }
            }
            0xc5 => {
                extension.set(code.byte() | 0x60);
                opcode = code.byte();
                map = Map::Other;
            }
            0xc4 => {
                extension.set(code.byte());
                code.byte();
                opcode = code.byte();
                map = Map::Other;
            }
            0x62 => {
                extension.set(code.byte());
                code.byte();
                // A short displacement counts in vectors.
                extension.scale = 16 << ((code.byte() >> 5) & 3);
                opcode = code.byte();
                map = Map::Other;
            }
            _ => {}
        }
        if map == Map::Two && opcode == 0x05 {
            return Operand::SystemCall;
        }
        if map == Map::One && matches!(opcode, 0xa4..=0xa7 | 0xaa..=0xaf) {
            // `stos` and `scas` have only a target. A write to the target of `movs` shows in the bytes.
            let has_source = !matches!(opcode, 0xaa | 0xab | 0xae | 0xaf);
            return Operand::Address(registers[if has_source { 6 } else { 7 }]);
        }
        if !has_operand(map, opcode) {
            return Operand::None;
        }
        let form = code.byte();
        let Some((address, adds_thread_pointer)) =
            code.address(form, extension, registers, thread_pointer)
        else {
            return Operand::None;
        };
        if is_of_thread {
            let address = address.wrapping_add(thread_pointer);
            if map == Map::One && opcode == ADD && address == thread_pointer {
                let register = usize::from(form >> 3 & 7) | extension.register;
                return Operand::OfThread(registers[register].wrapping_add(thread_pointer));
            }
            return Operand::OfThread(address);
        }
        match map == Map::One && opcode == LEA {
            _ if adds_thread_pointer => Operand::OfThread(address),
            true => Operand::None,
            false => Operand::Address(address),
        }
    }
}

impl Extension {
    /// Sets the numbers from the inverted bits of a vector prefix: 7 for the register, 6 for the index and 5
    /// for the base.
    fn set(&mut self, inverted: u8) {
        self.register = usize::from(!inverted >> 7 & 1) << 3;
        self.index = usize::from(!inverted >> 6 & 1) << 3;
        self.base = usize::from(!inverted >> 5 & 1) << 3;
    }
}

impl Code {
    /// Returns the address of a memory operand with this ModRM byte, and true when the thread pointer is
    /// one of its terms. Operands relative to the instruction are left out: they are statics.
    ///
    /// # Safety
    ///
    /// The instruction must have the bytes that the form requires.
    unsafe fn address(
        &mut self,
        form: u8,
        extension: Extension,
        registers: &[usize; 16],
        thread_pointer: usize,
    ) -> Option<(usize, bool)> {
        let (mode, low) = (form >> 6, usize::from(form & 7));
        if mode == 3 || (mode == 0 && low == 5) {
            return None;
        }
        let (mut base, mut index) = (Some(low | extension.base), None);
        let mut has_word = mode == 2;
        if low == 4 {
            // SAFETY: this form has a second byte.
            let second = unsafe { self.byte() };
            let number = usize::from(second >> 3 & 7) | extension.index;
            index = (number != 4).then_some((number, second >> 6));
            base = Some(usize::from(second & 7) | extension.base);
            if mode == 0 && second & 7 == 5 {
                base = None;
                has_word = true;
            }
        }
        // SAFETY: these forms have a displacement.
        let displacement = unsafe {
            match mode {
                _ if has_word => self.word(),
                1 => self.byte() as i8 as isize * extension.scale,
                _ => 0,
            }
        };
        let base = base.map_or(0, |number| registers[number]);
        let index = index.map_or(0, |(number, scale)| registers[number] << scale);
        let address = base.wrapping_add(index).wrapping_add_signed(displacement);
        Some((address, base == thread_pointer || index == thread_pointer))
    }
}

/// True when an instruction with this opcode has a ModRM byte and uses its operand.
fn has_operand(map: Map, opcode: u8) -> bool {
    match map {
        Map::One => match opcode {
            0x00..=0x3f => opcode & 7 < 4,
            0x63 | 0x69 | 0x6b | 0x80..=0x8f | 0xc0 | 0xc1 | 0xc6 | 0xc7 => true,
            0xd0..=0xd3 | 0xd8..=0xdf | 0xf6 | 0xf7 | 0xfe | 0xff => true,
            _ => false,
        },
        // Hints, such as a long `nop`, have an operand that they do not use.
        Map::Two => !matches!(
            opcode,
            0x05..=0x0f | 0x18..=0x1f | 0x30..=0x37 | 0x77 | 0x80..=0x8f | 0xa0..=0xa2
                | 0xa8..=0xaa | 0xc8..=0xcf
        ),
        // `vzeroupper`.
        Map::Other => opcode != 0x77,
    }
}

#[cfg(test)]
mod tests {
    use super::Operand::{Address, None, OfThread, SystemCall};
    use super::*;

    const THREAD: usize = 0x70000;

    /// The encodings are those of an assembler.
    #[test]
    fn operands_of_instructions() {
        // Each register has its number, plus one, times 0x1000.
        let numbered = std::array::from_fn(|number| (number + 1) * 0x1000);
        let mut with_pointer: [usize; 16] = numbered;
        with_pointer[0] = THREAD;
        #[rustfmt::skip]
        let of_thread: &[(&str, &[u8], Operand)] = &[
            ("mov rax, fs:0", &[0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0], OfThread(THREAD)),
            ("mov eax, fs:-8", &[0x64, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff], OfThread(THREAD - 8)),
            ("lea rcx, [rax-16]", &[0x48, 0x8d, 0x48, 0xf0], OfThread(THREAD - 16)),
            ("inc dword ptr [rax-4]", &[0xff, 0x40, 0xfc], OfThread(THREAD - 4)),
            ("add rbx, fs:0", &[0x64, 0x48, 0x03, 0x1c, 0x25, 0, 0, 0, 0], OfThread(THREAD + 0x4000)),
            ("lock xadd fs:[rcx], eax", &[0x64, 0xf0, 0x0f, 0xc1, 0x01], OfThread(THREAD + 0x2000)),
        ];
        #[rustfmt::skip]
        let others: &[(&str, &[u8], Operand)] = &[
            ("lea r9, [r8-16]", &[0x4d, 0x8d, 0x48, 0xf0], None),
            ("mov rdx, [rbx+rcx*8+256]", &[0x48, 0x8b, 0x94, 0xcb, 0, 1, 0, 0], Address(0x14100)),
            ("mov rdx, [r12+8]", &[0x49, 0x8b, 0x54, 0x24, 0x08], Address(0xd008)),
            ("mov [rsp+8], rax", &[0x48, 0x89, 0x44, 0x24, 0x08], Address(0x5008)),
            ("movzx ecx, byte ptr [rdi+1]", &[0x0f, 0xb6, 0x4f, 0x01], Address(0x8001)),
            ("movups xmm0, [rsi]", &[0x0f, 0x10, 0x06], Address(0x7000)),
            ("vmovdqu ymm1, [r10+32]", &[0xc4, 0xc1, 0x7e, 0x6f, 0x4a, 0x20], Address(0xb020)),
            ("vmovdqu64 zmm1, [rdx+64]", &[0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x4a, 0x01], Address(0x3040)),
            ("nop word ptr [rax+rax]", &[0x66, 0x0f, 0x1f, 0x04, 0x00], None),
            ("cmp byte ptr [rip+256], 0", &[0x80, 0x3d, 0, 1, 0, 0, 0], None),
            ("push rax", &[0x50], None),
            ("ret", &[0xc3], None),
            ("jmp [rax]", &[0xff, 0x20], Address(0x1000)),
            ("call rax", &[0xff, 0xd0], None),
            ("syscall", &[0x0f, 0x05], SystemCall),
            ("rep movsb", &[0xf3, 0xa4], Address(0x7000)),
            ("stosq", &[0x48, 0xab], Address(0x8000)),
            ("lock cmpxchg [rdx], ecx", &[0xf0, 0x0f, 0xb1, 0x0a], Address(0x3000)),
            ("cmpxchg16b [rdi]", &[0x48, 0x0f, 0xc7, 0x0f], Address(0x8000)),
            ("movabs rax, 1", &[0x48, 0xb8, 1, 0, 0, 0, 0, 0, 0, 0], None),
            ("je", &[0x74, 0x62], None),
            ("vzeroupper", &[0xc5, 0xf8, 0x77], None),
            ("mov r11, gs:8", &[0x65, 0x4c, 0x8b, 0x1c, 0x25, 8, 0, 0, 0], None),
            ("imul eax, [rdi], 10", &[0x6b, 0x07, 0x0a], Address(0x8000)),
            ("test al, 5", &[0xa8, 0x05], None),
            ("prefetcht0 [rdi]", &[0x0f, 0x18, 0x0f], None),
            ("pinsrd xmm0, [rsi+4], 1", &[0x66, 0x0f, 0x3a, 0x22, 0x46, 4, 1], Address(0x7004)),
            ("xor eax, eax", &[0x31, 0xc0], None),
        ];
        for (registers, list) in [(with_pointer, of_thread), (numbered, others)] {
            for (text, code, operand) in list {
                // SAFETY: each is a complete instruction.
                let found = unsafe { decode(code.as_ptr(), &registers, THREAD) };
                assert_eq!(found, *operand, "{text}");
            }
        }
    }
}
