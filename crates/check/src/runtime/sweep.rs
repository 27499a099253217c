//! Drops an execution's copies of statics, when its threads are gone.
//!
//! std never drops a static, so this is not part of the execution. Destructors are user code all
//! the same, and may lock, load and join. They run in a coroutine of the main thread, where
//! operations are performed as for threads that are left behind ([`super::abandon`]), except that
//! no thread is unwound. If a destructor uses a static that was dropped already, a new copy is
//! made.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle_engine::ThreadId;
use raddle_engine::check::panic::Panic;

use super::Context;
use super::abandon::AfterStop;

/// Maximum number of copies dropped after one execution; reached only if destructors make new
/// copies without end.
const MAX_DROPS: usize = 100_000;

impl Context {
    /// Drops the copies of statics if all threads are gone. Returns the first panic of a
    /// destructor.
    #[inline]
    pub(crate) fn sweep(&self) -> Option<Panic> {
        if self.statics.borrow().has_copies() || self.leftovers.has_last() {
            self.sweep_copies()
        } else {
            None
        }
    }

    #[cold]
    fn sweep_copies(&self) -> Option<Panic> {
        if self.slots.borrow().iter().any(|slot| !slot.home.is_empty()) {
            return None;
        }
        let panics = || self.exploration.borrow().execution().panics.len();
        let before = panics();
        self.begin_sweep();
        self.unwind_threads();
        self.statics.borrow_mut().forget_copies();
        let exploration = self.exploration.borrow();
        exploration.execution().panics.get(before).cloned()
    }

    fn begin_sweep(&self) {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[ThreadId::MAIN.index()];
        let body = |context: &Context, _| {
            if let Some(last) = context.leftovers.take_last()
                && let Err(payload) = catch_unwind(last)
            {
                context.note_destructor_panic(payload);
            }
            context.drop_copies();
            context.drop_locals();
        };
        // SAFETY: `put_coroutine` needs borrows that outlive the coroutine: the closure has none.
        unsafe { self.put_coroutine(slot, ThreadId::MAIN, body) };
        slot.unwinding = false;
        slot.after_stop = AfterStop::default();
        slot.after_stop.begin_sweep();
    }

    fn drop_copies(&self) {
        for _ in 0..MAX_DROPS {
            let next = self.statics.borrow_mut().next_to_drop();
            let Some((number, copy)) = next else { return };
            if copy.is_guarded() {
                continue;
            }
            // SAFETY: the copy has been taken out of the table, so it is dropped once.
            let drop_it = || unsafe { copy.drop_value() };
            match catch_unwind(AssertUnwindSafe(drop_it)) {
                Ok(()) => self.statics.borrow_mut().give_back(number, &copy),
                Err(payload) => self.note_destructor_panic(payload),
            }
        }
    }

    fn note_destructor_panic(&self, payload: Box<dyn Any + Send>) {
        self.note_panic(&*payload);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
    }
}
