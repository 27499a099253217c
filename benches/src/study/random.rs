//! Random numbers from a seed: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// Returns a generator for the part of a study with this name, so that leaving out another part changes nothing
    /// here.
    pub(crate) fn of(seed: u64, name: &str) -> Self {
        let mut random = Random::new(seed);
        for byte in name.bytes() {
            random.state = random.next() ^ u64::from(byte);
        }
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below the bound, which is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Returns true in `of` of a hundred cases.
    pub(crate) fn percent(&mut self, of: usize) -> bool {
        self.below(100) < of
    }

    /// Brings the first `count` elements into a random order, drawn from all.
    pub(crate) fn shuffle_first<T>(&mut self, values: &mut [T], count: usize) {
        for index in 0..count.min(values.len()) {
            let other = index + self.below(values.len() - index);
            values.swap(index, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for the seed 1234567, as Rosetta Code's "Pseudo-random numbers/Splitmix64" lists them.
    #[test]
    fn numbers_are_those_of_the_generator() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn draws_are_below_their_bound_and_even() {
        let mut random = Random::new(1);
        let mut counts = [0; 5];
        (0..5_000).for_each(|_| counts[random.below(5)] += 1);
        assert!(
            counts.iter().all(|count| (880..1_120).contains(count)),
            "{counts:?}"
        );
        let mut values: Vec<usize> = (0..9).collect();
        random.shuffle_first(&mut values, 9);
        values.sort_unstable();
        assert_eq!(values, (0..9).collect::<Vec<_>>());
    }
}
