//! A queue on a server of Redis or Valkey.

mod resp;
mod scripts;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use crate::patience::{Attempt, Patience};
use crate::settings::{of_text, to_text};
use crate::stream::refusal;
use crate::{
    Address, CONTINUED, ClassCount, Committed, EXECUTIONS, End, Error, FEWEST_GRANTED, Lease,
    MAX_EXACT_CLASSES, MAX_PROBLEMS, Next, Queue, RUNS, Results, Run, STOPPING, Search,
    SearchState, Settings, Status, Token, WORKER_GONE, sketch,
};
use resp::{Connection, Reply};
use scripts::{KEYS, Script};

/// Maximum wait for a reply.
const REPLY_TIME: Duration = Duration::from_secs(10);
/// The oldest version of the server: older ones may lose effects of scripts that read the time.
const OLDEST: (u32, u32) = (6, 2);

/// A queue on a server of Redis or Valkey. If the connection breaks, calls are repeated for a minute on a new one.
pub struct RedisQueue {
    address: Address,
    session: Option<Session>,
    keys: Vec<String>,
    patience: Patience,
}

/// A connection, and the scripts that the server has received by it.
struct Session {
    connection: Connection,
    /// Digests by the texts of scripts.
    digests: BTreeMap<&'static str, String>,
}

impl Session {
    /// Runs a script by its digest, so that its text is sent once and not with each step.
    fn evaluate(&mut self, script: &Script, words: &[&str]) -> io::Result<Reply> {
        let mut reply = Reply::Nothing;
        // An administrator may remove all scripts from a running server.
        for _ in 0..2 {
            let digest = match self.digests.get(script.body()) {
                Some(digest) => digest.clone(),
                None => match self.connection.call(&["SCRIPT", "LOAD", &script.text()])? {
                    Reply::Text(digest) => digest,
                    refused => return Ok(refused),
                },
            };
            let words = [&["EVALSHA", &digest], words].concat();
            reply = self.connection.call(&words)?;
            if !matches!(&reply, Reply::Error(text) if text.starts_with("NOSCRIPT")) {
                self.digests.insert(script.body(), digest);
                break;
            }
            self.digests.clear();
        }
        Ok(reply)
    }
}

/// The problem of a call: of the connection, which may be opened again, or an answer of the server.
enum Problem {
    Connection(io::Error),
    Refused(String),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        match refusal(&error) {
            Some(reason) => Problem::Refused(reason),
            None => Problem::Connection(error),
        }
    }
}

impl RedisQueue {
    /// Connects to the server and examines it.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or cannot be used as a queue.
    pub fn connect(address: &Address) -> Result<Self, Error> {
        let key = |name: &&str| format!("{{{}}}:{name}", address.prefix);
        let mut queue = RedisQueue {
            address: address.clone(),
            session: None,
            keys: KEYS.iter().map(key).collect(),
            patience: Patience::FIRST,
        };
        for section in ["server", "memory"] {
            let info = queue.repeat(|session| session.connection.call(&["INFO", section]))?;
            let info = info.text().unwrap_or_default();
            if let Some(problem) = unfit(&info) {
                return Err(queue.unusable(problem));
            }
        }
        queue.patience = Patience::LATER;
        Ok(queue)
    }

    fn unusable(&self, problem: String) -> Error {
        Error::Server {
            address: self.address.to_string(),
            problem,
        }
    }

    /// Runs a script.
    fn run(&mut self, script: &Script, arguments: &[&str]) -> Result<Reply, Error> {
        let keys = self.keys.clone();
        let count = keys.len().to_string();
        let mut words = vec![count.as_str()];
        words.extend(keys.iter().map(String::as_str));
        words.extend(arguments);
        self.repeat(|session| session.evaluate(script, &words))
    }

    /// Calls until there is a reply, on a new connection if need be.
    fn repeat(
        &mut self,
        mut call: impl FnMut(&mut Session) -> io::Result<Reply>,
    ) -> Result<Reply, Error> {
        let patience = self.patience;
        let address = self.address.to_string();
        patience.repeat(&address, || {
            let reply = self.opened().and_then(|session| Ok(call(session)?));
            let attempt = match reply {
                Ok(Reply::Error(text)) if is_temporary(&text) => Attempt::Busy(brief(&text)),
                Ok(Reply::Error(text)) => Attempt::Refused(explained(text)),
                Ok(reply) => return Attempt::Done(reply),
                Err(Problem::Refused(text)) => Attempt::Refused(explained(text)),
                Err(Problem::Connection(error)) => Attempt::Failed(error.to_string()),
            };
            // A reply to this call must not be taken for one to the next.
            self.session = None;
            attempt
        })
    }

    fn opened(&mut self) -> Result<&mut Session, Problem> {
        if self.session.is_none() {
            let Address {
                user,
                password,
                database,
                ..
            } = &self.address;
            let mut connection = Connection::open(&self.address, REPLY_TIME)?;
            let mut greet = |words: &[&str]| match connection.call(words)? {
                Reply::Error(text) if !is_temporary(&text) => Err(Problem::Refused(text)),
                Reply::Error(text) => Err(io::Error::other(text).into()),
                _ => Ok(()),
            };
            if !password.is_empty() {
                match user.is_empty() {
                    true => greet(&["AUTH", password])?,
                    false => greet(&["AUTH", user, password])?,
                }
            }
            if database != "0" {
                greet(&["SELECT", database])?;
            }
            self.session = Some(Session {
                connection,
                digests: BTreeMap::new(),
            });
        }
        Ok(self.session.as_mut().expect("it was just opened"))
    }

    fn misunderstood(&self) -> Error {
        self.unusable("its reply is none that the queue expects".to_owned())
    }
}

/// True when the server may accept the same call later: it starts, or its memory or disk is full.
fn is_temporary(error: &str) -> bool {
    let codes = [
        "LOADING",
        "BUSY",
        "MASTERDOWN",
        "TRYAGAIN",
        "CLUSTERDOWN",
        "OOM",
        "MISCONF",
    ];
    // Servers before 7.0 have the code of a command in a script in the middle of the text, after a hyphen.
    let mut words = error.split([' ', '-']);
    words.any(|word| codes.contains(&word))
}

/// Returns an error of the server without the place in a script.
fn brief(error: &str) -> String {
    let error = error.split(" script: ").next().unwrap_or_default();
    error.trim_end_matches('.').to_owned()
}

/// Adds the remedy to an error of the server about the password.
fn explained(error: String) -> String {
    let word = error.split(' ').next().unwrap_or_default();
    let remedy = match word {
        "NOAUTH" => "put the password into RADDLE_QUEUE, as in redis://:PASSWORD@HOST",
        "WRONGPASS" => {
            "RADDLE_QUEUE has another user or password than the server; characters such as `/`, `@` and `%` in them are \
             written as %2F, %40 and %25"
        }
        _ => return error,
    };
    format!("{}: {remedy}", error.trim_end_matches('.'))
}

/// Returns the reason why a server with this information cannot be used, if there is one.
fn unfit(info: &str) -> Option<String> {
    let value = |name: &str| {
        let mut lines = info.lines().filter_map(|line| line.split_once(':'));
        lines
            .find(|(other, _)| *other == name)
            .map(|(_, value)| value.trim().to_owned())
    };
    if let Some(version) = value("redis_version") {
        let mut numbers = version
            .split('.')
            .map_while(|number| number.parse::<u32>().ok());
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if found < OLDEST {
            let (major, minor) = OLDEST;
            return Some(format!(
                "the server is of version {version}; the queue needs {major}.{minor} or newer"
            ));
        }
    }
    match value("maxmemory_policy") {
        Some(policy) if policy != "noeviction" => Some(format!(
            "the server deletes keys when its memory is full (policy {policy}), and would lose parts of the \
             search; set it to noeviction: CONFIG SET maxmemory-policy noeviction"
        )),
        _ => None,
    }
}

fn milliseconds(time: Duration) -> String {
    time.as_millis().to_string()
}

fn read_run(reply: Reply) -> Option<Option<Run>> {
    let mut parts = reply.list()?.into_iter();
    Some(match (parts.next()?, parts.next()?) {
        (Reply::Text(version), Reply::Text(environment)) => Some(Run {
            version,
            environment: of_text(&environment),
        }),
        _ => None,
    })
}

fn read_next(reply: Reply, token: &Token) -> Option<Next> {
    let mut parts = reply.list()?.into_iter();
    match parts.next()?.text()?.as_str() {
        "none" => Some(Next::NoRun),
        "empty" => Some(Next::Empty {
            has_front: parts.next()?.number()? == 1,
        }),
        _ => Some(Next::Item(Lease {
            item: parts.next()?.text()?,
            token: token.clone(),
            search: parts.next()?.text()?,
            text: parts.next()?.text()?,
            known: parts.next()?.texts()?,
            ready: parts.next()?.number()?,
            workers: parts.next()?.number()?,
            is_sketched: parts.next()?.number()? == 1,
            granted: parts.next().and_then(Reply::number),
        })),
    }
}

fn read_status(reply: Reply) -> Option<Option<Status>> {
    if reply == Reply::Nothing {
        return Some(None);
    }
    let mut parts = reply.list()?.into_iter();
    let mut status = Status::default();
    for (name, settings) in parts.next()?.pairs()? {
        let state = SearchState {
            settings: of_text(&settings),
            ..SearchState::default()
        };
        status.searches.insert(name, state);
    }
    for (name, left) in parts.next()?.pairs()? {
        status.searches.get_mut(&name)?.left = left.parse().ok()?;
    }
    let in_search = |key: &str| {
        let (search, name) = key.split_once('\n')?;
        Some((search.to_owned(), name.to_owned()))
    };
    for (key, sum) in parts.next()?.pairs()? {
        let (search, name) = in_search(&key)?;
        let sums = &mut status.searches.get_mut(&search)?.sums;
        sums.insert(name, sum.parse().ok()?);
    }
    for (key, detail) in parts.next()?.pairs()? {
        let (search, fact) = in_search(&key)?;
        status.searches.get_mut(&search)?.facts.insert(fact, detail);
    }
    for finding in parts.next()?.texts()? {
        let (search, rest) = in_search(&finding)?;
        let (before, finding) = rest.split_once('\n')?;
        let findings = &mut status.searches.get_mut(&search)?.findings;
        findings.push((before.parse().ok()?, finding.to_owned()));
    }
    for (name, reason) in parts.next()?.pairs()? {
        if reason != STOPPING {
            status.searches.get_mut(&name)?.end = Some(End::of_text(&reason)?);
        }
    }
    status.ready = parts.next()?.number()?;
    status.leased = parts.next()?.number()?;
    status.workers = parts.next()?.texts()?;
    status.has_front = parts.next()?.number()? == 1;
    for classes in parts.next()?.list()? {
        let mut classes = classes.list()?.into_iter();
        let search = status.searches.get_mut(&classes.next()?.text()?)?;
        search.classes = read_classes(classes.collect())?;
    }
    Some(Some(status))
}

/// Adds a list to the arguments of a script.
fn add_list(words: &mut Vec<String>, list: impl Iterator<Item = String>) {
    let at = words.len();
    words.extend(list);
    words.insert(at, (words.len() - at).to_string());
}

/// Adds sums, facts, findings and items to the arguments of a script, as four lists.
fn add_results(words: &mut Vec<String>, results: &Results) {
    let sums = results.sums.iter();
    add_list(
        words,
        sums.flat_map(|(name, sum)| [name.clone(), sum.to_string()]),
    );
    let facts = results.facts.iter();
    add_list(
        words,
        facts.flat_map(|(fact, detail)| [fact.clone(), detail.clone()]),
    );
    let findings = results.findings.iter();
    add_list(
        words,
        findings.flat_map(|(key, finding)| [key.clone(), finding.clone()]),
    );
    add_list(words, results.items.iter().cloned());
}

/// Reads the number of classes of a search, or the registers of its sketch.
fn read_classes(classes: Vec<Reply>) -> Option<ClassCount> {
    if let [Reply::Number(count)] = classes[..] {
        return Some(ClassCount::Exact(count.try_into().ok()?));
    }
    let registers = classes.into_iter().map(|pair| {
        let mut pair = pair.list()?.into_iter();
        let rank = pair.next()?.text()?.parse().ok()?;
        Some((rank, pair.next()?.number()?))
    });
    let registers: Vec<(u8, u64)> = registers.collect::<Option<_>>()?;
    Some(ClassCount::About(sketch::estimate(registers)))
}

impl Queue for RedisQueue {
    fn open_run(&mut self, run: &Run) -> Result<Run, Error> {
        let environment = to_text(&run.environment);
        let reply = self.run(&scripts::OPEN_RUN, &[&run.version, &environment])?;
        let run = read_run(reply).flatten();
        run.ok_or_else(|| self.misunderstood())
    }

    fn run(&mut self) -> Result<Option<Run>, Error> {
        let reply = self.run(&scripts::RUN, &[])?;
        read_run(reply).ok_or_else(|| self.misunderstood())
    }

    fn hold_front(&mut self, token: &Token, time: Duration) -> Result<bool, Error> {
        let arguments = [token.as_str(), &milliseconds(time)];
        let reply = self.run(&scripts::HOLD_FRONT, &arguments)?;
        Ok(reply.number() == Some(1))
    }

    fn release_front(&mut self, token: &Token) -> Result<(), Error> {
        self.run(&scripts::RELEASE_FRONT, &[token.as_str()])?;
        Ok(())
    }

    fn start_with(&mut self, search: &Search, begun: &Results) -> Result<Option<Settings>, Error> {
        let limit = search.limit.map(|limit| limit.to_string());
        let mut words = vec![search.name.clone(), to_text(&search.settings)];
        words.push(limit.unwrap_or_default());
        add_results(&mut words, begun);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let reply = self.run(&scripts::START, &words)?;
        Ok(reply.text().map(|there| of_text(&there)))
    }

    fn export(&mut self, search: &str) -> Result<Option<(SearchState, Vec<String>)>, Error> {
        let reply = self.run(&scripts::EXPORT, &[search])?;
        if reply == Reply::Nothing {
            return Ok(None);
        }
        let items = reply.texts().ok_or_else(|| self.misunderstood())?;
        // The search has ended, so that its state is that of the step.
        Ok(self.search(search)?.map(|state| (state, items)))
    }

    fn lease(&mut self, worker: &str, token: &Token, time: Duration) -> Result<Next, Error> {
        let (time, gone) = (milliseconds(time), milliseconds(WORKER_GONE));
        let fewest = FEWEST_GRANTED.to_string();
        let arguments = [worker, token.as_str(), &time, &gone, &fewest];
        let reply = self.run(&scripts::LEASE, &arguments)?;
        read_next(reply, token).ok_or_else(|| self.misunderstood())
    }

    fn heartbeat(&mut self, lease: &Lease, worker: &str, time: Duration) -> Result<bool, Error> {
        let (time, gone) = (milliseconds(time), milliseconds(WORKER_GONE));
        let arguments = [&lease.item, lease.token.as_str(), worker, &time, &gone];
        let reply = self.run(&scripts::HEARTBEAT, &arguments)?;
        Ok(reply.number() == Some(1))
    }

    fn commit(&mut self, lease: &Lease, results: &Results) -> Result<Committed, Error> {
        let exact = MAX_EXACT_CLASSES.to_string();
        let mut words: Vec<String> = vec![lease.item.clone(), lease.token.to_string()];
        let is_over = if results.is_over { "1" } else { "0" };
        let runs = results.sums.get(RUNS).copied().unwrap_or(0).to_string();
        let next = results.next.as_deref().unwrap_or_default();
        words.extend([&lease.search, EXECUTIONS, is_over, &exact, &runs, next].map(str::to_owned));
        add_results(&mut words, results);
        let classes = results.classes.iter().filter(|_| !lease.is_sketched);
        add_list(&mut words, classes.map(|class| format!("{class:x}")));
        let ranks = sketch::ranks(&results.classes).into_iter();
        add_list(
            &mut words,
            ranks.flat_map(|(register, rank)| [register.to_string(), rank.to_string()]),
        );
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let reply = self.run(&scripts::COMMIT, &words)?;
        match reply.text().as_deref() {
            Some("done") => Ok(Committed::Done),
            Some("late") => Ok(Committed::Late),
            _ => Err(self.misunderstood()),
        }
    }

    fn abandon(&mut self, lease: &Lease, problem: Option<&str>) -> Result<(), Error> {
        let most = MAX_PROBLEMS.to_string();
        let mut arguments = vec![&lease.item, lease.token.as_str(), &lease.search, &most];
        arguments.extend(problem);
        self.run(&scripts::ABANDON, &arguments)?;
        Ok(())
    }

    fn go_on(&mut self, search: &str, item: &str) -> Result<(), Error> {
        self.run(&scripts::GO_ON, &[search, item, CONTINUED])?;
        Ok(())
    }

    fn note(&mut self, search: &str, fact: &str, detail: &str) -> Result<(), Error> {
        self.run(&scripts::NOTE, &[search, fact, detail])?;
        Ok(())
    }

    fn stop(&mut self, search: &str, at_once: bool) -> Result<(), Error> {
        self.run(&scripts::STOP, &[search, if at_once { "1" } else { "0" }])?;
        Ok(())
    }

    fn status(&mut self) -> Result<Option<Status>, Error> {
        let reply = self.run(&scripts::STATUS, &[&milliseconds(WORKER_GONE)])?;
        read_status(reply).ok_or_else(|| self.misunderstood())
    }

    fn remove_run(&mut self) -> Result<(), Error> {
        self.run(&scripts::REMOVE_RUN, &[])?;
        Ok(())
    }
}

/// Reads a reply of a server as every method does, for tests that feed it arbitrary bytes.
pub fn read_reply(bytes: &[u8]) -> Option<()> {
    let reply = resp::read(&mut &bytes[..]).ok()?;
    let _ = read_run(reply.clone());
    let _ = read_next(reply.clone(), &Token::random());
    let _ = read_status(reply);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do_and_not_where_they_occurred() {
        let full = "OOM command not allowed when used memory > 'maxmemory'. script: f2, on @user_script:60.";
        assert_eq!(
            brief(full),
            "OOM command not allowed when used memory > 'maxmemory'"
        );
        assert_eq!(
            explained("NOAUTH Authentication required.".to_owned()),
            "NOAUTH Authentication required: put the password into RADDLE_QUEUE, as in redis://:PASSWORD@HOST"
        );
        assert_eq!(explained("ERR no.".to_owned()), "ERR no.");
    }

    #[test]
    fn errors_that_pass_are_repeated() {
        for error in [
            "LOADING Redis is loading the dataset in memory",
            "OOM command not allowed when used memory > 'maxmemory'. script: f2, on @user_script:60.",
            "ERR Error running script (call to f_2): @user_script:60: -OOM command not allowed",
            "MISCONF Errors writing to the AOF file: No space left on device",
        ] {
            assert!(is_temporary(error), "{error}");
        }
        for error in [
            "NOAUTH Authentication required.",
            "NOPERM No permissions to access a key",
            "ERR unknown command",
        ] {
            assert!(!is_temporary(error), "{error}");
        }
    }

    #[test]
    fn a_server_that_may_lose_items_is_refused() {
        assert_eq!(
            unfit("redis_version:6.2.0\r\nmaxmemory_policy:noeviction\r\n"),
            None
        );
        assert_eq!(unfit("# Server\r\nredis_version:7.0.15\r\n"), None);
        assert_eq!(unfit("redis_version:10.0.1\r\n"), None);
        let old = unfit("redis_version:6.0.16\r\n").unwrap();
        assert!(old.contains("version 6.0.16; the queue needs 6.2"), "{old}");
        let evicts = unfit("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n").unwrap();
        assert!(evicts.contains("(policy allkeys-lru)"), "{evicts}");
    }
}
