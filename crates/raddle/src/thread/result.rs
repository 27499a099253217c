//! The result of a modelled thread, shared by the thread and its handle.

use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;
use std::thread::Result;

thread_local! {
    /// Its address identifies the OS thread.
    static OS_THREAD: Cell<u8> = const { Cell::new(0) };
}

/// Returns a number that no other running OS thread has.
#[inline(always)]
fn os_thread() -> usize {
    OS_THREAD.with(|it| std::ptr::from_ref(it).addr())
}

/// One of the two owners of a result. One OS thread runs all threads of an execution, so its uses need
/// no atomic instructions: those of an `Arc` took a tenth of the time of starting and joining a thread.
pub(super) struct ResultOwner<T>(NonNull<Shared<T>>);

struct Shared<T> {
    /// The OS thread of the execution.
    os_thread: usize,
    has_two_owners: Cell<bool>,
    result: UnsafeCell<Option<Result<T>>>,
}

impl<T> ResultOwner<T> {
    /// Returns both owners of a result that is not there yet.
    #[inline(always)]
    pub(super) fn pair() -> (Self, Self) {
        let shared = Box::new(Shared {
            os_thread: os_thread(),
            has_two_owners: Cell::new(true),
            result: UnsafeCell::new(None),
        });
        let shared = NonNull::from(Box::leak(shared));
        (ResultOwner(shared), ResultOwner(shared))
    }

    #[inline(always)]
    fn shared(&self) -> &Shared<T> {
        // SAFETY: the memory is freed by the drop of its last owner.
        unsafe { self.0.as_ref() }
    }

    /// Stores the result. Called by the thread itself.
    #[inline(always)]
    pub(super) fn put(&self, result: Result<T>) {
        // SAFETY: the threads of an execution run on one OS thread, and none is suspended in here.
        unsafe { *self.shared().result.get() = Some(result) };
    }

    /// Returns the result. Called by a thread of the same execution.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<Result<T>> {
        // SAFETY: as in `put`.
        unsafe { (*self.shared().result.get()).take() }
    }
}

impl<T> Drop for ResultOwner<T> {
    /// Drops the result with its last owner. On another OS thread than that of the execution, to which
    /// the program may send a handle, the result is left where it is: the other owner may be in use.
    #[inline(always)]
    fn drop(&mut self) {
        let shared = self.shared();
        if shared.os_thread != os_thread() || shared.has_two_owners.replace(false) {
            return;
        }
        // SAFETY: this is the last owner: the other one was dropped on this OS thread.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use super::ResultOwner;
    use std::rc::Rc;
    use std::sync::Arc;

    #[test]
    fn the_last_owner_drops_the_result() {
        let value = Rc::new(());
        let (first, second) = ResultOwner::pair();
        first.put(Ok(Rc::clone(&value)));
        drop(first);
        assert_eq!(Rc::strong_count(&value), 2);
        drop(second);
        assert_eq!(Rc::strong_count(&value), 1);
    }

    #[test]
    fn a_result_is_taken_once() {
        let (thread, handle) = ResultOwner::pair();
        assert!(handle.take().is_none());
        thread.put(Ok(7));
        drop(thread);
        assert_eq!(handle.take().and_then(Result::ok), Some(7));
        assert!(handle.take().is_none());
    }

    /// An owner that is sent to another OS thread.
    struct Sent(ResultOwner<Arc<()>>);
    // SAFETY: as that of `JoinHandle`.
    unsafe impl Send for Sent {}

    impl Sent {
        fn drop_here(self) {
            drop(self.0);
        }
    }

    #[test]
    fn an_owner_on_another_os_thread_leaves_the_result_to_the_first() {
        let value = Arc::new(());
        let (thread, handle) = ResultOwner::pair();
        thread.put(Ok(Arc::clone(&value)));
        let sent = Sent(handle);
        let other = std::thread::spawn(move || sent.drop_here());
        other.join().expect("the owner is dropped");
        assert!(matches!(thread.take(), Some(Ok(_))));
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
