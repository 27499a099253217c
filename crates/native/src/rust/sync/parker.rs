//! Threads that park. Each has a word for its token, beside its name.
//!
//! Compiled code of std's leaves tokens without telling anybody. If the thread is parked, it asks the kernel
//! to wake it up, which is seen ([`wake`]); if not, the word tells when it parks.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use raddle_engine::object::{self, Object, parker::Call};
use raddle_engine::{Chance, Operation, Reply, ThreadId};

use super::entries::CURRENT;
use super::patch;
use crate::addresses::Table;
use crate::execution::running;
use crate::mode::host;
use crate::rust::channels;
use crate::rust::threads;
use crate::solo::Solo;
use crate::tsan::calls;
use crate::{interrupts, objects, trampoline};

const KIND: &str = "parker";
const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;
const PARKED: u32 = u32::MAX;

type Word = *mut u32;

/// How far behind what a handle of a thread points to its word is; 0 as long as nobody knows.
static FIELD: AtomicUsize = AtomicUsize::new(0);

/// Whose word it was when a thread has last parked there: for stories only.
static OWNERS: Solo<Table<ThreadId>> = Solo::new(Table::new());

/// Finds the word: it is what a function that parks changes first. Whether that is known now.
pub(super) fn understand(function: usize, size: usize) -> bool {
    let first = patch::instructions(function, size)
        .into_iter()
        .find(|it| it.has_lock_prefix() && it.memory_size().size() == size_of::<u32>());
    let field = first.map_or(0, |it| it.memory_displacement64() as usize);
    FIELD.store(field, Relaxed);
    OWNERS.get().begin(1);
    field != 0
}

/// Whether parking is understood.
pub(super) fn is_understood() -> bool {
    FIELD.load(Relaxed) != 0
}

fn read(word: Word) -> u32 {
    // SAFETY: the program has the word of a thread there.
    unsafe { word.read_volatile() }
}

/// Changes the word; what was there before.
fn change(word: Word, to: u32) -> u32 {
    let before = read(word);
    // SAFETY: as above.
    unsafe { word.write_volatile(to) };
    before
}

fn call(word: Word, call: Call, code: usize, top: usize) -> Reply {
    let owner = OWNERS.get().get(word as usize).copied();
    // Until it parks, whoever has made its handle knows; the first thread's was made before.
    let owner = owner.or_else(|| threads::whose(word as usize));
    let owner = owner.unwrap_or(ThreadId::new(0));
    let initial = || Object::Parker(object::parker::Parker::new(owner));
    let operation = |world: &mut _| Operation::Call {
        object: objects::object(world, word as usize, KIND, initial),
        call: object::Call::Parker(call),
    };
    running().observe(code, top, operation)
}

/// Whether there is a token that was left in an operation.
fn is_left(word: Word) -> bool {
    objects::with(word as usize, |known| known.depth > 0) == Some(true)
}

fn set_left(word: Word, is_left: bool) {
    objects::with(word as usize, |known| known.depth = is_left.into());
}

/// In host mode: leaves a token; what is to be found in the word, so that nobody is asked to wake up the
/// thread.
pub(super) fn unpark(word: Word, code: usize) -> u32 {
    call(word, Call::Unpark, code, trampoline::top());
    let before = change(word, NOTIFIED);
    set_left(word, true);
    if before == PARKED { EMPTY } else { before }
}

/// In host mode: somebody who has left a token unseen wakes up the thread. Whether there is one that parks.
pub(crate) fn wake(word: Word, code: usize) -> bool {
    let is_parker = OWNERS
        .try_get()
        .is_some_and(|mut it| is_understood() && it.get(word as usize).is_some());
    if is_parker && !is_left(word) {
        call(word, Call::Unpark, code, trampoline::top());
        set_left(word, true);
    }
    is_parker
}

fn park_for(word: Word, time: Option<Duration>, code: usize) {
    let native = running();
    let top = trampoline::top();
    if let Some(time) = time
        && channels::times_out()
    {
        return native.pass_time(time);
    }
    OWNERS.get().insert(word as usize, native.thread());
    interrupts::scheduling_point(code);
    if native.may_wake_spuriously() {
        let what = Chance::SpuriousUnpark;
        let reply = native.observe(code, top, |_| Operation::Chance { what });
        if reply.to_answer() {
            return native.count_spurious_wakeup();
        }
    }
    if read(word) == NOTIFIED && !is_left(word) {
        call(word, Call::Unpark, code, top);
        set_left(word, true);
    }
    if read(word) == EMPTY {
        change(word, PARKED);
    }
    let timeout = time.is_some() && native.may_time_out();
    let timed_out = call(word, Call::Park { timeout }, code, top).to_answer();
    change(word, EMPTY);
    set_left(word, false);
    if let Some(time) = time.filter(|_| timed_out) {
        native.pass_time(time);
    }
}

/// The word of the thread that a handle points to.
fn word(handle: usize) -> Word {
    (handle + FIELD.load(Relaxed)) as Word
}

/// `Thread::park`.
pub(super) extern "C-unwind" fn park(thread: *const usize, code: usize) {
    // SAFETY: a handle of std's is a pointer to what it knows of the thread.
    let handle = unsafe { thread.read() };
    let code = calls::users(code);
    host(|| park_for(word(handle), None, code));
}

/// `Thread::park_timeout`.
pub(super) extern "C-unwind" fn park_timeout(
    thread: *const usize,
    seconds: u64,
    nanoseconds: u32,
    code: usize,
) {
    // SAFETY: as above.
    let handle = unsafe { thread.read() };
    let code = calls::users(code);
    let time = Duration::new(seconds, nanoseconds);
    host(|| park_for(word(handle), Some(time), code));
}

/// In guest mode: a handle of the running thread.
fn current() -> usize {
    let current = CURRENT.load(Relaxed);
    // SAFETY: std's own function, whose result is a pointer that counts; and there is another one.
    unsafe {
        let current: extern "C-unwind" fn() -> usize = std::mem::transmute(current);
        let handle = current();
        let count = handle as *mut usize;
        count.write(count.read() - 1);
        handle
    }
}

/// `std::thread::park`.
pub(super) extern "C-unwind" fn park_self(code: usize) {
    let handle = trampoline::keeping_top(current);
    let code = calls::users(code);
    host(|| park_for(word(handle), None, code));
}

/// `std::thread::park_timeout`.
pub(super) extern "C-unwind" fn park_self_timeout(seconds: u64, nanoseconds: u32, code: usize) {
    let handle = trampoline::keeping_top(current);
    let code = calls::users(code);
    let time = Duration::new(seconds, nanoseconds);
    host(|| park_for(word(handle), Some(time), code));
}
