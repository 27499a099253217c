//! Bit sets of small numbers.

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Empties the set and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds a number; returns whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, number: usize) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    /// Adds a number; the set must have been large enough for it before it was cleared.
    #[inline]
    pub(crate) fn insert_within(&mut self, number: usize) {
        self.words[number / 64] |= 1 << (number % 64);
    }

    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(word) = self.words.get_mut(number / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    #[inline]
    pub(crate) fn contains(&self, number: usize) -> bool {
        let word = self.words.get(number / 64);
        word.is_some_and(|word| word & 1 << (number % 64) != 0)
    }

    /// Adds all of another set; returns the number of new elements.
    pub(crate) fn absorb(&mut self, other: &Bits) -> u32 {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        let mut added = 0;
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            let new = theirs & !*mine;
            // Mostly no bit is new, and counting bits takes longer than the test.
            if new != 0 {
                added += new.count_ones();
                *mine |= new;
            }
        }
        added
    }

    /// Returns the number of elements that are not among the numbers of these words.
    pub(crate) fn missing_in(&self, words: &[u64]) -> u32 {
        let others = words.iter().copied().chain(std::iter::repeat(0));
        let words = self.words.iter().zip(others);
        let missing = words.map(|(mine, theirs)| mine & !theirs);
        missing.filter(|&word| word != 0).map(u64::count_ones).sum()
    }

    pub(crate) fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        numbers(&self.words)
    }

    /// Returns the words, lowest numbers first.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }
}

/// Returns the numbers of the set with these words, lowest first.
pub(crate) fn numbers(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(index * 64 + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_in_and_come_out() {
        let mut some = Bits::default();
        assert!(some.insert(3) && some.insert(64) && some.insert(200));
        assert!(!some.insert(64));
        assert_eq!(some.iter().collect::<Vec<_>>(), [3, 64, 200]);
        assert_eq!(some.count(), 3);
        assert!(some.contains(200) && !some.contains(201) && !some.contains(5000));
        let mut others = Bits::default();
        others.insert(3);
        assert_eq!(some.missing_in(others.words()), 2);
        assert_eq!(others.absorb(&some), 2);
        others.clear();
        others.insert_within(200);
        assert_eq!(others.iter().collect::<Vec<_>>(), [200]);
        others.remove(200);
        others.remove(5000);
        assert_eq!(others.count(), 0);
    }
}
