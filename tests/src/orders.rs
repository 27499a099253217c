//! The order of threads' events, and the uniformity of a strategy's samples of all orders.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

/// The threads in the order of their events, in one execution.
#[derive(Clone, Default)]
pub struct Order(Arc<Mutex<Vec<u8>>>);

impl Order {
    /// Appends a thread. Called right after its event, because no other thread runs in between.
    pub fn note(&self, who: usize) {
        self.0.lock().unwrap().push(who as u8);
    }

    /// Takes the whole order.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// The number of times each outcome was observed.
pub struct Tally<T>(Mutex<HashMap<T, u64>>);

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Tally(Mutex::default())
    }
}

impl<T: Eq + Hash> Tally<T> {
    /// Counts an outcome.
    pub fn count(&self, outcome: T) {
        *self.0.lock().unwrap().entry(outcome).or_default() += 1;
    }

    /// Returns the number of different outcomes.
    pub fn distinct(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Returns the number of all observations.
    pub fn all(&self) -> u64 {
        self.0.lock().unwrap().values().sum()
    }

    /// Returns the number of observations of one outcome.
    pub fn of(&self, outcome: &T) -> u64 {
        self.0.lock().unwrap().get(outcome).copied().unwrap_or(0)
    }

    /// Returns Pearson's chi-square for the hypothesis that this number of outcomes is equally
    /// likely, divided by the degrees of freedom: about 1 if the hypothesis holds, larger
    /// otherwise.
    pub fn chi_square(&self, outcomes: u64) -> f64 {
        let seen = self.0.lock().unwrap();
        assert!(
            seen.len() as u64 <= outcomes,
            "more outcomes than there are"
        );
        let expected = seen.values().sum::<u64>() as f64 / outcomes as f64;
        let square = |&count: &u64| (count as f64 - expected).powi(2) / expected;
        let unseen = (outcomes - seen.len() as u64) as f64 * expected;
        (seen.values().map(square).sum::<f64>() + unseen) / (outcomes - 1) as f64
    }
}

/// Returns the number of orders of threads with these numbers of events.
pub fn orders(events: &[usize]) -> u64 {
    let (mut orders, mut all) = (1, 0);
    for &own in events {
        for event in 1..=own as u64 {
            all += 1;
            // Binomial coefficients: every step of the product is one.
            orders = orders * all / event;
        }
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_multinomial() {
        assert_eq!(orders(&[5, 5]), 252);
        assert_eq!(orders(&[3, 4, 5]), 27_720);
        assert_eq!(orders(&[4]), 1);
    }

    #[test]
    fn even_counts_have_no_chi_square() {
        let tally = Tally::default();
        for outcome in [1, 2, 3, 1, 2, 3] {
            tally.count(outcome);
        }
        assert_eq!(tally.chi_square(3), 0.0);
        // Expected 1.5 each: 3 * 0.5^2 / 1.5 + 1.5, over 3.
        assert_eq!(tally.chi_square(4), 2.0 / 3.0);
        assert_eq!((tally.all(), tally.distinct(), tally.of(&1)), (6, 3, 2));
    }
}
