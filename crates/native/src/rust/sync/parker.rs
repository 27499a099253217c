//! Threads that park. Each has a word for its token, beside its name.
//!
//! A parking thread loads the word and waits for it to change, in compiled code of std's, of which only the
//! wait is seen ([`park`]). So tokens are not left in the word: there is always something to wait for.
//! Compiled code leaves tokens unseen; if the thread waits, it wakes it by a futex ([`wake`]).

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

const KIND: &str = "parker";
const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;
/// The value of the word while a thread waits.
const PARKED: u32 = u32::MAX;

type Word = *mut u32;

/// The functions that park.
static PARKS: ProcessState<Vec<Range<usize>>> = ProcessState::new(Vec::new());

/// Functions of std's that wait for their callers, where they were not inlined.
static WAITS: ProcessState<Vec<Range<usize>>> = ProcessState::new(Vec::new());

/// The thread that has last parked at each word.
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

/// Adds a function that waits for its caller.
pub(super) fn look_beyond(function: usize, size: usize) {
    WAITS.get().push(function..function + size);
}

/// In guest mode: returns the address after the call that waits: `called`, or its caller's if that is inside
/// of a wrapper.
pub(crate) fn who_waits(called: usize) -> usize {
    let is_beyond = WAITS.get().iter().any(|wait| wait.contains(&called));
    match shadow_stack::caller(0) {
        Some(caller) if is_beyond => caller,
        _ => called,
    }
}

/// True if parking is understood.
pub(super) fn is_understood() -> bool {
    !PARKS.get().is_empty()
}

fn write(word: Word, value: u32) {
    // SAFETY: the address must be that of a live parker: `park` or `unpark` is running, and has passed it.
    unsafe { word.write_volatile(value) };
}

fn operation(word: Word, call: Call) -> impl FnOnce(&mut World) -> Operation {
    let owner = OWNERS.get().0.get(word as usize).copied();
    // Until it parks, the owner is known from the allocation of its handle; the first thread's was made
    // before.
    let owner = owner.or_else(|| threads::whose(word as usize));
    let owner = owner.unwrap_or(ThreadId::new(0));
    let initial = move || Object::Parker(object::parker::Parker::new(owner));
    move |world| Operation::Call {
        object: objects::object(world, word as usize, KIND, initial),
        call: object::Call::Parker(call),
    }
}

/// In host mode: leaves a token; returns the value to be found in the word, so that the caller does not wake
/// the thread itself.
pub(super) fn unpark(word: Word, code: usize) -> u32 {
    running().observe(code, caller::top(), operation(word, Call::Unpark));
    EMPTY
}

/// In host mode: code that has left a token unseen wakes the thread. Returns true if a thread parks at the
/// word.
pub(crate) fn wake(word: Word, code: usize) -> bool {
    let mut owners = OWNERS.get();
    let is_parker = is_understood() && owners.0.get(word as usize).is_some();
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
