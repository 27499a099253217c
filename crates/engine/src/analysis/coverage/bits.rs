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

    /// Writes the intersection into an existing set.
    pub(crate) fn intersect_into(&self, other: &Bits, both: &mut Bits) {
        both.words.clear();
        let words = self.words.iter().zip(&other.words);
        both.words.extend(words.map(|(mine, theirs)| mine & theirs));
    }

    /// Returns the number of elements that are not in the other set.
    pub(crate) fn missing_in(&self, other: &Bits) -> u32 {
        let others = other.words.iter().copied().chain(std::iter::repeat(0));
        let words = self.words.iter().zip(others);
        let missing = words.map(|(mine, theirs)| mine & !theirs);
        missing.filter(|&word| word != 0).map(u64::count_ones).sum()
    }

    /// True when the set has a larger number than this one that is not in the other set.
    #[inline]
    pub(crate) fn has_above(&self, number: usize, other: &Bits) -> bool {
        let first = number / 64;
        let Some(mine) = self.words.get(first..) else {
            return false;
        };
        let theirs = other.words.get(first..).unwrap_or_default();
        let above = !0 << (number % 64) << 1;
        let mut missing = mine.first().unwrap_or(&0) & above & !theirs.first().unwrap_or(&0);
        let common = mine.len().min(theirs.len()).max(1);
        // Without a branch after each word, so that the loop is vectorised.
        let both = mine.get(1..common).unwrap_or_default().iter();
        for (mine, theirs) in both.zip(theirs.get(1..common).unwrap_or_default()) {
            missing |= mine & !theirs;
        }
        for mine in mine.get(common..).unwrap_or_default() {
            missing |= mine;
        }
        missing != 0
    }

    /// Adds the elements of another set that are larger than a number; returns the number of new
    /// ones.
    pub(crate) fn absorb_above(&mut self, number: usize, other: &Bits) -> u32 {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        let mut above = !0 << (number % 64) << 1;
        let mut added = 0;
        let words = self.words.iter_mut().zip(&other.words);
        for (mine, theirs) in words.skip(number / 64) {
            let new = theirs & above & !*mine;
            if new != 0 {
                added += new.count_ones();
                *mine |= new;
            }
            above = !0;
        }
        added
    }

    pub(crate) fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(index * 64 + bit)
            })
        })
    }

    /// Iterates over the intersection.
    pub(crate) fn iter_in<'a>(&'a self, other: &'a Bits) -> impl Iterator<Item = usize> + 'a {
        let words = self.words.iter().zip(&other.words).enumerate();
        words.flat_map(|(index, (mine, theirs))| {
            let mut left = mine & theirs;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(index * 64 + bit)
            })
        })
    }

    /// Returns the words, lowest numbers first.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }
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
        assert!(some.has_above(3, &others) && some.has_above(64, &others));
        assert!(!some.has_above(200, &others) && !some.has_above(0, &some));
        let mut few = Bits::default();
        assert_eq!(
            (few.absorb_above(3, &some), few.absorb_above(3, &some)),
            (2, 0)
        );
        assert_eq!(few.iter().collect::<Vec<_>>(), [64, 200]);
        assert!(!others.has_above(3, &some) && others.has_above(2, &Bits::default()));
        assert_eq!(some.missing_in(&others), 2);
        assert_eq!(others.absorb(&some), 2);
        let mut both = Bits::default();
        some.intersect_into(&others, &mut both);
        assert_eq!(both.iter().collect::<Vec<_>>(), [3, 64, 200]);
    }
}
