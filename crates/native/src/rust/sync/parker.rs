//! Threads that park. Each has a word for its token, next to its name.
//!
//! A parking thread loads the word and waits for it to change, in compiled code of std's, of which
//! only the wait is intercepted ([`park`]). So tokens are not stored in the word, and the thread
//! always waits. Compiled code stores tokens without an operation; if the thread waits, that code
//! wakes it by a futex ([`wake`]).

use std::ffi::c_int;
use std::ops::Range;
use std::time::Duration;

use raddle_engine::object::{self, Object, parker::Call};
use raddle_engine::{Chance, Operation, ThreadId, World};

use crate::abi::caller;
use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::addresses::Table;
use crate::host::process_state::ProcessState;
use crate::memory::objects;
use crate::rust::{channels, threads};

pub(super) const KIND: &str = "parker";
const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;
/// The value of the word while a thread waits.
const PARKED: u32 = u32::MAX;

type Word = *mut u32;

/// The functions that park.
static PARKS: ProcessState<Vec<Range<usize>>> = ProcessState::new(Vec::new());

/// Functions of std's that wait on behalf of their callers, where they were not inlined.
static WAITS: ProcessState<Vec<Range<usize>>> = ProcessState::new(Vec::new());

/// The thread that parked last at each word.
#[derive(Default)]
pub(crate) struct Owners(Table<ThreadId>);

impl Part for Owners {
    fn renew(&mut self) {
        let Owners(table) = self;
        table.clear();
    }
}

pub(crate) static OWNERS: PartCell<Owners> = PartCell::new();

/// Adds a function that parks.
pub(super) fn understand(function: usize, size: usize) {
    PARKS.get().push(function..function + size);
}

/// Adds a function that waits on behalf of its caller.
pub(super) fn look_beyond(function: usize, size: usize) {
    WAITS.get().push(function..function + size);
}

/// In guest mode: returns the return address of the call that waits: `called`, or its caller's if
/// that is inside of a wrapper.
pub(crate) fn waiting_call(called: usize) -> usize {
    let is_beyond = WAITS.get().iter().any(|wait| wait.contains(&called));
    match shadow_stack::caller(0) {
        Some(caller) if is_beyond => caller,
        _ => called,
    }
}

/// True if a function that parks was found.
pub(super) fn is_understood() -> bool {
    !PARKS.get().is_empty()
}

fn write(word: Word, value: u32) {
    // SAFETY: the address must be that of a live parker: `park` or `unpark` is running, and has passed it.
    unsafe { word.write_volatile(value) };
}

fn operation(word: Word, call: Call) -> impl FnOnce(&mut World) -> Operation {
    let owner = OWNERS.get().0.get(word as usize).copied();
    // Until the owner parks, it is known from the allocation of its handle; the first thread's was
    // allocated before.
    let owner = owner.or_else(|| threads::thread_of_packet(word as usize));
    let owner = owner.unwrap_or(ThreadId::new(0));
    let initial = move || Object::Parker(object::parker::Parker::new(owner));
    move |world| Operation::Call {
        object: objects::object(world, word as usize, KIND, initial),
        call: object::Call::Parker(call),
    }
}

/// In host mode: adds a token; returns the value that the access of the word must return, so that
/// the caller does not wake the thread itself.
pub(super) fn unpark(word: Word, code: usize) -> u32 {
    running().observe(code, caller::top(), operation(word, Call::Unpark));
    EMPTY
}

/// In host mode: adds a token for code that has stored one without an operation and wakes the
/// thread. Returns true if the word is a parker's.
pub(crate) fn wake(word: Word, code: usize) -> bool {
    let mut owners = OWNERS.get();
    let is_parker = is_understood() && owners.0.get(word as usize).is_some();
    drop(owners);
    if is_parker {
        running().perform(code, operation(word, Call::Unpark));
    }
    is_parker
}

/// In host mode: parks the running thread if its wait for a word is in a function that parks, at
/// return address `called`. Returns an error, or 0; nothing if it does not park.
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
    OWNERS.get().0.insert(word as usize, native.thread());
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
