//! A queue on a server of PostgreSQL.

mod login;
mod steps;
mod wire;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::patience::{Attempt, Patience};
use crate::settings::{of_text, to_text};
use crate::{
    Address, CONTINUED, ClassCount, Committed, EXECUTIONS, End, Error, FEWEST_GRANTED, Lease,
    MAX_EXACT_CLASSES, MAX_PROBLEMS, Next, Queue, RUNS, Results, Run, STOPPING, Search,
    SearchState, Settings, Status, Token, WORKER_GONE, sketch,
};
use login::Login;
use steps::Step;
use wire::{Connection, Problem, Row};

/// Maximum wait for a reply.
const REPLY_TIME: Duration = Duration::from_secs(10);
/// The oldest version of the server: the first with identity columns.
const OLDEST: u32 = 10;
/// Factor by which waits are longer than those of a queue that cannot tell of new items. They limit the delay after
/// which an expired lease is noticed.
const WAIT: u32 = 10;

/// A queue on a server of PostgreSQL. If the connection breaks, calls are repeated for a minute on a new one.
pub struct PostgresQueue {
    address: Address,
    login: Login,
    connection: Option<Connection>,
    patience: Patience,
}

impl PostgresQueue {
    /// Connects to the server, examines it, and creates the tables if they are not there.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or cannot be used as a queue.
    pub fn connect(address: &Address) -> Result<Self, Error> {
        let mut queue = PostgresQueue {
            address: address.clone(),
            login: Login::of(address)?,
            connection: None,
            patience: Patience::FIRST,
        };
        // The first connection examines the server.
        queue.repeat(|_| Ok(Vec::new()))?;
        queue.patience = Patience::LATER;
        Ok(queue)
    }

    fn unusable(&self, problem: String) -> Error {
        Error::Server {
            address: self.address.to_string(),
            problem,
        }
    }

    fn misunderstood(&self) -> Error {
        self.unusable("its reply is none that the queue expects".to_owned())
    }

    /// Runs a step.
    fn run(&mut self, step: &Step, parameters: &[String]) -> Result<Vec<Row>, Error> {
        self.repeat(|connection| connection.call(step.0, step.1, parameters))
    }

    /// Runs a step and returns the first value of its result.
    fn value(&mut self, step: &Step, parameters: &[String]) -> Result<Option<String>, Error> {
        let rows = self.run(step, parameters)?;
        Ok(rows.into_iter().flatten().next().flatten())
    }

    /// Calls until there is a reply, on a new connection if need be.
    fn repeat(
        &mut self,
        mut call: impl FnMut(&mut Connection) -> Result<Vec<Row>, Problem>,
    ) -> Result<Vec<Row>, Error> {
        let patience = self.patience;
        let address = self.address.to_string();
        patience.repeat(&address, || {
            let problem = match self.opened().and_then(&mut call) {
                Ok(rows) => return Attempt::Done(rows),
                Err(problem) => problem,
            };
            // A reply to this call must not be taken for one to the next.
            self.connection = None;
            match problem {
                Problem::Connection(error) => Attempt::Failed(error.to_string()),
                Problem::Server { code, message } if is_temporary(&code) => Attempt::Busy(message),
                Problem::Server { message, .. } => Attempt::Refused(message),
            }
        })
    }

    fn opened(&mut self) -> Result<&mut Connection, Problem> {
        if self.connection.is_none() {
            let prefix = &self.address.prefix;
            let mut connection = Connection::open(&self.address, &self.login, REPLY_TIME)?;
            // A crash may take the last commits with it, each of them whole, and the protocol survives that; so no
            // commit waits for the disk. Each statement of a step must see what was committed before it.
            connection.run(&format!(
                "SET search_path TO \"{prefix}\"; SET synchronous_commit TO off; SET statement_timeout TO 0; \
                 SET default_transaction_isolation TO 'read committed'; LISTEN \"raddle:{prefix}\""
            ))?;
            examine(&mut connection)?;
            create(&mut connection, prefix)?;
            self.connection = Some(connection);
        }
        Ok(self.connection.as_mut().expect("it was just opened"))
    }
}

/// Refuses a server that cannot be used.
fn examine(connection: &mut Connection) -> Result<(), Problem> {
    let facts = connection.run(
        "SELECT current_setting('server_version_num'), current_setting('server_version'), \
         current_setting('server_encoding'), current_setting('fsync'), pg_is_in_recovery()",
    )?;
    let facts: Vec<String> = facts.into_iter().flatten().flatten().collect();
    match unfit(&facts) {
        None => Ok(()),
        Some(message) => Err(Problem::Server {
            code: String::new(),
            message,
        }),
    }
}

/// Creates the tables unless they are there: on each connection, because a server may come back without them.
fn create(connection: &mut Connection, schema: &str) -> Result<(), Problem> {
    let found = connection.run(&steps::FIND_LAYOUT.replace("@schema@", schema))?;
    if found.iter().flatten().flatten().next().is_none() {
        let create = steps::CREATE.replace("@schema@", schema);
        match connection.run(&create.replace("@layout@", &steps::LAYOUT.to_string())) {
            // Another process was faster: a table exists.
            Err(Problem::Server { code, .. }) if code == "42P07" => {}
            other => drop(other?),
        }
    }
    let layout = connection.run("SELECT number FROM layout")?;
    let layout = layout.into_iter().flatten().flatten().next();
    match layout == Some(steps::LAYOUT.to_string()) {
        true => Ok(()),
        false => Err(Problem::Server {
            code: String::new(),
            message: format!(
                "the tables in its schema {schema} are of another version of raddle (layout {}, here {}); use \
                 another schema, or remove them when no run needs them: DROP SCHEMA \"{schema}\" CASCADE",
                layout.unwrap_or_default(),
                steps::LAYOUT
            ),
        }),
    }
}

/// True when the server will accept the same call later: connections, serialisation and deadlocks, resources, locks,
/// shutdowns.
fn is_temporary(code: &str) -> bool {
    let class = code.get(..2).unwrap_or_default();
    matches!(class, "08" | "40" | "53") || matches!(code, "55P03" | "57P01" | "57P02" | "57P03")
}

/// Returns the reason why a server cannot be used, if there is one. The facts are its version as a number and as text,
/// encoding, fsync, and whether it is a replica.
fn unfit(facts: &[String]) -> Option<String> {
    let [number, version, encoding, fsync, is_replica] = facts else {
        return Some("its reply is none that the queue expects".to_owned());
    };
    if number.parse::<u32>().unwrap_or(0) / 10_000 < OLDEST {
        return Some(format!(
            "the server is of version {version}; the queue needs {OLDEST} or newer"
        ));
    }
    if encoding != "UTF8" {
        return Some(format!(
            "the database is encoded as {encoding}; the queue needs one in UTF8: CREATE DATABASE raddle ENCODING \
             'UTF8' TEMPLATE template0"
        ));
    }
    if fsync != "on" {
        return Some(
            "the server may lose a part of a transaction in a crash (fsync is off), and the search with it; set \
             fsync to on"
                .to_owned(),
        );
    }
    (is_replica == "t").then(|| "the server is a replica, which accepts no changes".to_owned())
}

/// A text as the server stores it, which has no zero bytes.
fn stored(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\0', "\\0")
}

fn loaded(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        plain.push(match c {
            '\\' => match rest.next() {
                Some('0') => '\0',
                other => other.unwrap_or('\\'),
            },
            c => c,
        });
    }
    plain
}

/// An array of texts as a parameter.
fn array<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let quoted = |text: T| {
        let text = stored(text.as_ref());
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    };
    let quoted: Vec<String> = texts.into_iter().map(quoted).collect();
    format!("{{{}}}", quoted.join(","))
}

/// The names and values of sums, names and details of facts, keys and texts of findings, and items.
fn arrays(results: &Results) -> [String; 7] {
    let Results {
        sums,
        facts,
        findings,
        items,
        ..
    } = results;
    [
        array(sums.keys()),
        array(sums.values().map(u64::to_string)),
        array(facts.keys()),
        array(facts.values()),
        array(findings.iter().map(|(key, _)| key)),
        array(findings.iter().map(|(_, finding)| finding)),
        array(items),
    ]
}

/// Reads an array of texts. Unquoted elements are those without special characters.
fn of_array(text: &str) -> Option<Vec<String>> {
    let mut rest = text
        .strip_prefix('{')?
        .strip_suffix('}')?
        .chars()
        .peekable();
    let mut texts = Vec::new();
    while let Some(&first) = rest.peek() {
        let mut element = String::new();
        if first == '"' {
            rest.next();
            loop {
                match rest.next()? {
                    '"' => break,
                    '\\' => element.push(rest.next()?),
                    c => element.push(c),
                }
            }
        } else {
            while let Some(c) = rest.next_if(|&c| c != ',') {
                element.push(c);
            }
        }
        texts.push(loaded(&element));
        match rest.next() {
            Some(',') | None => {}
            Some(_) => return None,
        }
    }
    Some(texts)
}

fn interval(time: Duration) -> String {
    format!("{} milliseconds", time.as_millis())
}

fn read_next(row: Row, token: &Token) -> Option<Next> {
    let mut values = row.into_iter();
    let mut value = || values.next().flatten();
    match value()?.as_str() {
        "none" => Some(Next::NoRun),
        "empty" => Some(Next::Empty { has_front: false }),
        "waiting" => Some(Next::Empty { has_front: true }),
        _ => Some(Next::Item(Lease {
            item: value()?,
            token: token.clone(),
            search: loaded(&value()?),
            text: loaded(&value()?),
            known: of_array(&value()?)?,
            ready: value()?.parse().ok()?,
            workers: value()?.parse().ok()?,
            is_sketched: value()? == "t",
            granted: value().and_then(|runs| runs.parse().ok()),
        })),
    }
}

fn read_status(rows: Vec<Row>) -> Option<Option<Status>> {
    let mut status = Status::default();
    let mut has_run = false;
    // By search: the number of registers of each rank.
    let mut ranks: BTreeMap<String, Vec<(u8, u64)>> = BTreeMap::new();
    for row in rows {
        let [kind, first, second, third, number, _]: [Option<String>; 6] = row.try_into().ok()?;
        let (first, second) = (loaded(&first?), loaded(&second?));
        let third = third.as_deref().map(loaded);
        let number: u64 = number?.parse().ok()?;
        let search = status.searches.get_mut(&first);
        match kind?.as_str() {
            "run" => has_run = true,
            "search" => {
                let state = SearchState {
                    settings: of_text(&second),
                    end: match third.filter(|reason| reason != STOPPING) {
                        Some(reason) => Some(End::of_text(&reason)?),
                        None => None,
                    },
                    ..SearchState::default()
                };
                status.searches.insert(first, state);
            }
            "classes" => search?.classes = ClassCount::Exact(number),
            "rank" => ranks
                .entry(first)
                .or_default()
                .push((second.parse().ok()?, number)),
            "left" => search?.left = number,
            "sum" => drop(search?.sums.insert(second, number)),
            "fact" => drop(search?.facts.insert(second, third?)),
            "finding" => search?.findings.push((number, second)),
            "ready" => status.ready = number,
            "leased" => status.leased = number,
            "worker" => status.workers.push(first),
            "front" => status.has_front = number > 0,
            _ => return None,
        }
    }
    for (search, registers) in ranks {
        let count = ClassCount::About(sketch::estimate(registers));
        status.searches.get_mut(&search)?.classes = count;
    }
    Some(has_run.then_some(status))
}

fn read_run(rows: Vec<Row>) -> Option<Run> {
    let mut values = rows.into_iter().flatten().flatten();
    Some(Run {
        version: loaded(&values.next()?),
        environment: of_text(&loaded(&values.next()?)),
    })
}

impl Queue for PostgresQueue {
    fn open_run(&mut self, run: &Run) -> Result<Run, Error> {
        let environment = stored(&to_text(&run.environment));
        let rows = self.run(&steps::OPEN_RUN, &[stored(&run.version), environment])?;
        read_run(rows).ok_or_else(|| self.misunderstood())
    }

    fn run(&mut self) -> Result<Option<Run>, Error> {
        Ok(read_run(self.run(&steps::RUN, &[])?))
    }

    fn hold_front(&mut self, token: &Token, time: Duration) -> Result<bool, Error> {
        let parameters = [token.to_string(), interval(time)];
        let is_held = self.value(&steps::HOLD_FRONT, &parameters)?;
        Ok(is_held.as_deref() == Some("t"))
    }

    fn release_front(&mut self, token: &Token) -> Result<(), Error> {
        self.run(&steps::RELEASE_FRONT, &[token.to_string()])?;
        Ok(())
    }

    fn start_with(&mut self, search: &Search, begun: &Results) -> Result<Option<Settings>, Error> {
        let limit = search.limit.map(|limit| limit.to_string());
        let mut parameters = vec![
            stored(&search.name),
            stored(&to_text(&search.settings)),
            limit.unwrap_or_default(),
        ];
        parameters.extend(arrays(begun));
        let there = self.value(&steps::START, &parameters)?;
        Ok(there.map(|there| of_text(&loaded(&there))))
    }

    fn export(&mut self, search: &str) -> Result<Option<(SearchState, Vec<String>)>, Error> {
        let rows = self.run(&steps::EXPORT, &[stored(search)])?;
        let texts: Vec<String> = rows.into_iter().flatten().flatten().collect();
        // The first row says that there is such a search, which has now ended, so that its state stays.
        let Some((_, items)) = texts.split_first() else {
            return Ok(None);
        };
        let items = items.iter().map(|item| loaded(item)).collect();
        Ok(self.search(search)?.map(|state| (state, items)))
    }

    fn lease(&mut self, worker: &str, token: &Token, time: Duration) -> Result<Next, Error> {
        let parameters = [
            stored(worker),
            token.to_string(),
            interval(time),
            interval(WORKER_GONE),
            FEWEST_GRANTED.to_string(),
        ];
        let rows = self.run(&steps::LEASE, &parameters)?;
        let next = rows.into_iter().next();
        next.and_then(|row| read_next(row, token))
            .ok_or_else(|| self.misunderstood())
    }

    fn heartbeat(&mut self, lease: &Lease, worker: &str, time: Duration) -> Result<bool, Error> {
        let parameters = [
            lease.item.clone(),
            lease.token.to_string(),
            stored(worker),
            interval(time),
        ];
        let is_held = self.value(&steps::HEARTBEAT, &parameters)?;
        Ok(is_held.as_deref() == Some("t"))
    }

    fn commit(&mut self, lease: &Lease, results: &Results) -> Result<Committed, Error> {
        let Results {
            sums,
            classes,
            is_over,
            ..
        } = results;
        let [sum_names, values, facts, details, keys, findings, items] = arrays(results);
        let ranks = sketch::ranks(classes);
        let counted = classes.iter().filter(|_| !lease.is_sketched);
        let parameters = [
            lease.item.clone(),
            lease.token.to_string(),
            stored(&lease.search),
            EXECUTIONS.to_owned(),
            is_over.to_string(),
            sum_names,
            values,
            facts,
            details,
            keys,
            findings,
            items,
            interval(WORKER_GONE),
            // The same bits as a signed number.
            array(counted.map(|&class| (class as i64).to_string())),
            array(ranks.keys().map(u16::to_string)),
            array(ranks.values().map(u8::to_string)),
            MAX_EXACT_CLASSES.to_string(),
            sums.get(RUNS).copied().unwrap_or(0).to_string(),
            stored(results.next.as_deref().unwrap_or_default()),
        ];
        match self.value(&steps::COMMIT, &parameters)?.as_deref() {
            Some("done") => Ok(Committed::Done),
            Some("late") => Ok(Committed::Late),
            _ => Err(self.misunderstood()),
        }
    }

    fn abandon(&mut self, lease: &Lease, problem: Option<&str>) -> Result<(), Error> {
        // An empty text is no problem to the server.
        let problem = problem.map(|problem| {
            if problem.is_empty() {
                "unknown"
            } else {
                problem
            }
        });
        let parameters = [
            lease.item.clone(),
            lease.token.to_string(),
            stored(&lease.search),
            MAX_PROBLEMS.to_string(),
            stored(problem.unwrap_or_default()),
        ];
        self.run(&steps::ABANDON, &parameters)?;
        Ok(())
    }

    fn go_on(&mut self, search: &str, item: &str) -> Result<(), Error> {
        let parameters = [search, item, CONTINUED].map(stored);
        self.run(&steps::GO_ON, &parameters)?;
        Ok(())
    }

    fn note(&mut self, search: &str, fact: &str, detail: &str) -> Result<(), Error> {
        self.run(&steps::NOTE, &[search, fact, detail].map(stored))?;
        Ok(())
    }

    fn stop(&mut self, search: &str, at_once: bool) -> Result<(), Error> {
        self.run(&steps::STOP, &[stored(search), at_once.to_string()])?;
        Ok(())
    }

    fn status(&mut self) -> Result<Option<Status>, Error> {
        let rows = self.run(&steps::STATUS, &[interval(WORKER_GONE)])?;
        read_status(rows).ok_or_else(|| self.misunderstood())
    }

    /// Waits for a notification.
    fn wait(&mut self, time: Duration) -> Result<(), Error> {
        match &mut self.connection {
            Some(connection) => {
                // The next call opens a new connection, or reports that it cannot.
                if connection.wait(time * WAIT).is_err() {
                    self.connection = None;
                }
            }
            None => std::thread::sleep(time),
        }
        Ok(())
    }

    fn remove_run(&mut self) -> Result<(), Error> {
        self.run(&steps::REMOVE_RUN, &[])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_server_that_may_lose_items_is_refused() {
        assert_eq!(unfit(&facts("150006 15.6 UTF8 on f")), None);
        for (server, reason) in [
            (
                "90624 9.6.24 UTF8 on f",
                "version 9.6.24; the queue needs 10",
            ),
            ("150006 15.6 LATIN1 on f", "encoded as LATIN1"),
            ("150006 15.6 UTF8 off f", "fsync is off"),
            ("150006 15.6 UTF8 on t", "is a replica"),
        ] {
            let problem = unfit(&facts(server)).unwrap();
            assert!(problem.contains(reason), "{problem}");
        }
    }

    #[test]
    fn texts_are_read_as_they_were_written() {
        let texts = [
            "",
            "a",
            "NULL",
            "a,b",
            "{\"x\"}",
            "back\\slash\\0",
            "\0",
            "new\nline ä",
        ];
        for text in texts {
            assert_eq!(loaded(&stored(text)), text);
            assert!(!stored(text).contains('\0'));
        }
        assert_eq!(of_array(&array(texts)).unwrap(), texts);
        assert_eq!(of_array("{}").unwrap(), [""; 0]);
        assert_eq!(of_array("{a,\"b c\"}").unwrap(), ["a", "b c"]);
        assert_eq!(of_array("{\"a"), None);
    }

    #[test]
    fn errors_that_pass_are_repeated() {
        for code in ["08006", "40001", "40P01", "53300", "57P01", "57P03"] {
            assert!(is_temporary(code), "{code}");
        }
        for code in ["28P01", "3D000", "42501", "22P05", ""] {
            assert!(!is_temporary(code), "{code}");
        }
    }
}
