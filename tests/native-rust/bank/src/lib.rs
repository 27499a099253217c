//! Accounts, and moving money between them.

use std::sync::Mutex;

/// A bank with a fixed number of accounts.
pub struct Bank {
    accounts: Vec<Mutex<i64>>,
}

/// There is not enough money.
#[derive(Debug, PartialEq)]
pub struct Overdrawn;

impl Bank {
    pub fn new(balances: &[i64]) -> Self {
        let accounts = balances.iter().map(|&balance| Mutex::new(balance));
        Bank {
            accounts: accounts.collect(),
        }
    }

    pub fn balance(&self, account: usize) -> i64 {
        *self.accounts[account].lock().unwrap()
    }

    /// Locks the account with the smaller number first.
    pub fn transfer(&self, from: usize, to: usize, amount: i64) -> Result<(), Overdrawn> {
        let first = self.accounts[from.min(to)].lock().unwrap();
        let second = self.accounts[from.max(to)].lock().unwrap();
        let (mut source, mut target) = if from < to {
            (first, second)
        } else {
            (second, first)
        };
        if *source < amount {
            return Err(Overdrawn);
        }
        *source -= amount;
        *target += amount;
        Ok(())
    }

    /// Locks the account that the money comes from first.
    pub fn transfer_in_any_order(&self, from: usize, to: usize, amount: i64) {
        let mut source = self.accounts[from].lock().unwrap();
        let mut target = self.accounts[to].lock().unwrap();
        *source -= amount;
        *target += amount;
    }

    pub fn withdraw(&self, account: usize, amount: i64) -> Result<(), Overdrawn> {
        let mut balance = self.accounts[account].lock().unwrap();
        if *balance < amount {
            return Err(Overdrawn);
        }
        *balance -= amount;
        Ok(())
    }

    /// Looks first, and takes the money then.
    pub fn withdraw_in_two_steps(&self, account: usize, amount: i64) -> Result<(), Overdrawn> {
        if self.balance(account) < amount {
            return Err(Overdrawn);
        }
        *self.accounts[account].lock().unwrap() -= amount;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    fn both_ways(transfer: fn(&Bank, usize, usize)) -> Arc<Bank> {
        let bank = Arc::new(Bank::new(&[10, 10]));
        let there = thread::spawn({
            let bank = Arc::clone(&bank);
            move || transfer(&bank, 0, 1)
        });
        let back = thread::spawn({
            let bank = Arc::clone(&bank);
            move || transfer(&bank, 1, 0)
        });
        there.join().unwrap();
        back.join().unwrap();
        bank
    }

    #[test]
    fn money_is_moved() {
        let bank = both_ways(|bank, from, to| bank.transfer(from, to, 5).unwrap());
        assert_eq!(bank.balance(0), 10);
        assert_eq!(bank.balance(1), 10);
    }

    #[test]
    fn money_is_moved_in_any_order() {
        let bank = both_ways(|bank, from, to| bank.transfer_in_any_order(from, to, 5));
        assert_eq!(bank.balance(0), 10);
    }

    fn twice(withdraw: fn(&Bank) -> Result<(), Overdrawn>) {
        let bank = Bank::new(&[10]);
        thread::scope(|scope| {
            scope.spawn(|| withdraw(&bank));
            scope.spawn(|| withdraw(&bank));
        });
        assert!(bank.balance(0) >= 0, "overdrawn");
    }

    #[test]
    fn nobody_takes_too_much() {
        twice(|bank| bank.withdraw(0, 7));
    }

    #[test]
    fn nobody_takes_too_much_in_two_steps() {
        twice(|bank| bank.withdraw_in_two_steps(0, 7));
    }
}
