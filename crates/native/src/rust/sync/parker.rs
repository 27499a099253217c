//! Threads that park. Each has a word for its token, beside its name.
//!
//! Who parks looks at the word and waits for it to change, in compiled code of std's, which nobody sees but for
//! the wait ([`park`]). So tokens are not left in the word: there is always something to wait for. Compiled
//! code that leaves tokens does so unseen; if the thread waits, it asks for it to be woken up ([`wake`]).

use std::ffi::c_int;
use std::ops::Range;
use std::time::Duration;

use raddle_engine::object::{self, Object, parker::Call};
use raddle_engine::{Chance, Operation, ThreadId, World};

use crate::abi::caller;
use crate::execution::{running, shadow_stack};
use crate::host::addresses::Table;
use crate::host::solo::Solo;
use crate::memory::objects;
use crate::rust::{channels, threads};

const KIND: &str = "parker";
const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;
/// What a thread waits for to change.
const PARKED: u32 = u32::MAX;

type Word = *mut u32;

/// The functions that park.
static PARKS: Solo<Vec<Range<usize>>> = Solo::new(Vec::new());

/// The functions of std's that wait for whoever calls them, where they were not inlined.
static WAITS: Solo<Vec<Range<usize>>> = Solo::new(Vec::new());

/// Whose word it was when a thread has last parked there: for stories only.
static OWNERS: Solo<Table<ThreadId>> = Solo::new(Table::new());

/// Such a function is there.
pub(super) fn understand(function: usize, size: usize) {
    OWNERS.get().begin(1);
    PARKS.get().push(function..function + size);
}

/// A function that waits for its caller is there.
pub(super) fn look_beyond(function: usize, size: usize) {
    WAITS.get().push(function..function + size);
}

/// In guest mode: who waits, in a function that goes on at an address: that, or where it was called.
pub(crate) fn who_waits(called: usize) -> usize {
    let is_beyond = WAITS.get().iter().any(|wait| wait.contains(&called));
    match shadow_stack::caller(0) {
        Some(caller) if is_beyond => caller,
        _ => called,
    }
}

/// Whether parking is understood.
pub(super) fn is_understood() -> bool {
    !PARKS.get().is_empty()
}

fn write(word: Word, value: u32) {
    // SAFETY: the program has the word of a thread there.
    unsafe { word.write_volatile(value) };
}

fn operation(word: Word, call: Call) -> impl FnOnce(&mut World) -> Operation {
    let owner = OWNERS.get().get(word as usize).copied();
    // Until it parks, whoever has made its handle knows; the first thread's was made before.
    let owner = owner.or_else(|| threads::whose(word as usize));
    let owner = owner.unwrap_or(ThreadId::new(0));
    let initial = move || Object::Parker(object::parker::Parker::new(owner));
    move |world| Operation::Call {
        object: objects::object(world, word as usize, KIND, initial),
        call: object::Call::Parker(call),
    }
}

/// In host mode: leaves a token; what is to be found in the word, so that nobody is asked to wake up the
/// thread.
pub(super) fn unpark(word: Word, code: usize) -> u32 {
    running().observe(code, caller::top(), operation(word, Call::Unpark));
    EMPTY
}

/// In host mode: somebody who has left a token unseen wakes up the thread. Whether there is one that parks.
pub(crate) fn wake(word: Word, code: usize) -> bool {
    let mut owners = OWNERS.get();
    let is_parker = is_understood() && owners.get(word as usize).is_some();
    drop(owners);
    if is_parker {
        running().perform(code, operation(word, Call::Unpark));
    }
    is_parker
}

/// In host mode: a thread waits while a word is as expected, in a function that goes on at an address. If that
/// is one which parks, it parks, and finds the token in the word; an error, or 0.
pub(crate) fn park(
    word: Word,
    expected: u32,
    time: Option<Duration>,
    (called, code): (usize, usize),
) -> Option<c_int> {
    let is_park = |parks: &Vec<Range<usize>>| parks.iter().any(|park| park.contains(&called));
    if expected != PARKED || !is_park(&PARKS.get()) {
        return None;
    }
    let native = running();
    if let Some(time) = time
        && channels::times_out()
    {
        native.pass_time(time);
        return Some(libc::ETIMEDOUT);
    }
    OWNERS.get().insert(word as usize, native.thread());
    let timeout = time.is_some() && native.may_time_out();
    let timed_out = match wakes_spuriously(code) {
        true => false,
        false => {
            let park = operation(word, Call::Park { timeout });
            native.perform(code, park).to_answer()
        }
    };
    if let Some(time) = time.filter(|_| timed_out) {
        native.pass_time(time);
        return Some(libc::ETIMEDOUT);
    }
    write(word, NOTIFIED);
    Some(0)
}

fn wakes_spuriously(code: usize) -> bool {
    let native = running();
    if !native.may_wake_spuriously() {
        return false;
    }
    let what = Chance::SpuriousUnpark;
    let wakes = native.perform(code, |_| Operation::Chance { what });
    if wakes.to_answer() {
        native.count_spurious_wakeup();
    }
    wakes.to_answer()
}
