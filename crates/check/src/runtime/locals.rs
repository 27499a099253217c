//! The thread-locals of modelled threads.
//!
//! A value is made at its first use by the thread and dropped when the thread has run its body, the
//! last one first, as with std. A value with a destructor cannot be used after that; one without
//! can be used by the destructors of others. A thread that is unwound because an execution stops
//! early drops its values all the same.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Context;

/// Values by thread, in the order in which they were made.
pub(super) type Locals = Vec<Vec<Local>>;

pub(super) struct Local {
    key: usize,
    /// `None` once it is dropped.
    value: Option<LocalValue>,
}

/// A box without its type.
struct LocalValue {
    pointer: *mut (),
    drop: unsafe fn(*mut ()),
    has_destructor: bool,
}

/// A key: its address is unique.
pub struct LocalId(#[expect(dead_code, reason = "what has no size may share its address")] u8);

impl LocalId {
    /// Creates a new key, for a static.
    #[expect(clippy::new_without_default, reason = "a key is made in a constant")]
    pub const fn new() -> Self {
        LocalId(0)
    }
}

/// The value of a thread for a key.
pub enum FoundLocal {
    /// The value exists.
    Alive(*const ()),
    /// The value was dropped.
    Gone,
    /// The value has not been made yet.
    None,
}

impl Context {
    /// Returns the calling thread's value for this key.
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

    /// Gives the calling thread a value. If its initialiser has made one already, that is dropped,
    /// as with std.
    pub fn add_local<T>(&self, key: usize, value: Box<T>) -> *const T {
        let pointer = Box::into_raw(value);
        let value = LocalValue {
            pointer: pointer.cast(),
            // SAFETY: `from_raw` needs the pointer of a box, once: the function is called once,
            // with the pointer of this box.
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

    /// Drops the values of the calling thread, which has run its body.
    #[inline]
    pub(super) fn drop_locals(&self) {
        if !self.locals.borrow().is_empty() {
            self.drop_all_locals();
        }
    }

    #[cold]
    fn drop_all_locals(&self) {
        let thread = self.thread().index();
        self.cancel();
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

    /// Forgets the values of threads whose stacks were dropped without unwinding, and clears the
    /// table.
    pub(super) fn forget_locals(&self) {
        for locals in self.locals.borrow_mut().iter_mut() {
            locals.clear();
        }
    }
}

impl LocalValue {
    fn drop_it(self) {
        // SAFETY: `drop` must be called once: the value is consumed here.
        unsafe { (self.drop)(self.pointer) };
    }
}
