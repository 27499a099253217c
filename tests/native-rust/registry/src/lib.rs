//! Who is in charge: the first who says so.

use once_cell::sync::{Lazy, OnceCell};

/// The names that are allowed.
pub static ALLOWED: Lazy<Vec<&'static str>> = Lazy::new(|| vec!["alice", "bob"]);

#[derive(Default)]
pub struct Charge {
    name: OnceCell<&'static str>,
}

impl Charge {
    /// Who it is, now that this one wanted to be.
    pub fn claim(&self, name: &'static str) -> &'static str {
        assert!(ALLOWED.contains(&name));
        self.name.get_or_init(|| name)
    }

    /// Reads the name first, and sets it in a second step.
    pub fn claim_in_two_steps(&self, name: &'static str) -> &'static str {
        match self.name.get() {
            Some(name) => name,
            None => {
                self.name.set(name).expect("nobody was in charge");
                name
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn both_claim(claim: fn(&Charge, &'static str) -> &'static str) {
        let charge = Charge::default();
        thread::scope(|scope| {
            let alice = scope.spawn(|| claim(&charge, "alice"));
            let bob = claim(&charge, "bob");
            assert_eq!(alice.join().unwrap(), bob);
        });
    }

    #[test]
    fn all_agree() {
        both_claim(Charge::claim);
    }

    #[test]
    fn all_agree_in_two_steps() {
        both_claim(Charge::claim_in_two_steps);
    }
}
