//! A fair semaphore: permits go to requests in the order in which these were made.
//!
//! No call waits. A request that cannot be granted at once is queued, and a later release or
//! cancellation grants it; its thread *claims* the permits then. So a thread can have several
//! requests, as a task that polls several futures has. The locks of async runtimes are such
//! semaphores: a mutex has one permit, and a writer takes all permits of a readers-writer lock.

use super::effect::{Effect, Mode};
use super::synchronization::Synchronization;
use super::{Exclusion, Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::{Grant, Reply};
use crate::base::words::{Problem, Reader, Words, tables};

/// The semaphore's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fair {
    /// Permits that no thread holds and that no request was granted.
    permits: u32,
    closed: bool,
    /// Number of requests that were queued so far.
    requests: u32,
    /// Requests that wait, in the order of their grants.
    queue: Vec<Queued>,
    /// Requests that were granted and not claimed.
    granted: Vec<Queued>,
    /// Permits by holder. A thread holds permits from the grant on.
    holders: Vec<(ThreadId, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Queued {
    by: ThreadId,
    number: u32,
    permits: u32,
}

/// The kind of object that the semaphore implements, and the access to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// A mutex.
    Lock,
    /// A readers-writer lock, shared.
    Read,
    /// A readers-writer lock, exclusively.
    Write,
    /// Permits of a semaphore, which no thread holds as a lock.
    Permits,
}

/// Calls of a fair semaphore. The reply of an attempt to take permits is a [`Grant`], which is
/// poisoned if the semaphore is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Takes permits, or queues a request.
    Request {
        /// The kind of access.
        access: Access,
        /// Number of permits.
        permits: u32,
    },
    /// Takes permits if they are available and no request waits.
    Try {
        /// The kind of access.
        access: Access,
        /// Number of permits.
        permits: u32,
    },
    /// Takes the permits of a queued request, if it was granted.
    Claim {
        /// The kind of access.
        access: Access,
        /// Number of the queued request, in the order in which they were queued.
        number: u32,
    },
    /// Removes a queued request; permits that it was granted go to the next ones.
    Cancel {
        /// Number of the request.
        number: u32,
    },
    /// Returns permits.
    Release {
        /// The kind of access.
        access: Access,
        /// Number of permits.
        permits: u32,
    },
    /// Returns all permits but one of a writer, which becomes a reader.
    Downgrade {
        /// Number of permits that are returned.
        permits: u32,
    },
    /// Adds permits that no thread held.
    Add {
        /// Number of permits.
        permits: u32,
    },
    /// Removes permits: those of a holder for good, or available ones.
    Forget {
        /// Number of permits.
        permits: u32,
        /// True for permits that the thread holds.
        held: bool,
    },
    /// Closes the semaphore: no request is granted any more.
    Close,
    /// Reads the state.
    Look,
}

tables! {
    Access {
        "lock" => Lock,
        "read" => Read,
        "write" => Write,
        "permits" => Permits,
    }
    Call {
        "request" => Request { access, permits },
        "try" => Try { access, permits },
        "claim" => Claim { access, number },
        "cancel" => Cancel { number },
        "release" => Release { access, permits },
        "downgrade" => Downgrade { permits },
        "add" => Add { permits },
        "forget" => Forget { permits, held },
        "close" => Close,
        "look" => Look,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Request { access, .. } | Call::Claim { access, .. } => match access {
                Access::Lock => "lock",
                Access::Read => "read",
                Access::Write => "write",
                Access::Permits => "acquire",
            },
            Call::Try { access, .. } => match access {
                Access::Lock => "try-lock",
                Access::Read => "try-read",
                Access::Write => "try-write",
                Access::Permits => "try-acquire",
            },
            Call::Release { access, .. } => match access {
                Access::Permits => "release",
                _ => "unlock",
            },
            Call::Cancel { .. } => "cancel",
            Call::Downgrade { .. } => "downgrade",
            Call::Add { .. } => "add",
            Call::Forget { .. } => "forget",
            Call::Close => "close",
            Call::Look => "look",
        }
    }

    fn takes(self) -> bool {
        matches!(
            self,
            Call::Request { .. } | Call::Try { .. } | Call::Claim { .. }
        )
    }

    fn gives_back(self) -> bool {
        matches!(
            self,
            Call::Release { .. }
                | Call::Cancel { .. }
                | Call::Downgrade { .. }
                | Call::Add { .. }
                | Call::Close
        )
    }

    /// A refused request is queued.
    fn changed_nothing(self, reply: Reply) -> bool {
        match self {
            Call::Try { .. } | Call::Claim { .. } => {
                reply.to_grant() != Grant::Taken { poisoned: false }
            }
            Call::Request { .. } => reply.to_grant() == Grant::Taken { poisoned: true },
            _ => self == Call::Look,
        }
    }

    fn polls(self) -> bool {
        matches!(self, Call::Try { .. } | Call::Claim { .. } | Call::Look)
    }

    fn always_changes(self) -> bool {
        matches!(self, Call::Release { .. } | Call::Downgrade { .. })
    }

    fn intended_lock_effect(self) -> Option<Effect> {
        let take = |access, waits| {
            let mode = match access {
                Access::Lock | Access::Write => Mode::Write,
                Access::Read => Mode::Read,
                Access::Permits => return None,
            };
            Some(Effect::Take { mode, waits })
        };
        match self {
            Call::Request { access, .. } | Call::Claim { access, .. } => take(access, true),
            Call::Try { access, .. } => take(access, false),
            Call::Release { access, .. } => (access != Access::Permits).then_some(Effect::Release),
            Call::Downgrade { .. } => Some(Effect::Downgrade),
            _ => None,
        }
    }

    fn finds_poison(self, _reply: Reply) -> bool {
        false
    }

    fn remark(self, reply: Reply) -> Option<&'static str> {
        match (self, self.takes().then(|| reply.to_grant())?) {
            (_, Grant::Taken { poisoned: true }) => Some("closed"),
            (Call::Request { .. }, Grant::Refused) => Some("queued"),
            (Call::Claim { .. }, Grant::Refused) => Some("still queued"),
            _ => None,
        }
    }
}

impl Fair {
    /// Creates a semaphore with these permits.
    pub fn new(permits: u32) -> Self {
        Fair {
            permits,
            closed: false,
            requests: 0,
            queue: Vec::new(),
            granted: Vec::new(),
            holders: Vec::new(),
        }
    }

    fn can_take(&self, permits: u32) -> bool {
        permits == 0 || self.queue.is_empty() && self.permits >= permits
    }

    fn hold(&mut self, by: ThreadId, permits: u32) {
        match self.holders.iter_mut().find(|(holder, _)| *holder == by) {
            Some((_, held)) => *held += permits,
            None => self.holders.push((by, permits)),
        }
    }

    /// Removes permits from those of the thread, or of the first holder: a guard may be dropped by
    /// another thread than the one that took it.
    fn let_go(&mut self, by: ThreadId, permits: u32) {
        let own = self.holders.iter().position(|(holder, _)| *holder == by);
        let Some(index) = own.or((!self.holders.is_empty()).then_some(0)) else {
            return;
        };
        let held = &mut self.holders[index].1;
        *held = held.saturating_sub(permits);
        if *held == 0 {
            self.holders.remove(index);
        }
    }

    /// Grants the requests that are next.
    fn grant(&mut self) {
        while let Some(&next) = self.queue.first() {
            if self.closed || self.permits < next.permits {
                return;
            }
            self.queue.remove(0);
            self.permits -= next.permits;
            self.hold(next.by, next.permits);
            self.granted.push(next);
        }
    }

    fn take(&mut self, by: ThreadId, permits: u32) -> Grant {
        if self.closed {
            return Grant::Taken { poisoned: true };
        }
        if !self.can_take(permits) {
            return Grant::Refused;
        }
        self.permits -= permits;
        self.hold(by, permits);
        Grant::Taken { poisoned: false }
    }

    fn claim(&mut self, number: u32) -> Grant {
        if self.closed {
            return Grant::Taken { poisoned: true };
        }
        match self.granted.iter().position(|one| one.number == number) {
            Some(index) => {
                self.granted.remove(index);
                Grant::Taken { poisoned: false }
            }
            None => Grant::Refused,
        }
    }

    /// Adds permits. A front end with more than fit here keeps their number itself.
    fn give(&mut self, permits: u32) {
        self.permits = self.permits.saturating_add(permits);
    }

    fn cancel(&mut self, number: u32) {
        self.queue.retain(|one| one.number != number);
        if let Some(index) = self.granted.iter().position(|one| one.number == number) {
            let one = self.granted.remove(index);
            self.let_go(one.by, one.permits);
            self.give(one.permits);
        }
    }
}

impl Machine for Fair {
    type Call = Call;
    const EXCLUSION: Exclusion = Exclusion::Lock { shared: true };

    fn write_initial(&self, out: &mut String) {
        self.permits.write(out);
        self.closed.write(out);
    }

    fn read_initial(words: &mut Reader<'_>) -> Result<Self, Problem> {
        let mut fair = Fair::new(words.read()?);
        fair.closed = words.read()?;
        Ok(fair)
    }

    fn open(&self, _call: Call, _by: ThreadId) -> bool {
        true
    }

    fn apply(&mut self, call: Call, by: ThreadId, _outcome: Outcome) -> Reply {
        match call {
            Call::Request { permits, .. } => {
                let grant = self.take(by, permits);
                if grant == Grant::Refused {
                    let number = self.requests;
                    self.requests += 1;
                    self.queue.push(Queued {
                        by,
                        number,
                        permits,
                    });
                }
                return Reply::grant(grant);
            }
            Call::Try { permits, .. } => return Reply::grant(self.take(by, permits)),
            Call::Claim { number, .. } => return Reply::grant(self.claim(number)),
            Call::Cancel { number } => self.cancel(number),
            Call::Release { permits, .. } | Call::Downgrade { permits } => {
                self.let_go(by, permits);
                self.give(permits);
            }
            Call::Add { permits } => self.give(permits),
            Call::Forget { permits, held } => match held {
                true => self.let_go(by, permits),
                false if self.queue.is_empty() => {
                    self.permits = self.permits.saturating_sub(permits);
                }
                false => {}
            },
            Call::Close => {
                self.closed = true;
                self.queue.clear();
            }
            Call::Look => {}
        }
        self.grant();
        Reply::DONE
    }

    /// All earlier releases synchronize with a grant, and the close with a request that finds it; both
    /// with a look.
    fn synchronization(&self, call: Call, reply: Reply) -> Synchronization {
        let (given, closed) = (0, 1);
        if !call.takes() {
            return match call {
                Call::Close => Synchronization::release(closed),
                Call::Look => Synchronization::acquire(given).and_acquire(closed),
                _ if call.gives_back() => Synchronization::release(given),
                _ => Synchronization::NONE,
            };
        }
        match reply.to_grant() {
            Grant::Refused => Synchronization::NONE,
            Grant::Taken { poisoned: true } => Synchronization::acquire(closed),
            Grant::Taken { poisoned: false } => Synchronization::acquire(given),
        }
    }

    fn blocked_by(&self) -> Option<ThreadId> {
        match self.holders[..] {
            [(holder, _)] => Some(holder),
            _ => None,
        }
    }

    fn held_by(&self, thread: ThreadId) -> bool {
        self.holders.iter().any(|(holder, _)| *holder == thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ThreadId = ThreadId::MAIN;

    fn thread(index: usize) -> ThreadId {
        ThreadId::new(index)
    }

    fn request(fair: &mut Fair, by: ThreadId, permits: u32) -> Grant {
        let call = Call::Request {
            access: Access::Permits,
            permits,
        };
        fair.apply(call, by, Outcome::default()).to_grant()
    }

    fn call(fair: &mut Fair, by: ThreadId, call: Call) -> Reply {
        fair.apply(call, by, Outcome::default())
    }

    fn claim(number: u32) -> Call {
        Call::Claim {
            access: Access::Permits,
            number,
        }
    }

    const TAKEN: Grant = Grant::Taken { poisoned: false };
    const CLOSED: Grant = Grant::Taken { poisoned: true };

    /// A small request does not overtake a large one that waits.
    #[test]
    fn permits_go_to_requests_in_their_order() {
        let mut fair = Fair::new(2);
        assert_eq!(request(&mut fair, A, 1), TAKEN);
        assert_eq!(request(&mut fair, thread(1), 2), Grant::Refused);
        assert_eq!(request(&mut fair, thread(2), 1), Grant::Refused);
        assert_eq!(fair.blocked_by(), Some(A));
        let release = Call::Release {
            access: Access::Permits,
            permits: 1,
        };
        call(&mut fair, A, release);
        assert_eq!(fair.blocked_by(), Some(thread(1)), "from the grant on");
        assert_eq!(
            call(&mut fair, thread(2), claim(1)).to_grant(),
            Grant::Refused
        );
        assert_eq!(call(&mut fair, thread(1), claim(0)).to_grant(), TAKEN);
    }

    /// A request that was granted and is dropped passes its permits on.
    #[test]
    fn a_cancelled_request_passes_its_permits_on() {
        let mut fair = Fair::new(0);
        assert_eq!(request(&mut fair, A, 1), Grant::Refused);
        assert_eq!(request(&mut fair, thread(1), 1), Grant::Refused);
        call(&mut fair, thread(2), Call::Add { permits: 1 });
        assert!(fair.held_by(A) && !fair.held_by(thread(1)));
        call(&mut fair, A, Call::Cancel { number: 0 });
        assert!(!fair.held_by(A) && fair.held_by(thread(1)));
        call(&mut fair, A, Call::Close);
        assert_eq!(call(&mut fair, thread(1), claim(1)).to_grant(), CLOSED);
        assert_eq!(request(&mut fair, A, 0), CLOSED);
    }
}
