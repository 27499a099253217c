//! Names of memory in stories: variables, blocks of the heap and positions on stacks.

use raddle_engine::ThreadId;

use super::program;
use crate::abi::stack;
use crate::engine::made_at;
use crate::execution::{if_running, shadow_stack, sites};
use crate::memory::{blocks, heap_range, objects};
use crate::names::{regions, symbols};
use crate::threads::guests;

/// Returns the variable at an address, with the field or element there.
pub(crate) fn variable(address: usize) -> Option<String> {
    // Locks of Rust's standard library without a name are numbered, as raddle's are.
    let is_counted = regions::is_rust() && objects::is_known(address);
    let block = block_name(address).filter(|_| !is_counted);
    if is_counted && block.is_none() && heap_range::contains(address) {
        return None;
    }
    if let Some(name) = block.or_else(|| stack_name(address)) {
        return Some(name);
    }
    symbols::variable(address)
}

/// Returns a short name for the block at an address.
fn block_name(address: usize) -> Option<String> {
    let (block, offset) = blocks::find(address)?;
    let place = sites::place(block.made.0)?;
    let file = place.file.rsplit('/').next().unwrap_or_default();
    let plus = |offset| match offset {
        0 => String::new(),
        offset => format!("+{offset}"),
    };
    if regions::is_rust()
        && let Some((name, call)) = made_at(&place)
    {
        // The reference counts of an `Arc` come before its value.
        let counts = if call.starts_with("Arc") { COUNTS } else { 0 };
        let offset = plus(offset.checked_sub(counts).unwrap_or(offset));
        let name = name.unwrap_or_else(|| format!("{call} of {file}:{}", place.line));
        return Some(name + &offset);
    }
    let at = plus(offset);
    Some(format!("block of {file}:{}{at}", place.line))
}

/// Bytes of the counts of an `Arc`.
const COUNTS: usize = 16;

fn bytes(count: usize) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

/// Describes the block at an address.
pub(crate) fn describe(address: usize) -> Option<String> {
    let (block, offset) = blocks::find(address)?;
    let at = |site: usize| {
        let place = sites::place(site);
        place.map_or(String::new(), |place| {
            format!(" at {}:{}", place.file, place.line)
        })
    };
    let by = |thread: Option<ThreadId>| {
        let name = thread.and_then(|thread| Some(if_running()?.title(thread)));
        name.map_or(String::new(), |name| format!(" by {name}"))
    };
    let mut text = match offset {
        _ if offset == block.size => "just behind the end of".to_owned(),
        _ if offset > block.size => format!("{} behind the end of", bytes(offset - block.size)),
        0 => "the beginning of".to_owned(),
        _ => format!("at offset {offset} of"),
    };
    let (made, maker) = block.made;
    text += &format!(
        " a block of {}, made{}{}",
        bytes(block.size),
        at(made),
        by(maker)
    );
    if let Some((site, thread)) = block.freed {
        text += &format!(", freed{}{}", at(site), by(Some(thread)));
    }
    Some(text)
}

/// Names an address on the stack of a thread, by its distance from the end of the stack.
fn stack_name(address: usize) -> Option<String> {
    let native = if_running()?;
    let functions = guests::functions()?;
    let threads = (0..functions.len()).map(ThreadId::new);
    let ends = threads.map(|thread| native.end_of_stack_of(thread));
    let ends: Vec<usize> = ends.collect();
    let owner = ends
        .iter()
        .position(|&end| (end.saturating_sub(stack::STACK)..end).contains(&address))?;
    let function = match functions[owner] {
        0 => program::main(),
        function => function,
    };
    if let Some(name) = local(address, ends[owner], function) {
        return Some(name);
    }
    let name = native.try_title(ThreadId::new(owner))?;
    Some(format!("{name}'s stack-{}", ends[owner] - address))
}

/// Number of words of a stack that are searched for a return address.
const LOOK_AT: usize = 512;

/// Returns the local variable at an address on a stack, and its function. A frame ends with the return
/// address of its call. Other words look like return addresses, so one is only accepted if the function has a
/// variable there. The function that raddle has called is `first`.
fn local(address: usize, end: usize, first: usize) -> Option<String> {
    let slots = (address.next_multiple_of(8)..end).step_by(8).take(LOOK_AT);
    slots.into_iter().find_map(|slot| {
        // SAFETY: reading needs a mapped word: the slot is aligned and lies in a stack of the program, below
        // its end.
        let code = unsafe { (slot as *const usize).read() };
        let function = match shadow_stack::callee(code) {
            Some(function) => function,
            None if is_ours(code) => first,
            None => return None,
        };
        let frame = slot + size_of::<usize>();
        symbols::local(function, address as i64 - frame as i64)
    })
}

/// True if code is this library's.
fn is_ours(code: usize) -> bool {
    let ours = symbols::base(local as *const () as usize);
    ours.is_some() && symbols::base(code) == ours
}
