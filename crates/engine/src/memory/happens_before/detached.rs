//! Atomic accesses that are not events.
//!
//! The native front end lets the standard library of a program use its atomics without events, but
//! these accesses synchronize threads as their orderings demand. The world has the clocks of
//! threads; this module has the additional clocks of such accesses.

use super::{AccessClocks, Released};
use crate::memory::clock::join_growing;

/// The clock of the thread that performs an access.
pub trait ThreadClock {
    /// Joins a clock into `hb` of the thread.
    fn acquire(&mut self, clock: &[u32]);

    /// Replaces a clock by `hb` of the thread, the thread's actions so far included.
    fn release(&mut self, clock: &mut Vec<u32>);
}

/// Release clocks of atomics, which are numbered, and the clocks of fences.
#[derive(Debug, Default)]
pub struct DetachedAccesses {
    /// By atomic, the release clock of its latest write.
    release_clocks: Vec<Vec<u32>>,
    /// Number of atomics; the other elements of `release_clocks` are kept for their memory.
    atomics: usize,
    /// By thread, the clocks that its next acquire fence acquires, and that of its last release fence.
    acquirable: Vec<Vec<u32>>,
    fence: Vec<Vec<u32>>,
    /// Clock of the thread that performs an access, kept for its memory.
    own: Vec<u32>,
}

/// The clocks at one access.
#[derive(Debug)]
pub struct DetachedAccess<'a, T> {
    all: &'a mut DetachedAccesses,
    thread: usize,
    clock: T,
}

impl DetachedAccesses {
    /// Removes all atomics and fences.
    pub fn clear(&mut self) {
        self.atomics = 0;
        self.acquirable.iter_mut().for_each(Vec::clear);
        self.fence.iter_mut().for_each(Vec::clear);
    }

    /// Adds an atomic that has released nothing; returns its number.
    pub fn add_atomic(&mut self) -> usize {
        match self.release_clocks.get_mut(self.atomics) {
            Some(clock) => clock.clear(),
            None => self.release_clocks.push(Vec::new()),
        }
        self.atomics += 1;
        self.atomics - 1
    }

    /// True when relaxed writes of the thread release something.
    pub fn has_fence(&self, thread: usize) -> bool {
        self.fence
            .get(thread)
            .is_some_and(|fence| !fence.is_empty())
    }

    /// Returns the clocks at an access of a thread, to which the rules apply.
    pub fn at<T: ThreadClock>(&mut self, thread: usize, clock: T) -> DetachedAccess<'_, T> {
        for clocks in [&mut self.acquirable, &mut self.fence] {
            if clocks.len() <= thread {
                clocks.resize(thread + 1, Vec::new());
            }
        }
        DetachedAccess {
            all: self,
            thread,
            clock,
        }
    }
}

impl<T: ThreadClock> AccessClocks for DetachedAccess<'_, T> {
    type Write = usize;

    fn acquire(&mut self, atomic: usize) {
        let release_clock = &self.all.release_clocks[atomic];
        if !release_clock.is_empty() {
            self.clock.acquire(release_clock);
        }
    }

    fn defer(&mut self, atomic: usize) {
        let all = &mut *self.all;
        join_growing(
            &mut all.acquirable[self.thread],
            &all.release_clocks[atomic],
        );
    }

    fn acquire_deferred(&mut self) {
        let acquirable = &mut self.all.acquirable[self.thread];
        if !acquirable.is_empty() {
            self.clock.acquire(acquirable);
            acquirable.clear();
        }
    }

    /// There is no event to add to `hb`.
    fn complete(&mut self) {}

    fn release(&mut self, atomic: usize, released: Released, continued: Option<usize>) {
        let all = &mut *self.all;
        let release_clock = &mut all.release_clocks[atomic];
        if continued.is_none() {
            release_clock.clear();
        }
        match released {
            Released::Hb => {
                self.clock.release(&mut all.own);
                join_growing(release_clock, &all.own);
            }
            Released::Fence => join_growing(release_clock, &all.fence[self.thread]),
        }
    }

    fn release_at_fence(&mut self) {
        self.clock.release(&mut self.all.fence[self.thread]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

    use super::*;
    use crate::memory::clock::join;
    use crate::memory::happens_before::{Strength, fence, load, store, update};

    const THREADS: usize = 3;
    const ATOMICS: usize = 2;
    const ACCESSES: usize = 60;

    #[derive(Clone, Copy, PartialEq, Debug)]
    enum DetachedKind {
        Load,
        Store,
        Update,
        Fence,
    }

    #[derive(Clone, Copy, Debug)]
    struct Access {
        thread: usize,
        kind: DetachedKind,
        atomic: usize,
        ordering: Ordering,
    }

    impl Access {
        fn random(rng: &mut fastrand::Rng) -> Self {
            let kinds = [
                DetachedKind::Load,
                DetachedKind::Store,
                DetachedKind::Update,
                DetachedKind::Fence,
            ];
            let kind = rng.choice(kinds).unwrap();
            let orderings: &[Ordering] = match kind {
                DetachedKind::Load => &[Relaxed, Acquire, SeqCst],
                DetachedKind::Store => &[Relaxed, Relaxed, Release, SeqCst],
                DetachedKind::Update => &[Relaxed, Acquire, Release, AcqRel, SeqCst],
                DetachedKind::Fence => &[Acquire, Release, AcqRel, SeqCst],
            };
            Access {
                thread: rng.usize(..THREADS),
                kind,
                atomic: rng.usize(..ATOMICS),
                ordering: *rng.choice(orderings).unwrap(),
            }
        }

        fn reads(&self) -> bool {
            matches!(self.kind, DetachedKind::Load | DetachedKind::Update)
        }

        fn writes(&self) -> bool {
            matches!(self.kind, DetachedKind::Store | DetachedKind::Update)
        }

        fn is_release(&self) -> bool {
            matches!(self.ordering, Release | AcqRel | SeqCst)
        }

        fn is_acquire(&self) -> bool {
            matches!(self.ordering, Acquire | AcqRel | SeqCst)
        }
    }

    /// Returns for each access a bit set of the accesses that happen before it, by the definition
    /// of C11; reads take the latest write.
    fn definition(accesses: &[Access]) -> Vec<u64> {
        let latest = |atomic: usize, before: usize| {
            (0..before).rfind(|&it| accesses[it].writes() && accesses[it].atomic == atomic)
        };
        let own = |at: usize| (0..at).filter(move |&it| accesses[it].thread == accesses[at].thread);
        let is_fence = |it: usize| accesses[it].kind == DetachedKind::Fence;
        let mut before: Vec<u64> = Vec::new();
        for (at, access) in accesses.iter().enumerate() {
            let mut direct: Vec<usize> = own(at).collect();
            let reads: Vec<usize> = match access.kind {
                DetachedKind::Fence => own(at).filter(|&it| accesses[it].reads()).collect(),
                _ if access.reads() => vec![at],
                _ => Vec::new(),
            };
            for read in reads.into_iter().filter(|_| access.is_acquire()) {
                let mut next = latest(accesses[read].atomic, read);
                while let Some(write) = next {
                    let fences = own(write).filter(|&it| is_fence(it));
                    let heads = fences.chain([write]);
                    direct.extend(heads.filter(|&it| accesses[it].is_release()));
                    let continues = accesses[write].reads();
                    next = latest(accesses[write].atomic, write).filter(|_| continues);
                }
            }
            before.push(direct.iter().fold(0, |all, &it| all | before[it] | 1 << it));
        }
        before
    }

    struct Own<'a>(&'a mut [u32; THREADS]);

    impl ThreadClock for Own<'_> {
        fn acquire(&mut self, clock: &[u32]) {
            join(self.0, clock);
        }

        fn release(&mut self, clock: &mut Vec<u32>) {
            clock.clear();
            clock.extend_from_slice(self.0);
        }
    }

    #[test]
    fn accesses_that_are_no_events_synchronize_as_defined() {
        let mut all = DetachedAccesses::default();
        let mut acquired = 0;
        for seed in 0..2_000 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let accesses: Vec<_> = (0..ACCESSES).map(|_| Access::random(&mut rng)).collect();
            let before = definition(&accesses);
            all.clear();
            (0..ATOMICS).for_each(|_| _ = all.add_atomic());
            let mut clocks = [[0; THREADS]; THREADS];
            for (at, access) in accesses.iter().enumerate() {
                let Access { thread, atomic, .. } = *access;
                let strength = Strength::of(access.ordering);
                clocks[thread][thread] += 1;
                let clock = &mut all.at(thread, Own(&mut clocks[thread]));
                match access.kind {
                    DetachedKind::Load => load(clock, atomic, strength),
                    DetachedKind::Store => store(clock, atomic, strength, None),
                    DetachedKind::Update => update(clock, atomic, atomic, strength),
                    DetachedKind::Fence => fence(clock, strength),
                }
                let mut expected = [0; THREADS];
                for (it, other) in accesses[..=at].iter().enumerate() {
                    expected[other.thread] += u32::from(it == at || before[at] >> it & 1 == 1);
                }
                assert_eq!(
                    clocks[thread],
                    expected,
                    "{:?}, seed {seed}",
                    &accesses[..=at]
                );
                acquired += u32::from(expected.iter().filter(|&&count| count > 0).count() > 1);
            }
        }
        assert!(acquired > 10_000, "{acquired}");
    }
}
