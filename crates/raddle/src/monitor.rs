//! Monitors: data that one thread at a time accesses, with conditions to wait for.
//!
//! Conditions are queues, first in, first out. The behaviour of the signaller is chosen when the
//! monitor is created: see [`Discipline`].
//!
//! ```
//! use raddle::monitor::{Discipline, Monitor};
//!
//! let queue = Monitor::new(Discipline::SignalContinue, Vec::new());
//! let not_empty = queue.condition();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         let mut inside = queue.enter();
//!         while inside.is_empty() {
//!             inside.wait(not_empty);
//!         }
//!         assert_eq!(inside.pop(), Some(7));
//!     });
//!     let mut inside = queue.enter();
//!     inside.push(7);
//!     inside.signal(not_empty);
//! });
//! ```

pub use crate::plain::monitor::{Condition, Discipline};

#[cfg(not(feature = "check"))]
pub use crate::plain::monitor::{Monitor, MonitorGuard};
#[cfg(feature = "check")]
pub use controlled::{Monitor, MonitorGuard};

#[cfg(feature = "check")]
mod controlled {
    use std::fmt;
    use std::ops::{Deref, DerefMut};
    use std::panic::Location;

    use raddle_engine::Reply;
    use raddle_engine::object::{Object, monitor};

    use super::{Condition, Discipline};
    use crate::labelled::{Labelled, Thing};
    use crate::plain;
    use raddle_check::protocol;
    use raddle_check::runtime::Identity;
    use raddle_check::runtime::foreign::{self, using};
    use raddle_check::runtime::statics::Virtual;
    use raddle_check::runtime::{Context, Made, current};

    /// Data that one thread at a time accesses, with conditions to wait for.
    pub struct Monitor<T: ?Sized> {
        identity: Identity,
        made: Made,
        /// Used outside checks; inside one, closed to threads outside while a thread is inside.
        plain: plain::monitor::Monitor<T>,
    }

    impl<T> Monitor<T> {
        /// Creates a free monitor around `value`.
        #[track_caller]
        pub const fn new(discipline: Discipline, value: T) -> Self {
            let made = Made {
                kind: "Monitor",
                place: Location::caller(),
            };
            let plain = plain::monitor::Monitor::new(discipline, value);
            Monitor {
                identity: Identity::new(),
                made,
                plain,
            }
        }

        /// Returns the data, when no other thread can enter.
        #[track_caller]
        pub fn into_inner(self) -> T {
            using(&self.identity, &self.made, Location::caller());
            self.plain.into_inner()
        }
    }

    impl<T: ?Sized> Monitor<T> {
        /// Returns a new condition of this monitor.
        #[track_caller]
        pub fn condition(&self) -> Condition {
            match using(&self.identity, &self.made, Location::caller()) {
                None => self.plain.condition(),
                Some(context) => context.here(self).plain.condition(),
            }
        }

        /// Waits until the monitor is free and enters it.
        #[track_caller]
        pub fn enter(&self) -> MonitorGuard<'_, T> {
            let place = Location::caller();
            let (monitor, plain) = match using(&self.identity, &self.made, place) {
                None => (self, Some(self.plain.enter())),
                Some(context) => {
                    let monitor = context.here(self);
                    monitor.call(context, monitor::Call::Enter, place);
                    monitor.close();
                    (monitor, None)
                }
            };
            MonitorGuard {
                monitor,
                plain,
                inside: true,
                place,
            }
        }

        /// Returns the data, when no other thread can enter.
        #[track_caller]
        pub fn get_mut(&mut self) -> &mut T {
            using(&self.identity, &self.made, Location::caller());
            self.plain.get_mut()
        }

        fn close(&self) {
            assert!(
                self.plain.close(),
                "raddle: the Monitor made at {} is occupied from outside this execution: by a thread \
                 that is not controlled, another worker of the check, or a guard that an earlier \
                 execution never dropped",
                self.made.place
            );
        }

        fn call(
            &self,
            context: &Context,
            call: monitor::Call,
            place: &'static Location<'static>,
        ) -> Reply {
            protocol::call(context, place, call, |world| {
                context.object(world, &self.identity, self.made, || self.state())
            })
        }

        /// Returns the state at the beginning of an execution.
        fn state(&self) -> Object {
            let discipline = match self.plain.discipline() {
                Discipline::SignalContinue => monitor::Discipline::SignalContinue,
                Discipline::SignalUrgent => monitor::Discipline::SignalUrgent,
            };
            Object::Monitor(monitor::Monitor::new(discipline))
        }
    }

    impl<T: ?Sized> Labelled for Monitor<T> {
        fn thing(&self) -> Thing<'_> {
            let this = current().map_or(self, |context| context.here(self));
            Thing::object(&this.identity, this.made, this.state())
        }
    }

    impl<T: ?Sized> Virtual for Monitor<T> {
        const LENDS: bool = false;
        const DROPS: bool = std::mem::needs_drop::<T>();

        fn identity(&self) -> &Identity {
            &self.identity
        }

        fn made(&self) -> &Made {
            &self.made
        }

        fn is_guarded(&self) -> bool {
            let free = self.plain.close();
            if free {
                self.plain.reopen();
            }
            !free
        }
    }

    /// Access to the data of a monitor; leaves the monitor when dropped.
    #[must_use = "if unused the monitor is left at once"]
    pub struct MonitorGuard<'a, T: ?Sized> {
        monitor: &'a Monitor<T>,
        /// The guard outside a check.
        plain: Option<plain::monitor::MonitorGuard<'a, T>>,
        inside: bool,
        place: &'static Location<'static>,
    }

    impl<T: ?Sized> MonitorGuard<'_, T> {
        /// Leaves the monitor, waits for a signal of the condition, and enters again.
        #[track_caller]
        pub fn wait(&mut self, condition: Condition) {
            if let Some(plain) = &mut self.plain {
                return plain.wait(condition);
            }
            let place = Location::caller();
            self.make_way(|guard| {
                guard.call(monitor::Call::Wait(condition.0), place);
                guard.call(monitor::Call::Resume, place);
            });
        }

        /// Wakes the thread that has waited longest for the condition, if there is one.
        #[track_caller]
        pub fn signal(&mut self, condition: Condition) {
            if let Some(plain) = &mut self.plain {
                return plain.signal(condition);
            }
            let place = Location::caller();
            self.make_way(|guard| {
                if guard
                    .call(monitor::Call::Signal(condition.0), place)
                    .to_answer()
                {
                    guard.call(monitor::Call::Resume, place);
                }
            });
        }

        /// Wakes all threads that wait for the condition.
        ///
        /// # Panics
        ///
        /// If the signaller hands the monitor over in this discipline: it could do so to one thread
        /// only.
        #[track_caller]
        pub fn signal_all(&mut self, condition: Condition) {
            plain::monitor::check_signal_all(self.monitor.plain.discipline());
            if let Some(plain) = &mut self.plain {
                return plain.signal_all(condition);
            }
            self.call(monitor::Call::SignalAll(condition.0), Location::caller());
        }

        /// Returns the number of threads that wait for the condition.
        #[track_caller]
        pub fn waiting(&self, condition: Condition) -> usize {
            if let Some(plain) = &self.plain {
                return plain.waiting(condition);
            }
            let reply = self.call(monitor::Call::Waiting(condition.0), Location::caller());
            reply.to_value() as usize
        }

        /// Leaves the monitor to others while `meanwhile` runs. If it is unwound, the thread is not
        /// inside afterwards either, so the guard leaves nothing.
        fn make_way(&mut self, meanwhile: impl FnOnce(&Self)) {
            self.inside = false;
            self.monitor.plain.reopen();
            meanwhile(self);
            self.monitor.close();
            self.inside = true;
        }

        fn call(&self, call: monitor::Call, place: &'static Location<'static>) -> Reply {
            let Monitor { identity, made, .. } = self.monitor;
            let context = using(identity, made, place).unwrap_or_else(|| {
                panic!("raddle: a monitor entered inside a check is used outside it")
            });
            self.monitor.call(context, call, place)
        }
    }

    impl<T: ?Sized> Drop for MonitorGuard<'_, T> {
        fn drop(&mut self) {
            match (self.inside, &self.plain, current()) {
                (true, None, Some(context)) => {
                    self.monitor.plain.reopen();
                    self.monitor.call(context, monitor::Call::Exit, self.place);
                }
                (true, None, None) => {
                    foreign::drops(&self.monitor.identity, &self.monitor.made, self.place);
                }
                _ => {}
            }
        }
    }

    impl<T: ?Sized> Deref for MonitorGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            // SAFETY: the guard's thread is inside.
            unsafe { &*self.monitor.plain.data() }
        }
    }

    impl<T: ?Sized> DerefMut for MonitorGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: the guard's thread is inside, and the guard is borrowed exclusively.
            unsafe { &mut *self.monitor.plain.data() }
        }
    }

    impl<T: ?Sized> fmt::Debug for Monitor<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.plain.fmt(f)
        }
    }

    impl<T: ?Sized + fmt::Debug> fmt::Debug for MonitorGuard<'_, T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (**self).fmt(f)
        }
    }
}
