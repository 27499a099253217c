//! Polling a future until it is ready.

use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::{Signal, name_of, runtime, suspend};

/// Runs a future to its end on the calling thread.
///
/// Inside a check, the thread may poll the future once more than it was woken, as an executor may; see
/// [`Checker::spurious_wakeups`](https://docs.rs/raddle/latest/raddle/struct.Checker.html).
///
/// ```
/// let ready = raddle::future::block_on(async {
///     raddle::future::yield_now().await;
///     7
/// });
/// assert_eq!(ready, 7);
/// ```
///
/// Tasks of [`spawn`](super::spawn) that were started inside it and are left when it returns are aborted; inside
/// another `block_on`, when that returns.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let scope = runtime::Scope::unless_inside();
    let output = __block_on_thread(future);
    scope.close();
    output
}

/// For `raddle-shuttle`: as [`block_on`], without an effect on tasks.
#[doc(hidden)]
#[track_caller]
pub fn __block_on_thread<F: Future>(future: F) -> F::Output {
    let place = Location::caller();
    let task = Arc::new(Task {
        woken: Signal::of_task(name_of::<F>()),
    });
    let waker = Waker::from(Arc::clone(&task));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        suspend(&task.woken, place);
    }
}

struct Task {
    woken: Signal,
}

impl Wake for Task {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.woken.set();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.set();
    }
}
