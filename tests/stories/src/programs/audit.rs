//! An audit adds up accounts one after the other while money moves between them. A transfer behind
//! its back changes the sum; one in flight is expected, two at most, and three in the same
//! direction are not. The twin audits under the lock of all transfers.
//!
//! One preemption, of the audit in the middle; all three transfers must happen there.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "audit",
    pattern: "accounts are added up while money moves between them",
    buggy: || run(|bank| bank.sum()),
    correct: || {
        run(|bank| {
            let _held = bank.transfers.lock().unwrap();
            bank.sum()
        })
    },
    facts: Facts::new(FailureKind::Panic, 4, 1),
}];

const TELLERS: usize = 3;

#[derive(Default)]
struct Bank {
    transfers: Mutex<()>,
    accounts: [AtomicI32; 2 * TELLERS],
}

impl Bank {
    fn sum(&self) -> i32 {
        (self.accounts.iter())
            .map(|account| account.load(SeqCst))
            .sum()
    }

    /// From the far end to the near end, as the audit goes.
    fn transfer(&self, near: usize) {
        let far = self.accounts.len() - 1 - near;
        let _held = self.transfers.lock().unwrap();
        self.accounts[far].fetch_sub(10, SeqCst);
        self.accounts[near].fetch_add(10, SeqCst);
    }
}

fn run(audit: fn(&Bank) -> i32) {
    crowd(
        TELLERS + 1,
        &Arc::new(Bank::default()),
        move |bank, number| {
            if number < TELLERS {
                bank.transfer(number);
            } else {
                let sum = audit(bank);
                assert!(sum.abs() <= 20, "{sum} too much");
            }
        },
    );
}
