//! Tellers move money between accounts and lock the account it comes from, then the one it goes to.
//! Three transfers in a ring wait for each other. Retells *Bank* of the cooperative-testing suite;
//! the twin locks accounts in the order of their numbers.
//!
//! One preemption, of a teller between its two accounts: the teller whose money goes to the first
//! of them then takes its own and waits, and so does the third. Each has done another transfer
//! before, so that they rarely come to the ring together. In the busy bank four tellers do three
//! transfers each, all of them from a lower account to a higher one but for a single pair.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "bank",
        pattern: "a ring of transfers, each locks where the money comes from first",
        buggy: || run(from_first),
        correct: || run(lower_first),
        facts: Facts::new(FailureKind::Deadlock, 3, 1),
    },
    Story {
        name: "bank_busy",
        pattern: "one transfer of many goes the other way",
        buggy: || run_busy(from_first),
        correct: || run_busy(lower_first),
        facts: Facts::large(FailureKind::Deadlock, 4),
    },
];

type Account = Mutex<i32>;

fn from_first(accounts: &[Account], from: usize, to: usize) {
    let mut source = accounts[from].lock().unwrap();
    let mut target = accounts[to].lock().unwrap();
    *source -= 10;
    *target += 10;
}

fn lower_first(accounts: &[Account], from: usize, to: usize) {
    let mut lower = accounts[from.min(to)].lock().unwrap();
    let mut higher = accounts[from.max(to)].lock().unwrap();
    let (source, target) = match from < to {
        true => (&mut *lower, &mut *higher),
        false => (&mut *higher, &mut *lower),
    };
    *source -= 10;
    *target += 10;
}

fn run(transfer: fn(&[Account], usize, usize)) {
    // Each teller has an account of its own besides the three in the ring.
    let accounts: Vec<_> = (0..6).map(|_| Mutex::new(100)).collect();
    let accounts = Arc::new(accounts);
    crowd(3, &accounts, move |accounts, teller| {
        transfer(accounts, teller, 3 + teller);
        transfer(accounts, teller, (teller + 1) % 3);
    });
    let total: i32 = (accounts.iter())
        .map(|account| *account.lock().unwrap())
        .sum();
    assert_eq!(total, 600, "money was made or lost");
}

/// The transfers of each teller.
const BUSY: [[(usize, usize); 3]; 4] = [
    [(0, 1), (1, 2), (0, 3)],
    [(1, 3), (0, 2), (3, 4)],
    [(2, 4), (3, 4), (4, 3)],
    [(0, 4), (1, 4), (2, 3)],
];

fn run_busy(transfer: fn(&[Account], usize, usize)) {
    let accounts: Vec<_> = (0..5).map(|_| Mutex::new(100)).collect();
    crowd(BUSY.len(), &Arc::new(accounts), move |accounts, teller| {
        for (from, to) in BUSY[teller] {
            transfer(accounts, from, to);
        }
    });
}
