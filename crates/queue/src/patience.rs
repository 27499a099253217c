//! Calls that are repeated while a server cannot be reached.

use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

/// First and longest wait before a call is repeated.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// Time for which calls are repeated.
#[derive(Clone, Copy, Debug)]
pub struct Patience(Duration);

/// The result of one call.
pub enum Attempt<T> {
    Done(T),
    /// The same call may succeed later, on a new connection.
    Failed(String),
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
            match call() {
                Attempt::Done(result) => return Ok(result),
                Attempt::Refused(problem) => return Err(Error::Server { address, problem }),
                Attempt::Failed(problem) if start.elapsed() >= self.0 => {
                    return Err(Error::Connection { address, problem });
                }
                Attempt::Failed(_) => {}
            }
            thread::sleep(wait);
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}
