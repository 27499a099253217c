//! Readers-writer locks: a word that counts readers.
//!
//! Taking one is a load and an exchange, in code of the program's: the thread waits at the load,
//! and no other thread runs between the two.

use raddle_engine::object::{self, Object, rwlock::Call};
use raddle_engine::{Grant, Reply};

use super::{Access, at, mutex};
use crate::host::mode::host;
use crate::memory::objects;

pub(super) const KIND: &str = "RwLock";
pub(super) const READER: u32 = 1;
pub(super) const WRITER: u32 = (1 << 30) - 1;

type Word = *mut u32;

/// Operations of a readers-writer lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shared {
    Read,
    TryRead,
    Write,
    TryWrite,
    ReadUnlock,
    WriteUnlock,
    Downgrade,
}

fn read(word: Word) -> u32 {
    // SAFETY: the address must be that of a live lock: a method of the lock is running, and has passed it.
    unsafe { word.read_volatile() }
}

/// Changes the word; returns the value before.
fn change(word: Word, to: impl FnOnce(u32) -> u32) -> u32 {
    let before = read(word);
    // SAFETY: as for `read`; other threads of the program do not run meanwhile.
    unsafe { word.write_volatile(to(before)) };
    before
}

fn call(word: Word, call: Call, code: usize) -> Reply {
    let initial = || Object::RwLock(object::rwlock::RwLock::default());
    at(code, || {
        super::during(word as usize, "uses a readers-writer lock", code, || {
            objects::call(word as usize, KIND, initial, call, code)
        })
    })
}

/// Changes the number of readers that hold the lock and that the model knows; returns it.
fn readers(word: Word, change: impl FnOnce(&mut u32)) -> u32 {
    objects::count(word as usize, change)
}

/// True if the lock has a writer that the model knows.
fn is_written(word: Word) -> bool {
    objects::with(word as usize, |known| known.holder.is_some()) == Some(true)
}

fn hold(word: Word) {
    host(|| objects::hold(word as usize));
    // The holder is a writer, not a reader.
    readers(word, |readers| *readers = 0);
}

/// In guest mode: performs the operation that an access in one of the lock's functions represents;
/// returns the value that the access must return.
pub(super) fn perform(word: Word, wanted: Shared, access: Access, code: usize) -> Option<u32> {
    use Shared::*;
    Some(match (wanted, access) {
        (Read, Access::Load) => {
            call(word, Call::Read, code);
            readers(word, |readers| *readers += 1);
            read(word)
        }
        (TryRead, Access::Load) => match call(word, Call::TryRead, code).to_grant() {
            Grant::Refused => WRITER,
            Grant::Taken { .. } => {
                readers(word, |readers| *readers += 1);
                read(word)
            }
        },
        (TryWrite, Access::Load) => match call(word, Call::TryWrite, code).to_grant() {
            Grant::Refused => read(word).max(READER),
            Grant::Taken { .. } => {
                hold(word);
                read(word)
            }
        },
        (Read | TryRead | TryWrite, Access::CompareExchange(_, new)) => {
            change(word, |_| new as u32)
        }
        (Write, Access::CompareExchange(..)) => {
            call(word, Call::Write, code);
            hold(word);
            change(word, |_| WRITER)
        }
        (ReadUnlock, Access::Subtract(_)) if readers(word, |_| ()) > 0 => {
            readers(word, |readers| *readers -= 1);
            call(word, Call::ReadUnlock, code);
            change(word, |before| before - READER)
        }
        (WriteUnlock, Access::Subtract(_)) if is_written(word) => {
            objects::let_go(word as usize);
            let poison = mutex::is_poisoned();
            call(word, Call::WriteUnlock { poison }, code);
            change(word, |_| 0)
        }
        (Downgrade, Access::Add(_)) if is_written(word) => {
            objects::let_go(word as usize);
            readers(word, |readers| *readers = 1);
            call(word, Call::Downgrade, code);
            change(word, |_| READER)
        }
        _ => return None,
    })
}
