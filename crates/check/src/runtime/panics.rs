//! Panics of modelled threads.
//!
//! std counts panics for each OS thread, but here many modelled threads share one. While a thread
//! is suspended in the middle of unwinding, `std::thread::panicking()` is true for all of them, so
//! it is called only when no such thread exists. Otherwise the records of the panic hook and of our
//! own unwinding decide. One case stays hidden: a panic that user code catches while some *other*
//! thread is suspended in unwinding. Until no thread is, the catching thread counts as panicking.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::PanicHookInfo;
use std::sync::{Mutex, Once, PoisonError};

use raddle_engine::ThreadId;
use raddle_engine::check::panic::{Manner, Panic};

use super::{Abandoned, Context, current};
use crate::runtime::alloc;

/// The panic hook's record of a panic.
pub(super) struct Noted {
    thread: ThreadId,
    message: String,
    place: Option<String>,
    after: usize,
    /// The panic that the thread was unwinding from, if any.
    during: Option<Box<Noted>>,
}

/// std's message when a destructor panics during unwinding. The process ends then.
const ENDS_THE_PROCESS: &str = "panic in a destructor during cleanup";

/// Installs a hook that records panics inside a check instead of printing them; a failure shows
/// them.
pub(crate) fn install_hook() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match current() {
            Some(context) => context.hook(info),
            None => previous(info),
        }));
    });
}

/// Texts of panics inside checks whose payloads were string literals.
static LITERALS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns the payload of a panic inside a check that had this text, if it was a string literal. For front ends that
/// raise a panic of the program again.
pub fn panicked_literal(text: &str) -> Option<&'static str> {
    let literals = LITERALS.lock().unwrap_or_else(PoisonError::into_inner);
    literals.get(text).copied()
}

/// Returns the text of a panic.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    match payload.downcast_ref::<&'static str>() {
        Some(text) => {
            let mut literals = LITERALS.lock().unwrap_or_else(PoisonError::into_inner);
            literals.insert(text);
            (*text).to_owned()
        }
        None => match payload.downcast_ref::<String>() {
            Some(text) => text.clone(),
            None => "(a panic without a text)".to_owned(),
        },
    }
}

impl Noted {
    /// Combines the panics that led to one that ends the process.
    fn last_of_all(&self) -> Panic {
        let mut panics: Vec<&Noted> =
            std::iter::successors(self.during.as_deref(), |noted| noted.during.as_deref())
                .collect();
        panics.reverse();
        let mut text = String::new();
        for (index, noted) in panics.iter().enumerate() {
            let place = noted.place.as_deref().unwrap_or("an unknown place");
            if index > 0 {
                text += &format!("\nand panicked again at {place}, in a destructor on the way:\n");
            }
            text += &noted.message;
        }
        text += match panics.len() {
            // The panic that unwinds a thread whose execution has stopped is not counted.
            1 => {
                "\nin a destructor, when the execution had been stopped and the thread was unwound, \
                 which ends the process\n"
            }
            _ => "\nwhich ends the process, as it does outside a check\n",
        };
        text += "help: a destructor must not panic while its thread does; ask \
                 `raddle::thread::panicking()`";
        Panic {
            thread: self.thread,
            manner: Manner::Panic,
            message: text,
            place: panics.first().and_then(|noted| noted.place.clone()),
            after: panics.first().map_or(self.after, |noted| noted.after),
            joined_by: None,
        }
    }
}

impl Context {
    fn hook(&self, info: &PanicHookInfo<'_>) {
        let _aside = alloc::aside();
        let thread = self.thread.get();
        let mut again = false;
        if let Ok(mut slots) = self.slots.try_borrow_mut()
            && let Some(slot) = slots.get_mut(thread.index())
        {
            again = std::mem::replace(&mut slot.unwinding, true);
        }
        let events = self
            .exploration
            .try_borrow()
            .map(|e| e.execution().events.len());
        let mut panics = self.last_panics.borrow_mut();
        let mine = panics.iter().position(|noted| noted.thread == thread);
        let earlier = mine.map(|position| Box::new(panics.swap_remove(position)));
        let noted = Noted {
            thread,
            message: message(info.payload()),
            place: info.location().map(ToString::to_string),
            after: events.unwrap_or(0),
            during: earlier.filter(|_| again),
        };
        if noted.message == ENDS_THE_PROCESS {
            self.fatal.report_panic(self, &noted.last_of_all());
        }
        panics.push(noted);
    }

    /// Records the panic with which a thread is about to end.
    pub fn note_panic(&self, payload: &(dyn Any + Send)) {
        if payload.is::<Abandoned>() {
            return;
        }
        let thread = self.thread.get();
        let noted = {
            let mut panics = self.last_panics.borrow_mut();
            let mine = panics.iter().position(|noted| noted.thread == thread);
            mine.map(|position| panics.remove(position))
        };
        let _aside = alloc::aside();
        let message = message(payload);
        self.with_world(|world| {
            let events = world.state().execution().events.len();
            world.add_panic(Panic {
                thread,
                manner: Manner::Panic,
                message,
                after: noted.as_ref().map_or(events, |noted| noted.after),
                place: noted.and_then(|noted| noted.place),
                joined_by: None,
            });
        });
    }

    /// True when `thread` ended by a panic that no thread has joined.
    pub fn has_unjoined_panic(&self, thread: ThreadId) -> bool {
        let exploration = self.exploration.borrow();
        let mut panics = exploration.execution().panics.iter();
        panics.any(|panic| panic.thread == thread && panic.joined_by.is_none())
    }

    /// Marks the panic of `thread` as joined by the calling thread; true if there was one that no
    /// thread had joined.
    pub fn join_panic(&self, thread: ThreadId) -> bool {
        self.with_world(|world| world.join_panic(thread, self.thread.get()))
    }

    /// True when the calling modelled thread is unwinding, as far as known.
    #[inline]
    pub fn is_unwinding(&self) -> bool {
        if self.unwinding.get() == 0 {
            std::thread::panicking()
        } else {
            self.slots.borrow()[self.thread.get().index()].unwinding
        }
    }
}
