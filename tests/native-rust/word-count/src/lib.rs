//! How often words were seen.

use dashmap::DashMap;

pub struct Words {
    counts: DashMap<&'static str, u32>,
}

impl Words {
    pub fn new() -> Self {
        Words {
            counts: DashMap::with_shard_amount(2),
        }
    }

    pub fn see(&self, word: &'static str) {
        *self.counts.entry(word).or_insert(0) += 1;
    }

    /// Reads and writes in two steps.
    pub fn see_in_two_steps(&self, word: &'static str) {
        let count = self.count(word);
        self.counts.insert(word, count + 1);
    }

    /// Writes while it still holds what it read.
    pub fn see_while_reading(&self, word: &'static str) {
        if let Some(count) = self.counts.get(word) {
            self.counts.insert(word, *count + 1);
        }
    }

    pub fn count(&self, word: &str) -> u32 {
        self.counts.get(word).map_or(0, |count| *count)
    }
}

impl Default for Words {
    fn default() -> Self {
        Words::new()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn seen_twice(see: fn(&Words, &'static str)) {
        let words = Words::new();
        thread::scope(|scope| {
            scope.spawn(|| see(&words, "word"));
            see(&words, "word");
        });
        assert_eq!(words.count("word"), 2, "not all were counted");
    }

    #[test]
    fn all_are_counted() {
        seen_twice(Words::see);
    }

    #[test]
    fn all_are_counted_in_two_steps() {
        seen_twice(Words::see_in_two_steps);
    }

    #[test]
    fn seen_while_reading() {
        let words = Words::new();
        words.see("word");
        words.see_while_reading("word");
    }
}
