//! Orders that explain the results of a client.

use std::fmt::Write;

use super::clients::{Client, thread_name};
use super::sequential::Sequential;
use super::{Names, Performed};

/// Maximum number of orders that a message compares with the results.
const MAX_SHOWN: usize = 3;

/// The calls of an execution of a client, with their results.
pub(super) struct History<'a> {
    pub(super) client: &'a Client,
    pub(super) threads: Vec<Performed>,
    /// Results of the last calls.
    pub(super) last: Vec<String>,
}

/// A call of a client: the number of its thread and its number there.
type Position = (usize, usize);

impl History<'_> {
    /// Returns the description of the results if no order of the calls explains them.
    pub(super) fn violation(&self, sequential: &Sequential, names: &Names) -> Option<String> {
        let orders = self.orders();
        let explains = |order: &Vec<Position>| {
            let results = self.results_in(order);
            sequential.returns(&self.calls_in(order), &results)
        };
        match orders.iter().any(explains) {
            true => None,
            false => Some(self.describe(&orders, sequential, names)),
        }
    }

    /// Returns all orders in which a call comes after those that ended before it began.
    fn orders(&self) -> Vec<Vec<Position>> {
        let mut orders = Vec::new();
        self.extend(
            &mut vec![0; self.threads.len()],
            &mut Vec::new(),
            &mut orders,
        );
        orders
    }

    fn extend(
        &self,
        next: &mut [usize],
        order: &mut Vec<Position>,
        orders: &mut Vec<Vec<Position>>,
    ) {
        if order.len() == self.client.threads.iter().map(Vec::len).sum() {
            orders.push(order.clone());
            return;
        }
        for thread in 0..next.len() {
            let call = (thread, next[thread]);
            let is_left = |other: usize| next[other] < self.client.threads[other].len();
            let is_next = is_left(thread)
                && (0..next.len())
                    .filter(|&other| other != thread && is_left(other))
                    .all(|other| !self.ended_before((other, next[other]), call));
            if is_next {
                next[thread] += 1;
                order.push(call);
                self.extend(next, order, orders);
                order.pop();
                next[thread] -= 1;
            }
        }
    }

    /// True if the first of these calls of two threads ended before the second began, by their tickets.
    fn ended_before(&self, (one, first): Position, (other, second): Position) -> bool {
        let end = self.threads[one].tickets.get(first + 1);
        let begin = self.threads[other].tickets.get(second);
        end.zip(begin).is_some_and(|(end, begin)| end < begin)
    }

    fn calls_in(&self, order: &[Position]) -> Vec<usize> {
        let call = |&(thread, number): &Position| self.client.threads[thread][number];
        order.iter().map(call).collect()
    }

    fn results_in(&self, order: &[Position]) -> Vec<String> {
        let result = |&(thread, number): &Position| self.threads[thread].results[number].clone();
        let results = order.iter().map(result);
        results.chain(self.last.iter().cloned()).collect()
    }

    fn describe(&self, orders: &[Vec<Position>], sequential: &Sequential, names: &Names) -> String {
        let mut text = "not linearizable: no order of these calls returns this\n".to_owned();
        for (number, thread) in self.threads.iter().enumerate() {
            let calls = self.client.threads[number].iter().zip(&thread.results);
            let calls: Vec<_> = calls
                .map(|(&call, result)| format!("{} = {result}", names.calls[call]))
                .collect();
            _ = writeln!(text, "  {}: {}", thread_name(number), calls.join(", "));
        }
        if !self.last.is_empty() {
            let calls = names.last.iter().zip(&self.last);
            let calls: Vec<_> = calls
                .map(|(call, result)| format!("{call} = {result}"))
                .collect();
            _ = writeln!(text, "  then: {}", calls.join(", "));
        }
        for (first, second) in self.ordered_pairs() {
            let (first, second) = (self.name(first, names), self.name(second, names));
            _ = writeln!(text, "  {first} ended before {second} began");
        }
        text.push_str("one at a time they return, for example");
        for line in self.nearest(orders, sequential, names) {
            _ = write!(text, "\n  {line}");
        }
        text
    }

    /// Returns the pairs of calls of two threads of which one ended before the other began, without those that follow
    /// from others and from the order of each thread.
    fn ordered_pairs(&self) -> Vec<(Position, Position)> {
        let calls =
            |thread: usize| (0..self.client.threads[thread].len()).map(move |call| (thread, call));
        let mut pairs = Vec::new();
        for one in 0..self.threads.len() {
            for other in (0..self.threads.len()).filter(|&other| other != one) {
                for second in calls(other) {
                    // The last one of `one` that ended before it, unless that did so before an earlier call too.
                    let ended = calls(one).rfind(|&first| self.ended_before(first, second));
                    let new = |first: &Position| {
                        second.1 == 0 || !self.ended_before(*first, (other, second.1 - 1))
                    };
                    pairs.extend(ended.filter(new).map(|first| (first, second)));
                }
            }
        }
        pairs
    }

    fn name(&self, (thread, number): Position, names: &Names) -> String {
        let call = names.calls[self.client.threads[thread][number]];
        format!("{} {call}", thread_name(thread))
    }

    /// Describes the orders whose results differ least from those of the execution.
    fn nearest(
        &self,
        orders: &[Vec<Position>],
        sequential: &Sequential,
        names: &Names,
    ) -> Vec<String> {
        let mut all: Vec<(usize, String)> = Vec::new();
        for order in orders {
            let observed = self.results_in(order);
            for possible in sequential.results(&self.calls_in(order)) {
                let differs = observed
                    .iter()
                    .zip(possible)
                    .filter(|(one, other)| one != other);
                let called = order.iter().map(|&call| self.name(call, names));
                let called = called.chain(names.last.iter().map(|call| format!("then {call}")));
                let results: Vec<_> = called
                    .zip(possible.iter().zip(&observed))
                    .map(|(call, (possible, observed))| match possible == observed {
                        true => format!("{call} = {possible}"),
                        false => format!("{call} = {possible} (not {observed})"),
                    })
                    .collect();
                all.push((differs.count(), results.join(", ")));
            }
        }
        all.sort();
        all.dedup();
        let mut lines: Vec<_> = all.into_iter().map(|(_, line)| line).collect();
        if lines.is_empty() {
            lines.push("nothing: they wait for ever".to_owned());
        }
        lines.truncate(MAX_SHOWN);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn performed(results: &[&str], tickets: &[usize]) -> Performed {
        Performed {
            results: results.iter().map(|&result| result.to_owned()).collect(),
            tickets: tickets.to_vec(),
        }
    }

    #[test]
    fn orders_are_all_that_tickets_allow() {
        let client = Client {
            threads: vec![vec![0, 1], vec![2]],
        };
        let history = |one: &[usize], other: &[usize]| History {
            client: &client,
            threads: vec![performed(&["", ""], one), performed(&[""], other)],
            last: Vec::new(),
        };
        let orders = |history: &History<'_>| -> Vec<Vec<usize>> {
            let orders = history.orders();
            orders.iter().map(|order| history.calls_in(order)).collect()
        };
        let all = [vec![0, 1, 2], vec![0, 2, 1], vec![2, 0, 1]];
        assert_eq!(orders(&history(&[], &[])), all);
        // The first call of A ended before B began, which ended after A.
        let first = history(&[0, 1, 3], &[2, 4]);
        assert_eq!(orders(&first), all[..2]);
        assert_eq!(first.ordered_pairs(), [((0, 0), (1, 0))]);
        // B was between the calls of A.
        let between = history(&[0, 1, 4], &[2, 3]);
        assert_eq!(orders(&between), all[..2]);
        // A call ends with the ticket with which the next one begins.
        let last = history(&[0, 1, 2], &[3, 4]);
        assert_eq!(orders(&last), all[..1]);
        assert_eq!(last.ordered_pairs(), [((0, 1), (1, 0))]);
        let before = history(&[2, 3, 4], &[0, 1]);
        assert_eq!(orders(&before), all[2..]);
        assert_eq!(before.ordered_pairs(), [((1, 0), (0, 0))]);
    }
}
