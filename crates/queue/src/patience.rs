//! Calls that are repeated while a server cannot be reached.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

/// First and longest wait before a call is repeated.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// Time for which a call fails before the user is warned, and the shortest time between two warnings of a process, all of
/// whose connections fail at the same time.
const SILENCE: Duration = Duration::from_secs(2);
const BETWEEN_WARNINGS: Duration = Duration::from_secs(15);

/// Time for which calls are repeated.
#[derive(Clone, Copy, Debug)]
pub struct Patience(Duration);

/// The result of one call.
pub enum Attempt<T> {
    Done(T),
    /// The same call may succeed later, on a new connection.
    Failed(String),
    /// The server accepts no such call now, and may accept it later.
    Busy(String),
    /// The server does not accept the call.
    Refused(String),
}

impl Patience {
    /// For the first call: a server that is not there is more likely a mistake in the address.
    pub const FIRST: Self = Patience(Duration::from_secs(5));
    /// For later calls: longer than a restart of a server takes.
    pub const LATER: Self = Patience(Duration::from_secs(60));

    /// Repeats a call until it is done, or refused.
    pub fn repeat<T>(
        self,
        address: &str,
        mut call: impl FnMut() -> Attempt<T>,
    ) -> Result<T, Error> {
        let address = address.to_owned();
        let start = Instant::now();
        let mut wait = FIRST_WAIT;
        loop {
            let is_over = start.elapsed() >= self.0;
            let problem = match call() {
                Attempt::Done(result) => return Ok(result),
                Attempt::Refused(problem) => return Err(Error::Server { address, problem }),
                Attempt::Busy(problem) if is_over => {
                    return Err(Error::Server { address, problem });
                }
                Attempt::Failed(problem) if is_over => {
                    return Err(Error::Connection { address, problem });
                }
                Attempt::Busy(problem) | Attempt::Failed(problem) => problem,
            };
            if start.elapsed() >= SILENCE && may_warn() {
                let seconds = self.0.as_secs();
                eprintln!("warning: the queue {address}: {problem}; trying again for {seconds} s");
            }
            thread::sleep(wait);
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}

/// True when no connection of this process has warned lately.
fn may_warn() -> bool {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let is_due = last.is_none_or(|last| last.elapsed() >= BETWEEN_WARNINGS);
    if is_due {
        *last = Some(Instant::now());
    }
    is_due
}
