//! The vocabulary of items: one table for each type, used for writing and for reading.
//!
//! Words are separated by spaces, and fields follow in the order of the table. A new variant or
//! field needs an entry here and a new [`VERSION`](super::VERSION).

use std::sync::atomic::Ordering;

use super::Problem;
use super::words::{Reader, Words, push, unknown};
use crate::base::ids::ThreadId;
use crate::memory::Strength;
use crate::model::operation::{Ports, Update, UpdateKind};
use crate::object::{
    Call, Object, barrier, channel, condvar, counted, monitor, mutex, once, parker, port, rwlock,
    semaphore,
};
use crate::search::explore::frame::Change;
use crate::search::graph::NodeKind;

/// One word for each variant, then its fields.
macro_rules! tables {
    ($($type:path {
        $($word:literal => $variant:ident $(($($value:ident),*))? $({ $($field:ident),* })?,)*
    })*) => {
        $(impl Words for $type {
            #[allow(unused_variables, reason = "some types have no variants")]
            fn write(&self, out: &mut String) {
                use $type as This;
                match *self {
                    $(This::$variant $(($(ref $value),*))? $({ $(ref $field),* })? => {
                        push(out, $word);
                        $($($value.write(out);)*)?
                        $($($field.write(out);)*)?
                    })*
                    #[allow(unreachable_patterns, reason = "if all are listed")]
                    _ => unreachable!("a variant that is never part of a graph"),
                }
            }

            fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
                #[allow(unused_imports, reason = "some types have no variants")]
                use $type as This;
                match words.word()? {
                    $($word => {
                        $($(let $value = words.read()?;)*)?
                        $($(let $field = words.read()?;)*)?
                        Ok(This::$variant $(($($value),*))? $({ $($field),* })?)
                    })*
                    word => Err(unknown(word)),
                }
            }
        })*
    };
}

tables! {
    NodeKind {
        "begin" => Begin,
        "end" => End { location },
        "spawn" => Spawn { child },
        "join" => Join { target },
        "local" => Local,
        "fence" => Fence,
        "choose" => Choose { alternatives },
        "read" => Read { location },
        "read-for-update" => ReadForUpdate { location, update },
        "write" => Write { location },
        "write-of-update" => WriteOfUpdate { location },
        "send" => Send { port },
        "receive" => Receive { ports, wait },
        "delivered" => Delivered { port },
        "hang-up" => HangUp { port, location },
        "meet" => Arrive { barrier },
        "met" => Pass { barrier },
        "leads" => AskLeader { barrier },
        "call" => Call { object, call },
        "silent" => Silent { object, call },
        "complete" => Completion { object },
    }
    Change {
        "source" => Source { read, source, outcome },
        "place" => Place { write, position },
        "place-for-read" => PlaceForRead { write, position, read, outcome },
        "complete" => Complete { stamp, call, outcome },
        "choose" => Choose { event, outcome },
        "take" => Take { receive, send },
        "group" => Regroup { stamp, group },
        "arrive" => Deliver { send, position },
        "gather" => RevisitGroup { meeting, newest, companions },
        "revisit" => Revisit { receive, send },
    }
    UpdateKind {
        "swap" => Swap(value),
        "add" => Add(value),
        "sub" => Sub(value),
        "and" => And(value),
        "nand" => Nand(value),
        "or" => Or(value),
        "xor" => Xor(value),
        "max" => Max(value),
        "min" => Min(value),
        "signed-max" => SignedMax(value),
        "signed-min" => SignedMin(value),
        "compare-exchange" => CompareExchange { expected, new, weak },
    }
    Ports {
        "one" => One(port),
        "any" => Any(list),
    }
    Call {
        "barrier" => Barrier(call),
        "channel" => Channel(call),
        "condvar" => Condvar(call),
        "counted" => Counted(call),
        "monitor" => Monitor(call),
        "mutex" => Mutex(call),
        "once" => Once(call),
        "parker" => Parker(call),
        "port" => Port(call),
        "rwlock" => RwLock(call),
        "semaphore" => Semaphore(call),
    }
    channel::Call {
        "send" => Send,
        "delivered" => Delivered(number),
        "try-send" => TrySend,
        "receive" => Receive,
        "accept" => Accept { timeout },
        "try-receive" => TryReceive,
        "clone" => Clone,
        "hang-up" => HangUp,
        "leave" => Leave,
    }
    condvar::Call {
        "wait" => Wait { spurious, looked },
        "wake" => Wake { timeout },
        "notify-one" => NotifyOne,
        "notify-all" => NotifyAll,
    }
    counted::Call {
        "clone" => Clone,
        "downgrade" => Downgrade,
        "drop" => Drop,
        "drop-weak" => DropWeak,
        "upgrade" => Upgrade,
        "try-unwrap" => TryUnwrap,
        "is-unique" => IsUnique,
        "count" => Count,
    }
    monitor::Call {
        "enter" => Enter,
        "exit" => Exit,
        "wait" => Wait(condition),
        "resume" => Resume,
        "signal" => Signal(condition),
        "signal-all" => SignalAll(condition),
        "waiting" => Waiting(condition),
    }
    monitor::Discipline {
        "signal-continue" => SignalContinue,
        "signal-urgent" => SignalUrgent,
    }
    mutex::Call {
        "lock" => Lock,
        "try-lock" => TryLock,
        "unlock" => Unlock { poison },
        "is-poisoned" => IsPoisoned,
        "clear-poison" => ClearPoison,
    }
    once::Call {
        "begin" => Begin { insist },
        "finish" => Finish { poison },
        "is-completed" => IsCompleted,
        "wait" => Wait { insist },
    }
    once::Once {
        "new" => New,
        "running" => Running(thread),
        "done" => Done,
        "poisoned" => Poisoned,
    }
    parker::Call {
        "park" => Park { timeout },
        "unpark" => Unpark,
    }
    rwlock::Call {
        "read" => Read,
        "try-read" => TryRead,
        "write" => Write,
        "try-write" => TryWrite,
        "read-unlock" => ReadUnlock,
        "write-unlock" => WriteUnlock { poison },
        "downgrade" => Downgrade,
        "is-poisoned" => IsPoisoned,
        "clear-poison" => ClearPoison,
    }
    semaphore::Call {
        "acquire" => Acquire,
        "try-acquire" => TryAcquire,
        "release" => Release,
    }
}

/// Types without values.
macro_rules! never {
    ($($type:path),*) => {
        $(impl Words for $type {
            fn write(&self, _out: &mut String) {
                match *self {}
            }

            fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
                Err(unknown(words.word()?))
            }
        })*
    };
}

never! { barrier::Call, port::Call }

impl Words for Strength {
    fn write(&self, out: &mut String) {
        let word = match (self.acquires(), self.releases()) {
            _ if self.is_seq_cst() => "seq-cst",
            (true, true) => "acq-rel",
            (true, false) => "acquire",
            (false, true) => "release",
            (false, false) => "relaxed",
        };
        push(out, word);
    }

    fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(Strength::of(match words.word()? {
            "seq-cst" => Ordering::SeqCst,
            "acq-rel" => Ordering::AcqRel,
            "acquire" => Ordering::Acquire,
            "release" => Ordering::Release,
            "relaxed" => Ordering::Relaxed,
            word => return Err(unknown(word)),
        }))
    }
}

impl Words for Update {
    fn write(&self, out: &mut String) {
        self.bits.write(out);
        self.kind.write(out);
    }

    fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
        let bits: u8 = words.read()?;
        if !(1..=64).contains(&bits) {
            return Err(unknown(&bits.to_string()));
        }
        Ok(Update {
            bits,
            kind: words.read()?,
        })
    }
}

/// An object in its initial state.
impl Words for Object {
    fn write(&self, out: &mut String) {
        match self {
            Object::Barrier(barrier) => {
                push(out, "barrier");
                barrier.size().write(out);
            }
            Object::Channel(channel) => {
                push(out, "channel");
                channel.bound().write(out);
            }
            Object::Condvar(_) => push(out, "condvar"),
            Object::Counted(_) => push(out, "counted"),
            Object::Monitor(monitor) => {
                push(out, "monitor");
                monitor.discipline().write(out);
            }
            Object::Mutex(mutex) => {
                push(out, "mutex");
                mutex.poisoned().write(out);
            }
            Object::Once(once) => {
                push(out, "once");
                once.write(out);
            }
            Object::Parker(_) => push(out, "parker"),
            Object::Port(port) => {
                push(out, "port");
                port.is_ordered().write(out);
            }
            Object::RwLock(lock) => {
                push(out, "rwlock");
                lock.poisoned().write(out);
            }
            Object::Semaphore(semaphore) => {
                push(out, "semaphore");
                semaphore.is_counting().write(out);
                semaphore.permits().write(out);
            }
        }
    }

    fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(match words.word()? {
            "barrier" => Object::Barrier(barrier::Barrier::new(words.read()?)),
            "channel" => Object::Channel(channel::Channel::new(words.read()?)),
            "condvar" => Object::Condvar(condvar::Condvar::default()),
            // The associated object is used in diagnostics only, which ask the running world.
            "counted" => Object::Counted(counted::Counted::default()),
            "monitor" => Object::Monitor(monitor::Monitor::new(words.read()?)),
            "mutex" => Object::Mutex(mutex::Mutex::new(words.read()?)),
            "once" => Object::Once(words.read()?),
            // So is the owner.
            "parker" => Object::Parker(parker::Parker::new(ThreadId::MAIN)),
            // So is the number of senders: a graph has the hang-ups.
            "port" => Object::Port(match words.read()? {
                true => port::Port::ordered(0),
                false => port::Port::unordered(),
            }),
            "rwlock" => Object::RwLock(rwlock::RwLock::new(words.read()?)),
            "semaphore" => Object::Semaphore(match words.read()? {
                true => semaphore::Semaphore::counting(words.read()?),
                false => semaphore::Semaphore::binary(words.read::<u32>()? > 0),
            }),
            word => return Err(unknown(word)),
        })
    }
}
