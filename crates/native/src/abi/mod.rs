//! The boundary between the program's code and raddle's: the calling convention, registers and
//! stacks. All assembly of this crate is here and in `host`.

pub(crate) mod alternate_stack;
pub(crate) mod caller;
pub(crate) mod guest;
pub(crate) mod guest_ptr;
pub(crate) mod real;
pub(crate) mod registers;
pub(crate) mod stack;
pub(crate) mod trampoline;
pub(crate) mod unwinding;
pub(crate) mod variadic;
