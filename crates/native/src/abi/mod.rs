//! Where the program's code and raddle's meet: the calling convention, registers and stacks.

pub(crate) mod real;
pub(crate) mod trampoline;
