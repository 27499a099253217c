//! A future that lets others run first.

#[cfg(feature = "check")]
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Returns a future that is pending once and wakes its task at once, so that other tasks run first. Inside a check,
/// strategies regard it as [`thread::yield_now`](crate::thread::yield_now).
#[cfg_attr(feature = "check", track_caller)]
pub fn yield_now() -> YieldNow {
    YieldNow {
        yielded: false,
        #[cfg(feature = "check")]
        place: Location::caller(),
    }
}

/// The future of [`yield_now`].
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited or polled"]
pub struct YieldNow {
    yielded: bool,
    #[cfg(feature = "check")]
    place: &'static Location<'static>,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        #[cfg(feature = "check")]
        if let Some(context) = raddle_check::runtime::current() {
            context.observe(self.place, |_| raddle_engine::Operation::Yield);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
