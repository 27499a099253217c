//! Functions that use all layers below: those that a program compiled with `-fsanitize=thread`
//! calls, and `malloc`, `mmap` and `syscall`.

mod annotations;
mod atomic;
mod atomic128;
mod copies;
mod functions;
mod malloc;
mod mmap;
mod plain;
pub(crate) mod system_call;
