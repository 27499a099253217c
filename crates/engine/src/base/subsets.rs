//! Subsets of a given size, and their numbers.

/// Returns the number of subsets of `size` out of `count` elements.
pub(crate) fn subsets(count: usize, size: usize) -> u32 {
    if size > count {
        return 0;
    }
    let size = size.min(count - size);
    let number = (1..=size).fold(1u64, |ways, taken| {
        ways.saturating_mul((count - size + taken) as u64) / taken as u64
    });
    u32::try_from(number).expect("raddle: more than 2^32 ways to form a group")
}

/// Returns the positions in the subset with this number, in ascending order.
pub(crate) fn subset(count: usize, size: usize, number: u32) -> Vec<usize> {
    let mut left = number;
    let mut positions = Vec::with_capacity(size);
    for position in 0..count {
        let missing = size - positions.len();
        if missing == 0 {
            break;
        }
        let with_it = subsets(count - position - 1, missing - 1);
        if left < with_it {
            positions.push(position);
        } else {
            left -= with_it;
        }
    }
    positions
}

/// Returns the number of the subset with these positions, which are in ascending order.
pub(crate) fn number_of(count: usize, positions: &[usize]) -> u32 {
    let mut number = 0;
    let mut taken = 0;
    for position in 0..count {
        let missing = positions.len() - taken;
        if missing == 0 {
            break;
        }
        if positions[taken] == position {
            taken += 1;
        } else {
            number += subsets(count - position - 1, missing - 1);
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_subsets_match() {
        for (count, size) in [(1, 1), (4, 2), (5, 3), (6, 6), (6, 0)] {
            let all: Vec<_> = (0..subsets(count, size))
                .map(|number| subset(count, size, number))
                .collect();
            for (number, positions) in all.iter().enumerate() {
                assert_eq!(positions.len(), size);
                assert_eq!(number_of(count, positions), number as u32);
            }
            assert!(all.is_sorted() && all.windows(2).all(|pair| pair[0] != pair[1]));
        }
        assert_eq!(subsets(6, 3), 20);
        assert_eq!(subset(4, 2, 0), [0, 1]);
    }
}
