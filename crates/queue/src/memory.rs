//! A queue in the memory of one process, for tests.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{
    CONTINUED, ClassCount, Committed, EXECUTIONS, End, Error, FEWEST_GRANTED, Lease,
    MAX_EXACT_CLASSES, MAX_PROBLEMS, Next, Queue, RUNS, Results, Run, Search, SearchState,
    Settings, Status, Token, WORKER_GONE, sketch,
};

/// A queue in memory. Clones are connections to the same queue.
#[derive(Clone, Default)]
pub struct MemoryQueue(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    run: Option<Run>,
    front: Option<(Token, Instant)>,
    searches: BTreeMap<String, SearchState>,
    /// Keys of the findings of searches.
    keys: BTreeMap<String, Vec<String>>,
    classes: BTreeMap<String, Classes>,
    /// Runs that are left of limited searches and not granted.
    budgets: BTreeMap<String, u64>,
    /// Searches of which no more items are handed out.
    stopping: BTreeSet<String>,
    items: BTreeMap<u64, Item>,
    ready: VecDeque<u64>,
    next: u64,
    workers: BTreeMap<String, Instant>,
}

/// The classes of a search.
#[derive(Default)]
struct Classes {
    /// All of them, while they are few.
    exact: BTreeSet<u64>,
    ranks: BTreeMap<u16, u8>,
    is_sketched: bool,
}

impl Classes {
    fn add(&mut self, classes: &[u64]) {
        for (register, rank) in sketch::ranks(classes) {
            let highest = self.ranks.entry(register).or_default();
            *highest = rank.max(*highest);
        }
        if !self.is_sketched {
            self.exact.extend(classes);
            if self.exact.len() as u64 > MAX_EXACT_CLASSES {
                self.is_sketched = true;
                self.exact.clear();
            }
        }
    }

    fn count(&self) -> ClassCount {
        match self.is_sketched {
            false => ClassCount::Exact(self.exact.len() as u64),
            true => ClassCount::About(sketch::estimate(self.ranks.values().map(|&rank| (rank, 1)))),
        }
    }
}

struct Item {
    search: String,
    text: String,
    lease: Option<(Token, Instant)>,
    granted: u64,
    problems: u64,
}

impl State {
    fn add(&mut self, search: &str, text: &str) {
        self.next += 1;
        let item = Item {
            search: search.to_owned(),
            text: text.to_owned(),
            lease: None,
            granted: 0,
            problems: 0,
        };
        self.items.insert(self.next, item);
        self.ready.push_back(self.next);
        if let Some(state) = self.searches.get_mut(search) {
            state.left += 1;
        }
    }

    fn has_ended(&self, search: &str) -> bool {
        self.searches
            .get(search)
            .is_none_or(|state| state.end.is_some())
    }

    fn is_exported(&self, search: &str) -> bool {
        let search = self.searches.get(search);
        search.is_some_and(|search| search.end == Some(End::Exported))
    }

    /// Returns the number of the item with this lease.
    fn held(&self, lease: &Lease) -> Option<u64> {
        let number = lease.item.parse().ok()?;
        let held = &self.items.get(&number)?.lease;
        held.as_ref()
            .is_some_and(|(token, _)| *token == lease.token)
            .then_some(number)
    }

    fn take(&mut self, now: Instant) -> Option<u64> {
        let is_expired = |item: &Item| item.lease.as_ref().is_some_and(|(_, until)| *until <= now);
        loop {
            let mut items = self.items.iter();
            let expired =
                items.find(|(_, item)| is_expired(item) && !self.is_exported(&item.search));
            let number = match expired.map(|(&number, _)| number) {
                Some(number) => {
                    self.give_back(number, 0);
                    number
                }
                None => {
                    let is_free = |number: &u64| {
                        let item = self.items.get(number);
                        item.is_none_or(|item| {
                            let is_spent = self.budgets.get(&item.search) == Some(&0);
                            !is_spent && !self.is_exported(&item.search)
                        })
                    };
                    let at = self.ready.iter().position(is_free)?;
                    self.ready.remove(at)?
                }
            };
            let Some(item) = self.items.get(&number) else {
                continue;
            };
            if !self.has_ended(&item.search) && !self.stopping.contains(&item.search) {
                return Some(number);
            }
            self.drop_item(number);
        }
    }

    /// Takes back the runs that were granted to an item, but for those that were made.
    fn give_back(&mut self, number: u64, made: u64) {
        if let Some(item) = self.items.get_mut(&number)
            && let Some(budget) = self.budgets.get_mut(&item.search)
        {
            *budget += std::mem::take(&mut item.granted).saturating_sub(made);
        }
    }

    /// Grants runs to an item.
    fn grant(&mut self, number: u64, workers: u64) -> Option<u64> {
        let item = self.items.get_mut(&number)?;
        let budget = self.budgets.get_mut(&item.search)?;
        item.granted = (*budget / (2 * workers)).max(FEWEST_GRANTED).min(*budget);
        *budget -= item.granted;
        Some(item.granted)
    }

    /// True when a limited search has no run left, and none is granted.
    fn is_spent(&self, search: &str) -> bool {
        let granted = |item: &Item| item.search == search && item.granted > 0;
        self.budgets.get(search) == Some(&0) && !self.items.values().any(granted)
    }

    fn drop_item(&mut self, number: u64) {
        if let Some(item) = self.items.remove(&number)
            && let Some(state) = self.searches.get_mut(&item.search)
        {
            state.left -= 1;
        }
    }

    fn has_front(&self, now: Instant) -> bool {
        self.front.as_ref().is_some_and(|(_, until)| *until > now)
    }

    fn workers(&self, now: Instant) -> Vec<String> {
        let is_there = |seen: Instant| now.saturating_duration_since(seen) < WORKER_GONE;
        let there = self.workers.iter().filter(|(_, seen)| is_there(**seen));
        there.map(|(name, _)| name.clone()).collect()
    }
}

impl MemoryQueue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue for MemoryQueue {
    fn open_run(&mut self, run: &Run) -> Result<Run, Error> {
        Ok(self.lock().run.get_or_insert_with(|| run.clone()).clone())
    }

    fn run(&mut self) -> Result<Option<Run>, Error> {
        Ok(self.lock().run.clone())
    }

    fn hold_front(&mut self, token: &Token, time: Duration) -> Result<bool, Error> {
        let mut state = self.lock();
        let now = Instant::now();
        let is_other = state
            .front
            .as_ref()
            .is_some_and(|(other, _)| other != token);
        if is_other && state.has_front(now) {
            return Ok(false);
        }
        state.front = Some((token.clone(), now + time));
        Ok(true)
    }

    fn release_front(&mut self, token: &Token) -> Result<(), Error> {
        let mut state = self.lock();
        if state
            .front
            .as_ref()
            .is_some_and(|(other, _)| other == token)
        {
            state.front = None;
        }
        Ok(())
    }

    fn start_with(&mut self, search: &Search, begun: &Results) -> Result<Option<Settings>, Error> {
        let mut state = self.lock();
        if let Some(there) = state.searches.get(&search.name) {
            return Ok(Some(there.settings.clone()));
        }
        let findings = begun.findings.iter();
        let new = SearchState {
            settings: search.settings.clone(),
            sums: begun.sums.clone(),
            facts: begun.facts.clone(),
            findings: findings.clone().map(|(_, it)| (0, it.clone())).collect(),
            ..SearchState::default()
        };
        let keys = findings.map(|(key, _)| key.clone()).collect();
        state.keys.insert(search.name.clone(), keys);
        state.searches.insert(search.name.clone(), new);
        if let Some(limit) = search.limit {
            state.budgets.insert(search.name.clone(), limit);
        }
        for item in &begun.items {
            state.add(&search.name, item);
        }
        Ok(None)
    }

    fn export(&mut self, search: &str) -> Result<Option<(SearchState, Vec<String>)>, Error> {
        let mut state = self.lock();
        let items = state.items.values().filter(|item| item.search == search);
        let items = items.map(|item| item.text.clone()).collect();
        let Some(there) = state.searches.get_mut(search) else {
            return Ok(None);
        };
        if !matches!(there.end, None | Some(End::Exported)) {
            return Ok(None);
        }
        there.end = Some(End::Exported);
        Ok(Some((there.clone(), items)))
    }

    fn lease(&mut self, worker: &str, token: &Token, time: Duration) -> Result<Next, Error> {
        let mut state = self.lock();
        let now = Instant::now();
        if state.run.is_none() {
            return Ok(Next::NoRun);
        }
        state.workers.insert(worker.to_owned(), now);
        let Some(number) = state.take(now) else {
            let has_front = state.has_front(now);
            return Ok(Next::Empty { has_front });
        };
        let workers = state.workers(now).len() as u64;
        let granted = state.grant(number, workers);
        let item = state.items.get_mut(&number).expect("it was found");
        item.lease = Some((token.clone(), now + time));
        let (search, text) = (item.search.clone(), item.text.clone());
        let is_sketched = (state.classes.get(&search)).is_some_and(|classes| classes.is_sketched);
        Ok(Next::Item(Lease {
            item: number.to_string(),
            token: token.clone(),
            known: state.keys.get(&search).cloned().unwrap_or_default(),
            search,
            text,
            ready: state.ready.len() as u64,
            workers,
            is_sketched,
            granted,
        }))
    }

    fn heartbeat(&mut self, lease: &Lease, worker: &str, time: Duration) -> Result<bool, Error> {
        let mut state = self.lock();
        let now = Instant::now();
        let Some(number) = state.held(lease) else {
            return Ok(false);
        };
        state.workers.insert(worker.to_owned(), now);
        let item = state.items.get_mut(&number).expect("it is held");
        item.lease = Some((lease.token.clone(), now + time));
        Ok(true)
    }

    fn commit(&mut self, lease: &Lease, results: &Results) -> Result<Committed, Error> {
        let mut state = self.lock();
        let Some(number) = state.held(lease) else {
            return Ok(Committed::Late);
        };
        if state.has_ended(&lease.search) {
            if !state.is_exported(&lease.search) {
                state.drop_item(number);
            }
            return Ok(Committed::Late);
        }
        let keys = state.keys.get(&lease.search).cloned().unwrap_or_default();
        let search = state
            .searches
            .get_mut(&lease.search)
            .expect("it has not ended");
        let before = search.sums.get(EXECUTIONS).copied().unwrap_or(0);
        for (name, sum) in &results.sums {
            *search.sums.entry(name.clone()).or_default() += sum;
        }
        for (fact, detail) in &results.facts {
            search
                .facts
                .entry(fact.clone())
                .or_insert_with(|| detail.clone());
        }
        let mut new = Vec::new();
        for (key, finding) in &results.findings {
            if !keys.contains(key) && !new.contains(key) {
                new.push(key.clone());
                search.findings.push((before, finding.clone()));
            }
        }
        if results.is_over {
            search.end = Some(End::Finding);
        }
        state
            .keys
            .entry(lease.search.clone())
            .or_default()
            .extend(new);
        let classes = state.classes.entry(lease.search.clone()).or_default();
        classes.add(&results.classes);
        let count = classes.count();
        let is_stopping = state.stopping.contains(&lease.search);
        for item in results.items.iter().filter(|_| !is_stopping) {
            state.add(&lease.search, item);
        }
        state.give_back(number, results.sums.get(RUNS).copied().unwrap_or(0));
        state.drop_item(number);
        let is_over = is_stopping || results.is_over;
        let left = state.searches.get(&lease.search).map(|search| search.left);
        if let Some(next) = results
            .next
            .as_deref()
            .filter(|_| !is_over && left == Some(0))
        {
            state.add(&lease.search, next);
        }
        let is_spent = state.is_spent(&lease.search);
        let search = state.searches.get_mut(&lease.search).expect("it is there");
        search.classes = count;
        if search.left == 0 && search.end.is_none() {
            search.end = Some(match is_stopping {
                true => End::Stopped,
                false => End::Exhausted,
            });
        }
        if is_spent {
            search.end.get_or_insert(End::Spent);
        }
        Ok(Committed::Done)
    }

    fn abandon(&mut self, lease: &Lease, problem: Option<&str>) -> Result<(), Error> {
        let mut state = self.lock();
        let Some(number) = state.held(lease) else {
            return Ok(());
        };
        if state.stopping.contains(&lease.search) {
            state.drop_item(number);
            if let Some(search) = state.searches.get_mut(&lease.search)
                && search.left == 0
            {
                search.end.get_or_insert(End::Stopped);
            }
            return Ok(());
        }
        state.give_back(number, 0);
        let item = state.items.get_mut(&number).expect("it is held");
        item.lease = None;
        item.problems += u64::from(problem.is_some());
        let is_broken = item.problems >= MAX_PROBLEMS;
        state.ready.push_back(number);
        if let Some(problem) = problem.filter(|_| is_broken)
            && let Some(search) = state.searches.get_mut(&lease.search)
        {
            search.end.get_or_insert(End::Broken(problem.to_owned()));
        }
        Ok(())
    }

    fn go_on(&mut self, search: &str, item: &str) -> Result<(), Error> {
        let mut state = self.lock();
        let Some(there) = state.searches.get_mut(search) else {
            return Ok(());
        };
        let is_over = matches!(there.end, Some(End::Stopped | End::Spent | End::Exhausted));
        if !is_over || there.facts.contains_key(CONTINUED) {
            return Ok(());
        }
        there.facts.insert(CONTINUED.to_owned(), String::new());
        there.end = None;
        there.left = 0;
        state.items.retain(|_, item| item.search != search);
        let state = &mut *state;
        state
            .ready
            .retain(|number| state.items.contains_key(number));
        state.stopping.remove(search);
        state.budgets.remove(search);
        state.add(search, item);
        Ok(())
    }

    fn note(&mut self, search: &str, fact: &str, detail: &str) -> Result<(), Error> {
        let mut state = self.lock();
        let there = state.searches.get_mut(search);
        if let Some(there) = there.filter(|there| there.end.is_none()) {
            there.facts.insert(fact.to_owned(), detail.to_owned());
        }
        Ok(())
    }

    fn stop(&mut self, search: &str, at_once: bool) -> Result<(), Error> {
        let mut state = self.lock();
        if state.has_ended(search) {
            return Ok(());
        }
        let is_ready = |(_, item): &(&u64, &Item)| item.search == search && item.lease.is_none();
        let ready = state.items.iter().filter(is_ready);
        let ready: Vec<u64> = ready.map(|(&number, _)| number).collect();
        ready.iter().for_each(|&number| state.drop_item(number));
        state.ready.retain(|number| !ready.contains(number));
        state.stopping.insert(search.to_owned());
        if let Some(search) = state.searches.get_mut(search)
            && (at_once || search.left == 0)
        {
            search.end = Some(End::Stopped);
        }
        Ok(())
    }

    fn status(&mut self) -> Result<Option<Status>, Error> {
        let state = self.lock();
        let now = Instant::now();
        Ok(state.run.is_some().then(|| Status {
            searches: state.searches.clone(),
            ready: state.ready.len() as u64,
            leased: state
                .items
                .values()
                .filter(|item| item.lease.is_some())
                .count() as u64,
            workers: state.workers(now),
            has_front: state.has_front(now),
        }))
    }

    fn remove_run(&mut self) -> Result<(), Error> {
        *self.lock() = State::default();
        Ok(())
    }
}
