//! What executions have shown about the flow of values through memory. It only grows.
//!
//! A read is *relevant* if its value can decide a branch, an address or anything else that is not followed, by the
//! analysis of the code, or if it is stored and such a read may read it again. A word of memory is *kept* if accesses
//! of it are explored: a relevant read has read it, or it was accessed in a way that orders threads.
//!
//! A search uses the state of its beginning. What is found later is used by the next one.

use std::collections::{BTreeMap, BTreeSet};

/// An address of code: the return address of a callback.
pub(crate) type Site = usize;

const WORD: usize = 8;

/// Reads and writes of one word.
#[derive(Default)]
struct Word {
    readers: BTreeSet<Site>,
    writers: BTreeSet<Site>,
    /// True if there is a variable whose accesses are operations.
    is_variable: bool,
}

/// The state that decides what is left out.
#[derive(Clone, Default, PartialEq, Eq)]
struct Decided {
    kept: BTreeSet<usize>,
    /// Reads that are not relevant by themselves, and whose value is stored where a relevant read finds it.
    relevant: BTreeSet<Site>,
    /// True if the program has performed a fence, which makes relaxed accesses synchronize.
    is_fenced: bool,
}

/// The flow of values between sites.
#[derive(Default)]
pub(crate) struct Flow {
    /// Reads that are not relevant by themselves, with the writes that store their value.
    stores: BTreeMap<Site, Vec<Site>>,
    /// For each of these writes, the reads.
    stored: BTreeMap<Site, Vec<Site>>,
    words: BTreeMap<usize, Word>,
    /// By read, the words of operations that it has read.
    read_by: BTreeMap<Site, BTreeSet<usize>>,
    /// By read, the writes whose value it has found in memory.
    found: BTreeMap<Site, BTreeSet<Site>>,
    relevant_writes: BTreeSet<Site>,
    grown: Decided,
    /// The state when the search began.
    present: Decided,
}

/// An access of a variable whose accesses are operations.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) bytes: std::ops::Range<usize>,
    pub(crate) site: Site,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// True for relaxed accesses that are no compare-exchange.
    pub(crate) is_relaxed: bool,
}

/// The part of an access in a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// It is explored.
    Kept,
    /// All accesses of the variable are left out.
    VariableIsLeftOut,
    /// This read is left out. Others may be explored.
    ReadIsLeftOut,
}

/// Returns the words that bytes are in.
fn words(bytes: &std::ops::Range<usize>) -> impl Iterator<Item = usize> + use<> {
    (bytes.start & !(WORD - 1)..bytes.end).step_by(WORD)
}

impl Flow {
    /// Creates a flow from the reads that are not relevant by themselves and the writes that store their values.
    pub(crate) fn new(stores: BTreeMap<Site, Vec<Site>>) -> Self {
        let mut stored: BTreeMap<Site, Vec<Site>> = BTreeMap::new();
        for (&read, writes) in &stores {
            for &write in writes {
                stored.entry(write).or_default().push(read);
            }
        }
        Flow {
            stores,
            stored,
            ..Flow::default()
        }
    }

    /// True if a write may store the value of a read that is not relevant by itself.
    pub(crate) fn may_store(&self, write: Site) -> bool {
        self.stored.contains_key(&write)
    }

    /// True if the flow has changed what is left out since the search began.
    pub(crate) fn has_grown(&self) -> bool {
        self.grown != self.present
    }

    /// Begins a search.
    pub(crate) fn begin(&mut self) {
        self.present.clone_from(&self.grown);
    }

    /// Records a fence.
    pub(crate) fn fence(&mut self) {
        self.grown.is_fenced = true;
    }

    /// Records an access of a variable, and returns what becomes of it in the present search.
    pub(crate) fn access(&mut self, access: &Access) -> Part {
        for word in words(&access.bytes) {
            self.words.entry(word).or_default().is_variable = true;
            if access.reads {
                self.add_reader(word, access.site);
            }
            if access.writes {
                self.add_writer(word, access.site);
            }
            if !access.is_relaxed {
                self.keep(word);
            }
        }
        let Decided {
            kept,
            relevant,
            is_fenced,
        } = &self.present;
        let is_relevant =
            !self.stores.contains_key(&access.site) || relevant.contains(&access.site);
        match words(&access.bytes).any(|word| kept.contains(&word)) {
            _ if *is_fenced => Part::Kept,
            false => Part::VariableIsLeftOut,
            true if access.is_relaxed && !access.writes && !is_relevant => Part::ReadIsLeftOut,
            true => Part::Kept,
        }
    }

    /// Records a plain read of bytes that some of these writes have written last.
    pub(crate) fn read(&mut self, bytes: &std::ops::Range<usize>, site: Site, found: &[Site]) {
        for word in words(bytes) {
            if self.words.get(&word).is_some_and(|it| it.is_variable) {
                self.add_reader(word, site);
            }
        }
        for &write in found {
            if self.found.entry(site).or_default().insert(write) && self.is_relevant(site) {
                self.find_relevant_write(write);
            }
        }
    }

    /// Records a plain write of a value that [may be](Self::may_store) that of a read. With `is_seen`, code that is not
    /// followed may read it.
    pub(crate) fn write(&mut self, bytes: &std::ops::Range<usize>, site: Site, is_seen: bool) {
        for word in words(bytes) {
            self.add_writer(word, site);
        }
        if is_seen {
            self.find_relevant_write(site);
        }
    }

    /// Records that code that is not followed accesses these bytes.
    pub(crate) fn keep_bytes(&mut self, bytes: &std::ops::Range<usize>) {
        for word in words(bytes) {
            self.keep(word);
        }
    }

    fn is_relevant(&self, read: Site) -> bool {
        !self.stores.contains_key(&read) || self.grown.relevant.contains(&read)
    }

    fn add_reader(&mut self, word: usize, read: Site) {
        if self.words.entry(word).or_default().readers.insert(read) {
            self.read_by.entry(read).or_default().insert(word);
            if self.is_relevant(read) {
                self.keep(word);
            }
        }
    }

    fn add_writer(&mut self, word: usize, write: Site) {
        let is_new = self.words.entry(word).or_default().writers.insert(write);
        if is_new && self.grown.kept.contains(&word) {
            self.find_relevant_write(write);
        }
    }

    /// Keeps a word: values that are written to it must be those of the search.
    fn keep(&mut self, word: usize) {
        if self.grown.kept.insert(word) {
            let known = self.words.entry(word).or_default();
            for write in known.writers.clone() {
                self.find_relevant_write(write);
            }
        }
    }

    fn find_relevant_write(&mut self, write: Site) {
        if self.relevant_writes.insert(write) {
            for read in self.stored.get(&write).cloned().unwrap_or_default() {
                self.find_relevant_read(read);
            }
        }
    }

    fn find_relevant_read(&mut self, read: Site) {
        if self.grown.relevant.insert(read) {
            for word in self.read_by.get(&read).cloned().unwrap_or_default() {
                self.keep(word);
            }
            for write in self.found.get(&read).cloned().unwrap_or_default() {
                self.find_relevant_write(write);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads 1 to 3 are stored by writes 11 to 13; others decide something.
    fn flow() -> Flow {
        let mut flow = Flow::new((1..4).map(|read| (read, vec![read + 10])).collect());
        flow.begin();
        flow
    }

    fn load(site: Site, address: usize) -> Access {
        Access {
            bytes: address..address + 4,
            site,
            reads: true,
            writes: false,
            is_relaxed: true,
        }
    }

    fn store(site: Site, address: usize) -> Access {
        Access {
            reads: false,
            writes: true,
            ..load(site, address)
        }
    }

    #[test]
    fn a_variable_is_left_out_until_a_read_that_decides_something() {
        let mut flow = flow();
        assert_eq!(flow.access(&store(21, 0x100)), Part::VariableIsLeftOut);
        assert_eq!(flow.access(&load(1, 0x100)), Part::VariableIsLeftOut);
        assert!(!flow.has_grown());
        // The present search goes on as it began.
        assert_eq!(flow.access(&load(4, 0x104)), Part::VariableIsLeftOut);
        assert!(flow.has_grown());
        flow.begin();
        assert_eq!(flow.access(&store(21, 0x100)), Part::Kept);
        assert_eq!(flow.access(&load(1, 0x100)), Part::ReadIsLeftOut);
        assert_eq!(flow.access(&load(4, 0x100)), Part::Kept);
        assert_eq!(
            flow.access(&load(4, 0x200)),
            Part::VariableIsLeftOut,
            "another word"
        );
    }

    #[test]
    fn accesses_that_order_threads_are_kept() {
        let mut flow = flow();
        let acquire = Access {
            is_relaxed: false,
            ..load(1, 0x100)
        };
        flow.access(&acquire);
        flow.begin();
        assert_eq!(flow.access(&acquire), Part::Kept);
        assert_eq!(flow.access(&load(1, 0x100)), Part::ReadIsLeftOut);
        flow.fence();
        assert!(flow.has_grown());
        flow.begin();
        assert_eq!(flow.access(&load(1, 0x100)), Part::Kept);
        assert_eq!(flow.access(&load(1, 0x300)), Part::Kept);
    }

    #[test]
    fn values_are_followed_through_variables_and_plain_memory() {
        let mut flow = flow();
        // 0x100 goes to 0x200 and from there, by plain memory, to a read that decides something.
        flow.access(&load(1, 0x100));
        flow.access(&store(11, 0x200));
        flow.access(&load(2, 0x200));
        flow.write(&(0x300..0x304), 12, false);
        assert!(!flow.has_grown());
        flow.read(&(0x300..0x304), 3, &[12]);
        assert!(!flow.has_grown());
        flow.write(&(0x400..0x404), 13, false);
        flow.read(&(0x400..0x404), 4, &[13]);
        flow.begin();
        for access in [load(1, 0x100), store(11, 0x200), load(2, 0x200)] {
            assert_eq!(flow.access(&access), Part::Kept, "{access:?}");
        }
    }

    #[test]
    fn a_value_that_is_stored_in_a_kept_word_is_kept() {
        let mut flow = flow();
        flow.access(&load(4, 0x200));
        flow.access(&load(1, 0x100));
        flow.begin();
        assert_eq!(flow.access(&load(1, 0x100)), Part::VariableIsLeftOut);
        flow.access(&store(11, 0x200));
        flow.begin();
        assert_eq!(flow.access(&load(1, 0x100)), Part::Kept);
    }

    #[test]
    fn what_code_that_is_not_followed_may_read_decides_something() {
        let mut flow = flow();
        flow.access(&load(1, 0x100));
        flow.write(&(0x300..0x304), 11, true);
        flow.access(&load(2, 0x200));
        flow.keep_bytes(&(0x200..0x201));
        flow.begin();
        assert_eq!(flow.access(&load(1, 0x100)), Part::Kept);
        assert_eq!(flow.access(&store(21, 0x200)), Part::Kept);
    }
}
