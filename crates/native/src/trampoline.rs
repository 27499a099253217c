//! Functions that know who calls them.

/// Defines functions that the program calls by these names. Each hands its arguments on to the
/// function behind `as`, together with the address that it will return to, in the register after
/// theirs: that is where in the program the call is.
macro_rules! entry {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal);)*) => {
        $(
            const _: extern "C" fn($($type,)* usize) -> $result = $to;

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name($($argument: $type),*) -> $result {
                std::arch::naked_asm!(
                    concat!("mov ", $register, ", [rsp]"),
                    "jmp {to}",
                    to = sym $to,
                )
            }
        )*
    };
}

pub(crate) use entry;
