//! The estimated size of a search: the front end's check, which waits for results, makes it, and the queue has it.

use std::io::{self, BufReader, ErrorKind};
use std::os::unix::net::UnixStream;

use raddle_queue::SearchState;
use raddle_report::Estimate;
use raddle_report::exchange::{FromCheck, Part, ToCheck};

use crate::run::queue::front_end::executions;

/// Number of classes of a search before it is estimated; those of a smaller one are soon run.
const AFTER: u64 = 1_000;

/// The progress of an estimate.
pub enum Sizing {
    /// The search is small so far.
    Early,
    /// The check makes an estimate.
    Asked,
    /// The estimate as text.
    Known(String),
    /// There is none.
    Never,
}

impl Sizing {
    /// Begins with a search of this root.
    pub fn of(root: &str) -> Self {
        match root == Part::ROOT {
            true => Sizing::Early,
            false => Sizing::Never,
        }
    }

    /// Asks the check when it is time, and receives its answer.
    pub fn look(
        self,
        state: &SearchState,
        from: &mut BufReader<UnixStream>,
        to: &mut UnixStream,
    ) -> io::Result<Self> {
        match self {
            Sizing::Early if state.facts.contains_key(Estimate::FACT) => Ok(Sizing::Never),
            Sizing::Early if executions(state) >= AFTER => {
                ToCheck::Estimate.write(to)?;
                Ok(Sizing::Asked)
            }
            Sizing::Asked => receive(from),
            other => Ok(other),
        }
    }

    /// Returns the estimate if the queue does not have it: it is new, or the server has lost it.
    pub fn unknown_to(&self, state: &SearchState) -> Option<String> {
        match self {
            Sizing::Known(text) if state.facts.get(Estimate::FACT) != Some(text) => {
                Some(text.clone())
            }
            _ => None,
        }
    }
}

/// Receives an estimate if it is there.
fn receive(from: &mut BufReader<UnixStream>) -> io::Result<Sizing> {
    use std::io::BufRead;

    from.get_ref().set_nonblocking(true)?;
    let found = from.fill_buf().map(<[u8]>::is_empty);
    from.get_ref().set_nonblocking(false)?;
    match found {
        Ok(false) => Ok(match FromCheck::read(from)? {
            Some(FromCheck::Estimate(estimate)) => Sizing::Known(estimate.to_text()),
            _ => Sizing::Never,
        }),
        // The check has ended, which shows elsewhere.
        Ok(true) => Ok(Sizing::Never),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Sizing::Asked),
        Err(error) => Err(error),
    }
}
