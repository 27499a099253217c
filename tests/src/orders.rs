//! In which order threads come, and how evenly a strategy spreads over all orders.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

/// Who came, one after the other, in one execution.
#[derive(Clone, Default)]
pub struct Order(Arc<Mutex<Vec<u8>>>);

impl Order {
    /// This one came. To be called right after what it did, because nobody else runs in between.
    pub fn note(&self, who: usize) {
        self.0.lock().unwrap().push(who as u8);
    }

    /// All of them.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// How often each outcome was seen.
pub struct Tally<T>(Mutex<HashMap<T, u64>>);

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Tally(Mutex::default())
    }
}

impl<T: Eq + Hash> Tally<T> {
    /// Once more.
    pub fn count(&self, outcome: T) {
        *self.0.lock().unwrap().entry(outcome).or_default() += 1;
    }

    /// How many different ones were seen.
    pub fn distinct(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// How often all of them together were seen.
    pub fn all(&self) -> u64 {
        self.0.lock().unwrap().values().sum()
    }

    /// How often one of them was seen.
    pub fn of(&self, outcome: &T) -> u64 {
        self.0.lock().unwrap().get(outcome).copied().unwrap_or(0)
    }

    /// Pearson's chi-square for the hypothesis that so many outcomes are equally likely, divided by the
    /// degrees of freedom: about 1 if they are, and the larger the less they are.
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

/// How many orders there are of threads with so many events each.
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
