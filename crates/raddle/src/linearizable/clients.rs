//! Clients: threads with calls, each set of threads once.

/// A client: the calls of each thread, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) threads: Vec<Vec<usize>>,
}

/// A size of clients: the number of calls of each thread, the largest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Size(Vec<usize>);

/// Returns the sizes of clients, the smallest first: two threads with up to `calls` calls each, and more threads with
/// one call each, or one of them with two.
pub(super) fn sizes(threads: usize, calls: usize) -> Vec<Size> {
    let mut sizes = Vec::new();
    if threads < 2 || calls < 1 {
        return sizes;
    }
    for first in 1..=calls {
        sizes.extend((1..=first).map(|second| Size(vec![first, second])));
    }
    for count in 3..=threads {
        for first in 1..=calls.min(2) {
            let mut size = vec![1; count];
            size[0] = first;
            sizes.push(Size(size));
        }
    }
    sizes.sort_by_key(Size::calls);
    sizes
}

/// Returns the name of a thread of a client: A, B, ...
pub(super) fn thread_name(number: usize) -> String {
    match u8::try_from(number) {
        Ok(number @ 0..26) => char::from(b'A' + number).to_string(),
        _ => format!("thread {}", number + 1),
    }
}

impl Size {
    /// Returns the number of calls of a client.
    pub(super) fn calls(&self) -> usize {
        self.0.iter().sum()
    }

    /// Returns the number of sequences of as many of `calls` different calls.
    pub(super) fn sequences(&self, calls: usize) -> usize {
        (0..self.calls()).fold(1, |count: usize, _| count.saturating_mul(calls))
    }

    /// Returns all clients of this size of `calls` different calls. Threads with as many calls are
    /// interchangeable, so only those in ascending order are among them.
    pub(super) fn clients(&self, calls: usize) -> Vec<Client> {
        let mut clients = vec![Vec::<Vec<usize>>::new()];
        for (number, &length) in self.0.iter().enumerate() {
            let after_equal = number > 0 && self.0[number - 1] == length;
            let sequences = all_sequences(length, calls);
            clients = (clients.iter())
                .flat_map(|threads| {
                    let least = threads.last().filter(|_| after_equal);
                    let fits = sequences
                        .iter()
                        .filter(move |&next| least.is_none_or(|least| next >= least));
                    fits.map(|next| {
                        let mut longer = threads.clone();
                        longer.push(next.clone());
                        longer
                    })
                })
                .collect();
        }
        clients
            .into_iter()
            .map(|threads| Client { threads })
            .collect()
    }
}

/// Returns all sequences of this length of numbers below `calls`, in ascending order.
pub(super) fn all_sequences(length: usize, calls: usize) -> Vec<Vec<usize>> {
    let mut sequences = vec![Vec::new()];
    for _ in 0..length {
        let longer = |sequence: &Vec<usize>| {
            let sequence = sequence.clone();
            (0..calls).map(move |call| [sequence.as_slice(), &[call]].concat())
        };
        sequences = sequences.iter().flat_map(longer).collect();
    }
    sequences
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn sizes_are_sorted_by_calls() {
        let sizes = |threads, calls| -> Vec<Vec<usize>> {
            super::sizes(threads, calls)
                .into_iter()
                .map(|size| size.0)
                .collect()
        };
        assert_eq!(sizes(2, 2), [vec![1, 1], vec![2, 1], vec![2, 2]]);
        assert_eq!(sizes(3, 1), [vec![1, 1], vec![1, 1, 1]]);
        let larger = [
            vec![1, 1],
            vec![2, 1],
            vec![1, 1, 1],
            vec![2, 2],
            vec![2, 1, 1],
        ];
        assert_eq!(sizes(3, 2), larger);
        assert_eq!(sizes(1, 2), Vec::<Vec<usize>>::new());
        assert_eq!(sizes(2, 0), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn each_multiset_of_threads_is_one_client() {
        for (size, calls) in [
            (vec![1, 1], 4),
            (vec![2, 1], 3),
            (vec![2, 2], 3),
            (vec![1, 1, 1], 4),
            (vec![2, 1, 1], 2),
        ] {
            let clients = Size(size.clone()).clients(calls);
            let sets: BTreeSet<Vec<Vec<usize>>> = (clients.iter())
                .map(|client| {
                    let mut threads = client.threads.clone();
                    threads.sort();
                    threads
                })
                .collect();
            assert_eq!(
                sets.len(),
                clients.len(),
                "{size:?}: a client is there twice"
            );
            // Every choice of sequences for the threads, with the threads sorted.
            let mut all = BTreeSet::new();
            let total: usize = size.iter().sum();
            for sequence in all_sequences(total, calls) {
                let mut rest = sequence.as_slice();
                let mut threads = Vec::new();
                for &length in &size {
                    let (thread, after) = rest.split_at(length);
                    threads.push(thread.to_vec());
                    rest = after;
                }
                threads.sort();
                all.insert(threads);
            }
            assert_eq!(sets, all, "{size:?}");
        }
    }
}
