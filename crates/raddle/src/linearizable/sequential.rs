//! The oracle: what sequences of calls return on one thread.
//!
//! The type is run under control here too, with every class: a compare-exchange may fail spuriously without other
//! threads, so that a sequence has several possible results, and a call that waits is noticed. Spurious failures are
//! limited for each thread, so each call has a thread of its own, and may fail whatever the calls before it did.

use std::any::Any;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use super::clients::{Client, all_sequences};
use super::{Call, Linearizable};
use crate::thread;

/// Results of all sequences of some number of calls.
#[derive(Debug, Default)]
pub(super) struct Sequential {
    /// The possible results of each sequence, and of the last calls after it.
    results: HashMap<Vec<usize>, BTreeSet<Vec<String>>>,
    /// Sequences whose last call does not always return.
    waiting: HashSet<Vec<usize>>,
    /// Sequences after which one of the last calls does not always return.
    waiting_at_end: HashSet<Vec<usize>>,
    /// The first call that panicked.
    panicked: Option<String>,
}

impl Sequential {
    /// Runs all sequences of this number of calls; the error names a call that panics, or that takes too long.
    #[track_caller]
    pub(super) fn run<T: Sync + 'static>(
        check: &Linearizable<T>,
        length: usize,
    ) -> Result<Self, String> {
        let sequences = all_sequences(length, check.calls.len());
        let found = Mutex::new(Sequential::default());
        let report = check.checker.clone().run_as_part(|| {
            let sequence = &sequences[crate::choose(0..sequences.len())];
            let mut running = Running {
                found: &found,
                sequence,
                begun: 0,
                results: Vec::new(),
            };
            let object = (check.new)();
            let calls = sequence.iter().map(|&call| &check.calls[call]);
            for call in calls.chain(&check.last) {
                if !running.perform(call, &object, check) {
                    return;
                }
            }
        });
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(problem) = found.panicked {
            return Err(problem);
        }
        if !report.exhausted {
            let summary = report.summary();
            return Err(format!(
                "the calls on one thread are too many executions: {summary}"
            ));
        }
        Ok(found)
    }

    /// True if the calls may return these results in this order, and the last calls these at the end.
    pub(super) fn returns(&self, order: &[usize], results: &Vec<String>) -> bool {
        let possible = self.results.get(order);
        possible.is_some_and(|possible| possible.contains(results))
    }

    /// Returns the possible results of the calls in this order, and of the last calls after them.
    pub(super) fn results(&self, order: &[usize]) -> impl Iterator<Item = &Vec<String>> {
        self.results.get(order).into_iter().flatten()
    }

    /// True if the calls of the client may come to a point from which none returns, even one at a time.
    pub(super) fn may_wait_for_ever(&self, client: &Client) -> bool {
        self.may_be_stuck(client, &mut vec![0; client.threads.len()], &mut Vec::new())
    }

    fn may_be_stuck(&self, client: &Client, next: &mut [usize], order: &mut Vec<usize>) -> bool {
        let (mut all_wait, mut at_end) = (true, true);
        for thread in 0..next.len() {
            let Some(&call) = client.threads[thread].get(next[thread]) else {
                continue;
            };
            at_end = false;
            order.push(call);
            let waits = self.waiting.contains(order);
            next[thread] += 1;
            let stuck = !waits && self.may_be_stuck(client, next, order);
            next[thread] -= 1;
            order.pop();
            if stuck {
                return true;
            }
            all_wait &= waits;
        }
        match at_end {
            true => self.waiting_at_end.contains(order),
            false => all_wait,
        }
    }
}

/// A sequence of calls that is being run.
struct Running<'a> {
    found: &'a Mutex<Sequential>,
    sequence: &'a [usize],
    /// Number of calls that were begun, the last calls among them.
    begun: usize,
    results: Vec<String>,
}

impl Running<'_> {
    /// Makes a call; false if it panicked.
    fn perform<T: Sync + 'static>(
        &mut self,
        call: &Call<T>,
        object: &T,
        check: &Linearizable<T>,
    ) -> bool {
        self.begun += 1;
        let result = thread::scope_at(check.place, |scope| {
            let body = || (call.call)(object);
            let started = thread::Builder::new().spawn_scoped_at(check.place, scope, body);
            let started = started.expect("modelled threads do not run out");
            started.join_at(check.place)
        });
        match result {
            Ok(result) => {
                self.results.push(result);
                true
            }
            Err(payload) => {
                let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                let (after, message) = (self.begun - 1, message(&*payload));
                let text = call.text;
                found.panicked.get_or_insert_with(|| {
                    format!("`{text}` panics on one thread after {after} other calls: {message}")
                });
                false
            }
        }
    }
}

/// Returns the message of a panic of the program.
fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message")
}

impl Drop for Running<'_> {
    /// Adds what has become of the sequence: its results, or that its last call waits.
    fn drop(&mut self) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let returned = self.results.len();
        if returned < self.begun {
            match returned.checked_sub(self.sequence.len()) {
                None => _ = found.waiting.insert(self.sequence[..=returned].to_vec()),
                Some(_) => _ = found.waiting_at_end.insert(self.sequence.to_vec()),
            }
        } else {
            let results = std::mem::take(&mut self.results);
            let possible = found.results.entry(self.sequence.to_vec());
            possible.or_default().insert(results);
        }
    }
}
