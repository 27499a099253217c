//! Functions that the program calls, directly or instead of others. They know the address that they return
//! to, and leave nothing on the stack of their caller.
//!
//! | macro | stack | registers can be compared | |
//! | --- | --- | --- | --- |
//! | [`entry!`] | the caller's | no | jumps on |
//! | [`on_alternate_stack!`] | alternate | no | |
//! | [`watched!`] | alternate | yes | functions that a loop may call while it waits |
//! | [`watched_full!`] | alternate | yes | with more arguments than registers |
//! | [`departing!`] | alternate | yes | functions in which a thread may end |
//! | [`replace!`] | the caller's | no | functions of a library, with its own for other callers |
//! | [`stand_in!`], [`watched_stand_in!`], [`jumping_stand_in!`] | | | targets of [patched](crate::host::patch) functions |

/// Defines functions that the program calls by these names. Each jumps to the function behind `as`
/// with its arguments. The register after theirs has the return address, which is the place of the
/// call in the program; with `stack in` it has the caller's stack pointer instead.
macro_rules! entry {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> ! as $to:ident($register:literal);)*) => {
        $(
            const _: extern "C" fn($($type,)* usize) -> ! = $to;

            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            extern "C" fn $name($($argument: $type),*) -> ! {
                std::arch::naked_asm!(
                    concat!("mov ", $register, ", [rsp]"),
                    "jmp {to}",
                    to = sym $to,
                )
            }
        )*
    };
    (unwinding fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal);) => {
        const _: extern "C-unwind" fn($($type,)* usize) -> $result = $to;

        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        extern "C-unwind" fn $name($($argument: $type),*) -> $result {
            std::arch::naked_asm!(
                concat!("mov ", $register, ", [rsp]"),
                "jmp {to}",
                to = sym $to,
            )
        }
    };
    (fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident(stack in $register:literal);) => {
        const _: extern "C" fn($($type,)* usize) -> $result = $to;

        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        extern "C" fn $name($($argument: $type),*) -> $result {
            std::arch::naked_asm!(
                concat!("lea ", $register, ", [rsp + 8]"),
                "jmp {to}",
                to = sym $to,
            )
        }
    };
}

/// Instructions that switch to the alternate stack if the caller is a guest that is not on it
/// already. Afterwards `r11` has the stack pointer before the switch, and the stack is aligned.
/// `rax` and `r10` are clobbered. The two texts are instructions for guests, before and after the
/// switch.
macro_rules! switch_stack {
    () => {
        $crate::abi::trampoline::switch_stack!("", "")
    };
    ($before:literal, $after:literal) => {
        concat!(
            "mov r11, rsp\n",
            // Only guests have an alternate stack; other threads must not disturb it.
            $crate::abi::registers::unless_guest!("4f"),
            $before,
            "mov rax, [rip + {alternate}]\n",
            "mov r10, rax\n",
            "sub r10, rsp\n",
            "cmp r10, {size}\n",
            "jb 3f\n",
            "mov rsp, rax\n",
            "and rsp, -16\n",
            "push r11\n",
            "3:\n",
            "and rsp, -16\n",
            $after,
            "4:\n",
            "and rsp, -16\n",
        )
    };
}

/// Instructions that switch to the alternate stack and save the callee-saved registers there, where they can
/// be compared. [`top`](super::caller::top) returns their address and the start of the guest's stack, which
/// is in `rbx` then.
macro_rules! watch {
    () => {
        concat!(
            $crate::abi::trampoline::switch_stack!(
                "mov [rip + {top}], rsp\n",
                "lea rax, [rsp - 48]\nmov [rip + {registers}], rax\n"
            ),
            $crate::abi::registers::save_preserved!(),
            "mov rbx, r11\n",
        )
    };
}

/// Instructions that return to the caller's stack, after [`watch!`] and `$words` more pushed words.
macro_rules! go_back {
    () => {
        $crate::abi::trampoline::go_back!("0")
    };
    ($words:literal) => {
        concat!(
            "mov r11, rbx\n",
            concat!("mov rbx, [rsp + 8 * ", $words, "]\n"),
            "mov rsp, r11\n",
            $crate::abi::registers::clear_scratch!()
        )
    };
}

/// Returns the mask of the meaningful bits in a register that has the bytes of a result of `size`
/// bytes from byte `from` on.
pub(crate) const fn kept(size: usize, from: usize) -> i64 {
    match size.saturating_sub(from) {
        bytes @ 0..8 => (1 << (8 * bytes)) - 1,
        _ => -1,
    }
}

/// `naked_asm!` with the operand of [`unless_guest!`](super::registers::unless_guest).
macro_rules! guest_asm {
    ([$($instructions:tt)*] $($operands:tt)*) => {
        std::arch::naked_asm!(
            $($instructions)*
            guest = sym $crate::abi::guest::GUEST,
            $($operands)*
        )
    };
}

/// `naked_asm!` with the operands of [`switch_stack!`] and
/// [`clear_scratch!`](super::registers::clear_scratch).
macro_rules! switching_asm {
    ($result:ty; [$($instructions:tt)*] $($operands:tt)*) => {
        $crate::abi::trampoline::guest_asm!(
            [$($instructions)*]
            alternate = sym $crate::abi::alternate_stack::START,
            size = const $crate::abi::alternate_stack::SIZE,
            first = const $crate::abi::trampoline::kept(std::mem::size_of::<$result>(), 0),
            second = const $crate::abi::trampoline::kept(std::mem::size_of::<$result>(), 8),
            $($operands)*
        )
    };
}

/// `naked_asm!` with the operands of [`watch!`] and [`go_back!`].
macro_rules! watching_asm {
    ($result:ty; [$($instructions:tt)*] $($operands:tt)*) => {
        $crate::abi::trampoline::switching_asm!(
            $result;
            [$($instructions)*]
            top = sym $crate::abi::caller::STACK,
            registers = sym $crate::abi::caller::REGISTERS,
            $($operands)*
        )
    };
}

/// Defines functions that the program calls by these names, as [`entry!`] does; they run on the
/// alternate stack and return.
macro_rules! on_alternate_stack {
    ($($function:tt)*) => {
        $crate::abi::trampoline::switching!([cfg_attr(not(test), unsafe(no_mangle))] $($function)*);
    };
}

/// As [`on_alternate_stack!`], for functions to which those that the program calls jump.
macro_rules! out_of_line {
    ($($function:tt)*) => {
        $crate::abi::trampoline::switching!([cold] $($function)*);
    };
}

/// Defines functions with an attribute; they run on the alternate stack and return.
macro_rules! switching {
    ([$($attribute:tt)*]) => {};
    ([$($attribute:tt)*] fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal); $($rest:tt)*) => {
        const _: extern "C" fn($($type,)* usize) -> $result = $to;

        #[$($attribute)*]
        #[unsafe(naked)]
        extern "C" fn $name($($argument: $type),*) -> $result {
            $crate::abi::trampoline::switching_asm!(
                $result;
                [
                    concat!("mov ", $register, ", [rsp]"),
                    $crate::abi::trampoline::switch_stack!(),
                    // The stack is aligned afterwards.
                    "push r11",
                    "push r11",
                    "call {to}",
                    "pop rsp",
                    $crate::abi::registers::clear_scratch!(),
                    "ret",
                ]
                to = sym $to,
            )
        }

        $crate::abi::trampoline::switching!([$($attribute)*] $($rest)*);
    };
}

/// As [`on_alternate_stack!`], for functions that a loop may call repeatedly while it waits: the callee-saved
/// registers are saved where they can be compared, at the address that [`top`](super::caller::top) returns.
macro_rules! watched {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal);)*) => {
        $(
            const _: extern "C" fn($($type,)* usize) -> $result = $to;

            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            extern "C" fn $name($($argument: $type),*) -> $result {
                $crate::abi::trampoline::watching_asm!(
                    $result;
                    [
                        concat!("mov ", $register, ", [rsp]"),
                        $crate::abi::trampoline::watch!(),
                        "call {to}",
                        $crate::abi::trampoline::go_back!(),
                        "ret",
                    ]
                    to = sym $to,
                )
            }
        )*
    };
}

/// As [`watched!`], for functions with more arguments than registers for them and the return address. The
/// function behind `as` finds the two pushed words on the stack, the last one first. `rbx` points to the
/// return address, and to the caller's own words above it.
macro_rules! watched_full {
    ($(fn $name:ident as $to:ident pushes [$first:literal, $second:literal];)*) => {
        $(
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            extern "C" fn $name() {
                $crate::abi::trampoline::watching_asm!(
                    u128;
                    [
                        $crate::abi::trampoline::watch!(),
                        $first,
                        $second,
                        "call {to}",
                        $crate::abi::trampoline::go_back!("2"),
                        "ret",
                    ]
                    to = sym $to,
                )
            }
        )*
    };
}

/// As [`watched!`], for functions in which a thread may end. If it is to end
/// ([`super::unwinding`]), the trampoline jumps to the unwinder instead of returning.
macro_rules! departing {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal);)*) => {
        $(
            const _: extern "C" fn($($type,)* usize) -> $result = $to;

            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            extern "C" fn $name($($argument: $type),*) -> $result {
                $crate::abi::trampoline::watching_asm!(
                    $result;
                    [
                        concat!("mov ", $register, ", [rsp]"),
                        $crate::abi::trampoline::watch!(),
                        // The return address again, for functions that have no register left for
                        // it; twice, so that the stack is aligned.
                        "push [rbx]",
                        "push [rbx]",
                        "call {to}",
                        $crate::abi::trampoline::go_back!("2"),
                        "cmp byte ptr [rip + {is_asked}], 0",
                        "je 3f",
                        // Threads that are not controlled return from here too, and were not asked.
                        "mov r11, fs:[0x10]",
                        "cmp r11, [rip + {guest}]",
                        "je {unwind}",
                        "xor r11d, r11d",
                        "3:",
                        "ret",
                    ]
                    is_asked = sym $crate::abi::unwinding::IS_ASKED,
                    unwind = sym $crate::abi::unwinding::unwind,
                    to = sym $to,
                )
            }
        )*
    };
}

/// Defines functions that guests find instead of those of a library; other code finds the library's. They
/// have the arguments of the call, and [`code`](super::caller::code) returns its return address.
macro_rules! replace {
    ($($(#[$attribute:meta])* fn $name:ident as $to:path;)*) => {
        $(
            const _: () = {
                extern "C" fn real() -> usize {
                    $crate::abi::real::real!(fn $name() -> ()) as *const () as usize
                }

                $(#[$attribute])*
                #[cfg_attr(not(test), unsafe(no_mangle))]
                #[unsafe(naked)]
                extern "C" fn $name() {
                    $crate::abi::trampoline::guest_asm!(
                        [
                            $crate::abi::registers::unless_guest!("2f"),
                            "mov [rip + {top}], rsp",
                            "mov qword ptr [rip + {registers}], 0",
                            "jmp {to}",
                            "2:",
                            $crate::abi::registers::save_arguments!(),
                            "call {real}",
                            $crate::abi::registers::restore_arguments!(),
                            "jmp rax",
                        ]
                        top = sym $crate::abi::caller::STACK,
                        registers = sym $crate::abi::caller::REGISTERS,
                        to = sym $to,
                        real = sym real,
                    )
                }
            };
        )*
    };
}

/// Defines the target of a patched function: for guests [`watched!`] with the function behind `as`, and for
/// other callers the original function, whose address is in the static behind `for`.
macro_rules! stand_in {
    ($(fn $enter:ident for $original:ident as $to:path, $register:literal -> $result:ty;)*) => {
        $(
            #[unsafe(naked)]
            extern "C" fn $enter() {
                $crate::abi::trampoline::watching_asm!(
                    $result;
                    [
                        $crate::abi::registers::unless_guest!("2f"),
                        concat!("mov ", $register, ", [rsp]"),
                        $crate::abi::trampoline::watch!(),
                        "call {to}",
                        $crate::abi::trampoline::go_back!(),
                        "ret",
                        "2:",
                        "jmp [rip + {original}]",
                    ]
                    original = sym $original,
                    to = sym $to,
                )
            }
        )*
    };
}

/// As [`stand_in!`], for all callers.
macro_rules! watched_stand_in {
    ($(fn $enter:ident as $to:path, $register:literal -> $result:ty;)*) => {
        $(
            #[unsafe(naked)]
            extern "C" fn $enter() {
                $crate::abi::trampoline::watching_asm!(
                    $result;
                    [
                        concat!("mov ", $register, ", [rsp]"),
                        $crate::abi::trampoline::watch!(),
                        "call {to}",
                        $crate::abi::trampoline::go_back!(),
                        "ret",
                    ]
                    to = sym $to,
                )
            }
        )*
    };
}

/// As [`stand_in!`], for functions that run code of the program's, which may panic: they stay on the caller's
/// stack.
macro_rules! jumping_stand_in {
    ($(fn $enter:ident for $original:ident as $to:path, $register:literal;)*) => {
        $(
            #[unsafe(naked)]
            extern "C" fn $enter() {
                $crate::abi::trampoline::guest_asm!(
                    [
                        $crate::abi::registers::unless_guest!("2f"),
                        concat!("mov ", $register, ", [rsp]"),
                        "jmp {to}",
                        "2:",
                        "jmp [rip + {original}]",
                    ]
                    original = sym $original,
                    to = sym $to,
                )
            }
        )*
    };
}

pub(crate) use {
    departing, entry, go_back, guest_asm, jumping_stand_in, on_alternate_stack, out_of_line,
    replace, stand_in, switch_stack, switching, switching_asm, watch, watched, watched_full,
    watched_stand_in, watching_asm,
};

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn a_register_keeps_the_bytes_of_the_result_that_it_has() {
        for size in 0..=16usize {
            for from in [0, 8] {
                let kept = kept(size, from).to_le_bytes();
                for (index, byte) in kept.into_iter().enumerate() {
                    let is_of_result = from + index < size;
                    assert_eq!(
                        byte,
                        if is_of_result { 0xff } else { 0 },
                        "{size} {from} {index}"
                    );
                }
            }
        }
    }
}
