#![doc = include_str!("../README.md")]

mod address;
mod memory;
mod patience;
#[cfg(feature = "postgres")]
mod postgres;
mod redis;
mod settings;
mod sketch;
mod stream;
mod token;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

pub use address::Address;
pub use memory::MemoryQueue;
#[cfg(feature = "postgres")]
pub use postgres::PostgresQueue;
pub use redis::{RedisQueue, read_reply};
pub use sketch::{ClassCount, MAX_EXACT_CLASSES};
pub use token::Token;

/// The sum that tells how many executions came before a finding.
pub const EXECUTIONS: &str = "executions";

/// The sum that counts against the limit of a search.
pub const RUNS: &str = "runs";

/// The fact of a search that was continued.
pub const CONTINUED: &str = "continued";

/// Fewest runs that a lease grants, unless fewer are left.
pub const FEWEST_GRANTED: u64 = 64;

/// Number of times that the exploration of one item may end without results before its search ends.
pub const MAX_PROBLEMS: u64 = 3;

/// Time after which a worker that did not call counts as gone.
pub const WORKER_GONE: Duration = Duration::from_secs(10);

/// A queue of the parts of searches. Every method is one atomic step, and may be called again with the same
/// arguments if its reply was lost.
pub trait Queue: Send {
    /// Creates the run, or returns the one that exists.
    fn open_run(&mut self, run: &Run) -> Result<Run, Error>;

    /// Returns the run, if there is one.
    fn run(&mut self) -> Result<Option<Run>, Error>;

    /// Makes the holder of the token the front end for this time; false if another one is.
    fn hold_front(&mut self, token: &Token, time: Duration) -> Result<bool, Error>;

    /// Ends the holder's time as the front end.
    fn release_front(&mut self, token: &Token) -> Result<(), Error>;

    /// Adds a search with one item, or returns the settings of the search of this name that exists. The search ends
    /// when its runs are spent: each lease grants some of those that are left.
    fn start(&mut self, search: &Search, root: &str) -> Result<Option<Settings>, Error> {
        let first = Results {
            items: vec![root.to_owned()],
            ..Results::default()
        };
        self.start_with(search, &first)
    }

    /// The same for a search that has begun elsewhere, with its results so far and the items that are left.
    fn start_with(&mut self, search: &Search, begun: &Results) -> Result<Option<Settings>, Error>;

    /// Ends a search that is to go on elsewhere, and returns it with all items, leased or not. They stay until the run
    /// is removed, so that the call can be repeated. `None` if there is no such search, or it has ended.
    fn export(&mut self, search: &str) -> Result<Option<(SearchState, Vec<String>)>, Error>;

    /// Leases an item for this time, under a new token.
    fn lease(&mut self, worker: &str, token: &Token, time: Duration) -> Result<Next, Error>;

    /// Extends a lease; false if it is lost.
    fn heartbeat(&mut self, lease: &Lease, worker: &str, time: Duration) -> Result<bool, Error>;

    /// Removes the leased item, adds its results and the items that are left of it.
    fn commit(&mut self, lease: &Lease, results: &Results) -> Result<Committed, Error>;

    /// Gives the leased item back; it comes after all others. A problem is one of the item, whose exploration has ended without results; the
    /// search ends if that has happened too often.
    fn abandon(&mut self, lease: &Lease, problem: Option<&str>) -> Result<(), Error>;

    /// Continues a search that was stopped or spent, or that has no item left, with this item and without a limit. The fact
    /// [`CONTINUED`] is added in the same step, and nothing is done if it is there.
    fn go_on(&mut self, search: &str, item: &str) -> Result<(), Error>;

    /// Sets a fact of a search that has not ended; the last detail is kept. It is no result of an item.
    fn note(&mut self, search: &str, fact: &str, detail: &str) -> Result<(), Error>;

    /// Hands out no more items of a search. It ends when the leased ones are committed, without the items that are
    /// left of them; or at once.
    fn stop(&mut self, search: &str, at_once: bool) -> Result<(), Error>;

    /// Returns the run's searches and workers.
    fn status(&mut self) -> Result<Option<Status>, Error>;

    /// Returns one search; `None` if there is none of this name.
    fn search(&mut self, name: &str) -> Result<Option<SearchState>, Error> {
        Ok(self
            .status()?
            .and_then(|mut status| status.searches.remove(name)))
    }

    /// Waits until an item may be there. `time` is the wait of a queue that cannot tell.
    fn wait(&mut self, time: Duration) -> Result<(), Error> {
        std::thread::sleep(time);
        Ok(())
    }

    /// Removes the run with everything in it.
    fn remove_run(&mut self) -> Result<(), Error>;
}

/// Settings with their values.
pub type Settings = Vec<(String, String)>;

/// The property of a run that all its processes share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The version of raddle.
    pub version: String,
    /// The variables with which workers run the tests.
    pub environment: Settings,
}

/// A search and everything that must be the same on every machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Its name, in one line.
    pub name: String,
    /// The build of the program and the settings of the check.
    pub settings: Settings,
    /// Maximum number of runs.
    pub limit: Option<u64>,
}

/// The answer to a worker that asks for an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// An item to explore.
    Item(Lease),
    /// No item is there now. The run has a front end or not.
    Empty {
        /// True while a front end waits for the run.
        has_front: bool,
    },
    /// There is no run.
    NoRun,
}

/// A leased item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The number of the item.
    pub item: String,
    /// The token of the lease.
    pub token: Token,
    /// The name of its search.
    pub search: String,
    /// The text of the item.
    pub text: String,
    /// The keys of the findings of its search so far.
    pub known: Vec<String>,
    /// Items that nobody has leased.
    pub ready: u64,
    /// Workers that have called lately.
    pub workers: u64,
    /// True when the classes of its search are not counted exactly any more.
    pub is_sketched: bool,
    /// Maximum number of runs, if those of its search are limited.
    pub granted: Option<u64>,
}

/// The results of exploring an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// Counts that are added to those of the search.
    pub sums: BTreeMap<String, u64>,
    /// Facts about the search, with a detail. The first detail of a fact is kept.
    pub facts: BTreeMap<String, String>,
    /// Findings with their keys. The first finding of a key is kept.
    pub findings: Vec<(String, String)>,
    /// The items that are left of the item.
    pub items: Vec<String>,
    /// The item with which the search goes on if none is left after this commit.
    pub next: Option<String>,
    /// The different classes that were run, by fingerprint, if they are counted.
    pub classes: Vec<u64>,
    /// True when the search ends with a finding.
    pub is_over: bool,
}

/// The answer to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// The results are part of the search.
    Done,
    /// The lease is not known, or the search is over. All results of the item must be dropped: they are or will be
    /// those of another worker.
    Late,
}

/// The reason for the end of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// No item is left.
    Exhausted,
    /// A finding has ended it.
    Finding,
    /// It was stopped.
    Stopped,
    /// Its runs are spent.
    Spent,
    /// It goes on elsewhere.
    Exported,
    /// An item could not be explored, because of this problem.
    Broken(String),
}

impl End {
    /// Reads the text of a server.
    fn of_text(text: &str) -> Option<Self> {
        Some(match text {
            "exhausted" => End::Exhausted,
            "finding" => End::Finding,
            "stopped" => End::Stopped,
            "spent" => End::Spent,
            "exported" => End::Exported,
            other => End::Broken(other.split_once('\n')?.1.to_owned()),
        })
    }
}

/// The text of a server for a search that ends when its leased items are committed.
const STOPPING: &str = "stopping";

/// The state of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchState {
    /// The build of the program and the settings of the check.
    pub settings: Settings,
    /// Items that are left, leased or not.
    pub left: u64,
    /// The sums so far.
    pub sums: BTreeMap<String, u64>,
    /// The facts so far.
    pub facts: BTreeMap<String, String>,
    /// The findings so far, each after this number of executions.
    pub findings: Vec<(u64, String)>,
    /// The number of different classes, if they are counted.
    pub classes: ClassCount,
    /// The reason for its end, if it has ended.
    pub end: Option<End>,
}

/// The state of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Searches by name.
    pub searches: BTreeMap<String, SearchState>,
    /// Items that nobody has leased.
    pub ready: u64,
    /// Leased items.
    pub leased: u64,
    /// Names of the workers that have called lately.
    pub workers: Vec<String>,
    /// True while a front end waits for the run.
    pub has_front: bool,
}

/// An error of a queue.
#[derive(Debug)]
pub enum Error {
    /// The address cannot be used.
    Address(String),
    /// The server cannot be reached, or the connection broke again and again.
    Connection {
        /// The address without its password.
        address: String,
        /// The last problem.
        problem: String,
    },
    /// The server cannot be used as a queue.
    Server {
        /// The address without its password.
        address: String,
        /// The reason, and the remedy.
        problem: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Address(problem) => f.write_str(problem),
            Error::Connection { address, problem } => {
                write!(f, "the queue {address} cannot be reached: {problem}")
            }
            Error::Server { address, problem } => write!(f, "the queue {address}: {problem}"),
        }
    }
}

impl std::error::Error for Error {}

/// Describes the first difference between settings of a run or a search, if there is one.
pub fn difference(there: &[(String, String)], here: &[(String, String)]) -> Option<String> {
    let value = |settings: &[(String, String)], name: &str| {
        let found = settings.iter().find(|(other, _)| other == name);
        found.map_or("missing".to_owned(), |(_, value)| value.clone())
    };
    let names = there.iter().chain(here).map(|(name, _)| name);
    let mut different = names.filter(|name| value(there, name) != value(here, name));
    different.next().map(|name| {
        let (there, here) = (value(there, name), value(here, name));
        format!("`{name}` is {there} in the queue, and {here} here")
    })
}

/// Connects to the queue at this address.
pub fn connect(address: &Address) -> Result<Box<dyn Queue>, Error> {
    match address.kind {
        address::Kind::Redis => Ok(Box::new(RedisQueue::connect(address)?)),
        #[cfg(feature = "postgres")]
        address::Kind::Postgres => Ok(Box::new(PostgresQueue::connect(address)?)),
        #[cfg(not(feature = "postgres"))]
        address::Kind::Postgres => Err(Error::Address(
            "the address of the queue is of PostgreSQL, for which this `cargo raddle` was not built: install it \
             with its feature `postgres`"
                .to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_named() {
        let settings = |text: &str| -> Settings {
            let pair = |word: &str| {
                let (name, value) = word.split_once('=').unwrap();
                (name.to_owned(), value.to_owned())
            };
            text.split_whitespace().map(pair).collect()
        };
        assert_eq!(difference(&settings("a=1 b=2"), &settings("b=2 a=1")), None);
        let different = |there, here| difference(&settings(there), &settings(here)).unwrap();
        assert_eq!(
            different("a=1 b=2", "a=1 b=3"),
            "`b` is 2 in the queue, and 3 here"
        );
        assert_eq!(
            different("a=1", ""),
            "`a` is 1 in the queue, and missing here"
        );
        assert_eq!(
            different("", "a=1"),
            "`a` is missing in the queue, and 1 here"
        );
    }
}
