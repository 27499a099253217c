//! Labels: where a value may come from.
//!
//! Inside of a function its arguments are as unknown as what it reads, so they have labels too. A caller replaces
//! them by the labels of what it has passed.

/// One origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Label {
    /// An address in the function's own stack frame.
    Frame,
    /// An address among the function's arguments on the stack.
    Incoming,
    /// An argument in a register: integers first, then vectors.
    Argument(u8),
    /// Memory at an offset from an argument that is a pointer, with its size.
    Behind(u8, i32, u8),
    /// Memory that can be reached from an argument.
    Reached(u8),
    /// An argument on the stack: offset above the return address, and size.
    OnStack(i32, u8),
    /// Memory that can be reached from arguments on the stack, and those arguments.
    ReachedFromStack,
    /// The value that an instrumented read has returned; the return address of its callback.
    Read(u64),
    /// The value of a load without a callback, of memory that may be shared; the instruction.
    Unseen(u64),
}

/// Number of arguments in registers for integers, and the frame of the enclosing function that nested ones have.
pub(crate) const INTEGERS: u8 = 7;
/// Number of arguments in vector registers.
pub(crate) const VECTORS: u8 = 8;
/// The number that stands for all arguments on the stack, where an argument is asked for.
pub(crate) const STACK: u8 = INTEGERS + VECTORS;
/// Offsets beyond this are not told apart, so that a recursion has finitely many labels.
const FARTHEST: i64 = 512;

/// Returns the label of memory at an offset from an argument.
pub(crate) fn behind(argument: u8, offset: i64, size: i64) -> Label {
    match (i32::try_from(offset), u8::try_from(size)) {
        (Ok(near), Ok(size)) if offset.abs() <= FARTHEST => Label::Behind(argument, near, size),
        _ => Label::Reached(argument),
    }
}

/// Returns the label of an argument at an offset above the return address.
pub(crate) fn on_stack(offset: i64, size: i64) -> Label {
    match (i32::try_from(offset), u8::try_from(size)) {
        (Ok(near), Ok(size)) if offset <= FARTHEST => Label::OnStack(near, size),
        _ => Label::ReachedFromStack,
    }
}
