//! Panics of modelled threads.
//!
//! std counts panics for each OS thread, but here many modelled threads share one. While a thread
//! is suspended in the middle of unwinding, `std::thread::panicking()` is true for all of them, so
//! it is asked only when no such thread exists; otherwise we go by what the panic hook and our own
//! unwinding have told us. The one thing that stays hidden is a panic that user code catches while
//! some *other* thread is suspended in unwinding: until no thread is, the catching thread still
//! counts as panicking.

use std::any::Any;
use std::panic::PanicHookInfo;
use std::sync::Once;

use raddle_engine::ThreadId;
use raddle_engine::check::panic::Panic;

use super::{Abandoned, Context, current};

/// What the panic hook knows of a panic.
pub(super) struct Noted {
    thread: ThreadId,
    place: Option<String>,
    after: usize,
}

/// Panics inside a check are part of what is explored: they are recorded, and shown when they are
/// a failure, rather than printed each time they happen.
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

impl Context {
    fn hook(&self, info: &PanicHookInfo<'_>) {
        let thread = self.thread.get();
        if let Ok(mut slots) = self.slots.try_borrow_mut()
            && let Some(slot) = slots.get_mut(thread.index())
        {
            slot.unwinding = true;
        }
        let events = self
            .exploration
            .try_borrow()
            .map(|e| e.execution().events.len());
        *self.last_panic.borrow_mut() = Some(Noted {
            thread,
            place: info.location().map(ToString::to_string),
            after: events.unwrap_or(0),
        });
    }

    /// A thread is about to end with this panic.
    pub(crate) fn note_panic(&self, payload: &(dyn Any + Send)) {
        if payload.is::<Abandoned>() {
            return;
        }
        let thread = self.thread.get();
        let noted = self
            .last_panic
            .borrow_mut()
            .take()
            .filter(|noted| noted.thread == thread);
        let message = match payload.downcast_ref::<&str>() {
            Some(text) => (*text).to_owned(),
            None => match payload.downcast_ref::<String>() {
                Some(text) => text.clone(),
                None => "(a panic without a text)".to_owned(),
            },
        };
        self.with_world(|world| {
            let events = world.state().execution().events.len();
            world.add_panic(Panic {
                thread,
                message,
                after: noted.as_ref().map_or(events, |noted| noted.after),
                place: noted.and_then(|noted| noted.place),
                joined_by: None,
            });
        });
    }

    /// If `thread` ended by a panic that nobody has taken, the calling thread takes it.
    pub(crate) fn join_panic(&self, thread: ThreadId) -> bool {
        self.with_world(|world| world.join_panic(thread, self.thread.get()))
    }

    /// Whether the calling modelled thread is unwinding, as far as can be told.
    #[inline]
    pub(crate) fn is_unwinding(&self) -> bool {
        if self.unwinding.get() == 0 {
            std::thread::panicking()
        } else {
            self.slots.borrow()[self.thread.get().index()].unwinding
        }
    }
}
