//! `Once`.
//!
//! std's own function runs the closure and keeps the word in memory, but only one thread at a time
//! enters it. That function also finds that the closure has run already, and not the load of the
//! word before it.

use std::sync::atomic::Ordering::Relaxed;

use raddle_engine::object::{self, Object, once};
use raddle_engine::{Grant, Operation, Reply};

use super::modules;
use super::replaced::{ONCE_CALL, ONCE_WAIT};
use crate::abi::caller;
use crate::execution::{running, shadow_stack};
use crate::host::mode::host;
use crate::memory::objects;

pub(super) const KIND: &str = "Once";
const COMPLETE: u32 = 0;
const POISONED: u32 = 2;
const INCOMPLETE: u32 = 3;

type Word = *mut u32;

fn read(word: Word) -> u32 {
    // SAFETY: the address must be that of a live `Once`: a method of it is running, and has passed it.
    unsafe { word.read_volatile() }
}

fn initial(word: Word) -> Object {
    Object::Once(match read(word) {
        COMPLETE => once::Once::Done,
        POISONED => once::Once::Poisoned,
        _ => once::Once::New,
    })
}

fn call(word: Word, call: once::Call, code: usize) -> Reply {
    let call = object::Call::Once(call);
    super::during(word as usize, "uses a once flag", code, || {
        objects::call(word as usize, KIND, || initial(word), call, code)
    })
}

/// In host mode: queries if it is completed; returns the value that the load of the word must
/// return.
pub(super) fn is_completed(word: Word, code: usize) -> u32 {
    let ask = |world: &mut _| Operation::Call {
        object: objects::object(world, word as usize, KIND, || initial(word)),
        call: object::Call::Once(once::Call::IsCompleted),
    };
    let reply = super::during(word as usize, "uses a once flag", code, || {
        running().observe(code, caller::top(), ask)
    });
    if reply.to_answer() {
        COMPLETE
    } else {
        INCOMPLETE
    }
}

/// Returns the value that the load of the word must return before a call, which runs the closure if
/// it has not run. Nothing if calls are not replaced.
pub(super) fn look() -> Option<u32> {
    (ONCE_CALL.load(Relaxed) != 0).then_some(INCOMPLETE)
}

/// A call in progress; it ends, completed or not, when this is dropped.
struct Doing {
    word: Word,
    code: usize,
}

impl Drop for Doing {
    fn drop(&mut self) {
        let poison = read(self.word) != COMPLETE;
        host(|| call(self.word, once::Call::Finish { poison }, self.code));
    }
}

/// Stand-in of `Once::call`, with the two words of the closure and the place of the caller.
pub(super) extern "C-unwind" fn do_once(
    word: Word,
    insist: bool,
    closure: usize,
    table: usize,
    place: usize,
    code: usize,
) {
    type Call = unsafe extern "C-unwind" fn(Word, bool, usize, usize, usize);
    if !modules::is_seen(code) {
        // Calls inside of std's own code are not modelled.
        // SAFETY: the number is the address of the function that this one replaces, which has this
        // type, and the arguments are those of its caller.
        return unsafe {
            let original: Call = std::mem::transmute(ONCE_CALL.load(Relaxed));
            original(word, insist, closure, table, place)
        };
    }
    let code = shadow_stack::users(code);
    let begin = once::Call::Begin { insist };
    let poisoned = match host(|| call(word, begin, code)).to_grant() {
        Grant::Refused => return,
        Grant::Taken { poisoned } => poisoned,
    };
    let doing = (insist || !poisoned).then(|| Doing { word, code });
    // SAFETY: the number is the function that this one replaces, which has this type, and the arguments are
    // those of its caller.
    unsafe {
        let original: Call = std::mem::transmute(ONCE_CALL.load(Relaxed));
        original(word, insist, closure, table, place);
    }
    drop(doing);
}

/// Waits until it is completed; returns true if it is poisoned instead.
fn wait_for(word: Word, insist: bool, code: usize) -> bool {
    let code = shadow_stack::users(code);
    host(|| call(word, once::Call::Wait { insist }, code)).to_answer()
}

/// Stand-in of `Once::wait`, with the place of the caller.
pub(super) extern "C-unwind" fn wait(word: Word, place: usize, code: usize) {
    type Wait = unsafe extern "C-unwind" fn(Word, usize);
    if wait_for(word, false, code) {
        // SAFETY: the number is the address of the function that this one replaces, which has this
        // type, and the arguments are those of its caller. It panics.
        unsafe {
            let original: Wait = std::mem::transmute(ONCE_WAIT.load(Relaxed));
            original(word, place);
        }
    }
}

/// Stand-in of `Once::wait_force`.
pub(super) extern "C-unwind" fn wait_force(word: Word, _place: usize, code: usize) {
    wait_for(word, true, code);
}
