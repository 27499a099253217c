//! The thread-locals of modelled threads.
//!
//! A value is made at its first use by the thread and dropped when the thread has run its body, the
//! one made last first, as with std. What has a destructor is gone for good then; what has none can
//! be used by the destructors of others. If an execution stops early, a thread that is unwound drops
//! its values all the same.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Context;

/// By thread, in the order in which they were made.
pub(super) type Locals = Vec<Vec<Local>>;

pub(super) struct Local {
    key: usize,
    /// `None` when it is gone.
    value: Option<LocalValue>,
}

/// A value in a box, without its type.
struct LocalValue {
    pointer: *mut (),
    drop: unsafe fn(*mut ()),
    has_destructor: bool,
}

/// Has an address that no other key has.
pub struct LocalId(#[expect(dead_code, reason = "what has no size may share its address")] u8);

impl LocalId {
    /// To be put into a static.
    #[expect(clippy::new_without_default, reason = "a key is made in a constant")]
    pub const fn new() -> Self {
        LocalId(0)
    }
}

/// What a thread has for a key.
pub enum FoundLocal {
    /// A value.
    Alive(*const ()),
    /// Nothing any more.
    Gone,
    /// Nothing yet.
    None,
}

impl Context {
    /// What the calling thread has for this key.
    pub fn find_local(&self, key: usize) -> FoundLocal {
        let locals = self.locals.borrow();
        let mine = locals.get(self.thread().index());
        match mine.and_then(|mine| mine.iter().find(|local| local.key == key)) {
            Some(local) => match &local.value {
                Some(value) => FoundLocal::Alive(value.pointer),
                None => FoundLocal::Gone,
            },
            None => FoundLocal::None,
        }
    }

    /// Gives the calling thread a value. If making it has made one already, that is dropped, as
    /// with std.
    pub fn add_local<T>(&self, key: usize, value: Box<T>) -> *const T {
        let pointer = Box::into_raw(value);
        let value = LocalValue {
            pointer: pointer.cast(),
            // SAFETY: called once, with the pointer of this box.
            drop: |pointer| drop(unsafe { Box::from_raw(pointer.cast::<T>()) }),
            has_destructor: std::mem::needs_drop::<T>(),
        };
        let thread = self.thread().index();
        let aside = crate::runtime::alloc::aside();
        let mut locals = self.locals.borrow_mut();
        if locals.len() <= thread {
            locals.resize_with(thread + 1, Vec::new);
        }
        let mine = &mut locals[thread];
        let previous = match mine.iter_mut().find(|local| local.key == key) {
            Some(local) => local.value.replace(value),
            None => {
                let value = Some(value);
                mine.push(Local { key, value });
                None
            }
        };
        drop((locals, aside));
        if let Some(previous) = previous {
            previous.drop_it();
        }
        pointer
    }

    /// The calling thread has nothing left to run: drops its values.
    #[inline]
    pub(super) fn drop_locals(&self) {
        if !self.locals.borrow().is_empty() {
            self.drop_all_locals();
        }
    }

    #[cold]
    fn drop_all_locals(&self) {
        let thread = self.thread().index();
        {
            let slot = &mut self.slots.borrow_mut()[thread];
            slot.unwinding = false;
            slot.after_stop.begin_sweep();
        }
        while let Some(value) = self.next_local(thread, true) {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| value.drop_it())) {
                self.note_panic(&*payload);
                let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            }
        }
        while let Some(value) = self.next_local(thread, false) {
            value.drop_it();
        }
    }

    /// Takes the value that was made last.
    fn next_local(&self, thread: usize, has_destructor: bool) -> Option<LocalValue> {
        let mut locals = self.locals.borrow_mut();
        let mut mine = locals.get_mut(thread)?.iter_mut().rev();
        mine.find_map(|local| {
            local
                .value
                .take_if(|value| value.has_destructor == has_destructor)
        })
    }

    /// Forgets the values of threads whose stacks were dropped without unwinding, and that others
    /// are gone.
    pub(super) fn forget_locals(&self) {
        for locals in self.locals.borrow_mut().iter_mut() {
            locals.clear();
        }
    }
}

impl LocalValue {
    fn drop_it(self) {
        // SAFETY: the value is consumed, so this is the only time.
        unsafe { (self.drop)(self.pointer) };
    }
}
