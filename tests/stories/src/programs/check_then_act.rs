//! Looks, decides, and acts on what may no longer be so; every single access is atomic or under a
//! lock.
//!
//! *Withdraw* and *write skew* are examples of coverage-guided testing: two withdrawals of all that
//! is there, and a deposit and a debt that must not exist together. In *oversell* three agents sell
//! the last seats of a plane; overbooking by one is accepted, by two is not. One preemption for the
//! first two. Oversell: an agent has looked (one), a second has looked (two), the third sells.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "withdraw",
        pattern: "the balance is checked in one critical section and changed in another",
        buggy: || {
            let balance = Arc::new(Mutex::new(10));
            crowd(2, &balance, |balance, _| {
                let enough = *balance.lock().unwrap() >= 10;
                if enough {
                    *balance.lock().unwrap() -= 10;
                }
            });
            assert!(
                *balance.lock().unwrap() >= 0,
                "more was taken than there was"
            );
        },
        correct: || {
            let balance = Arc::new(Mutex::new(10));
            crowd(2, &balance, |balance, _| {
                let mut balance = balance.lock().unwrap();
                if *balance >= 10 {
                    *balance -= 10;
                }
            });
            assert!(
                *balance.lock().unwrap() >= 0,
                "more was taken than there was"
            );
        },
        facts: Facts::new(FailureKind::Panic, 2, 1),
    },
    Story {
        name: "write_skew",
        pattern: "each of two checks the variable that the other changes",
        buggy: || {
            skew(|ledger, mine, other| {
                let nothing = *ledger.amounts[other].lock().unwrap() == 0;
                if nothing {
                    *ledger.amounts[mine].lock().unwrap() += 5;
                }
            })
        },
        correct: || {
            skew(|ledger, mine, other| {
                let _held = ledger.both.lock().unwrap();
                let nothing = *ledger.amounts[other].lock().unwrap() == 0;
                if nothing {
                    *ledger.amounts[mine].lock().unwrap() += 5;
                }
            })
        },
        facts: Facts::new(FailureKind::Panic, 2, 1),
    },
    Story {
        name: "oversell",
        pattern: "several agents see the last free seat",
        buggy: || {
            sell(|sold| {
                if sold.load(SeqCst) < SEATS {
                    sold.fetch_add(1, SeqCst);
                }
            })
        },
        correct: || {
            sell(|sold| {
                let next = |sold| (sold < SEATS).then_some(sold + 1);
                let _ = sold.fetch_update(SeqCst, SeqCst, next);
            })
        },
        facts: Facts::new(FailureKind::Panic, 3, 2),
    },
];

#[derive(Default)]
struct Ledger {
    both: Mutex<()>,
    /// Balance and debt; not both may be positive.
    amounts: [Mutex<usize>; 2],
}

/// A deposit if there is no debt, and a debt if there is no balance.
fn skew(change: fn(&Ledger, mine: usize, other: usize)) {
    let ledger = Arc::new(Ledger::default());
    crowd(2, &ledger, move |ledger, mine| {
        change(ledger, mine, 1 - mine)
    });
    let amounts = (ledger.amounts.each_ref()).map(|amount| *amount.lock().unwrap());
    assert!(amounts.contains(&0), "a balance and a debt: {amounts:?}");
}

const SEATS: usize = 2;

fn sell(one: fn(&AtomicUsize)) {
    let sold = Arc::new(AtomicUsize::new(0));
    crowd(3, &sold, move |sold, _| {
        one(sold);
        one(sold);
    });
    let sold = sold.load(SeqCst);
    assert!(sold <= SEATS + 1, "{sold} of {SEATS} seats sold");
}
