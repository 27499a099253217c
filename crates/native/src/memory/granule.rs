//! Shadow state of a piece of memory.

use raddle_engine::CellId;

/// Value for the absence of a thread.
pub(crate) const NO_THREAD: u16 = u16::MAX;

/// State of a granule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GranuleState {
    /// The accesses so far are ordered by happens-before.
    Ordered,
    /// Split into two adjacent granules for its halves; the number is that of the first.
    Split(usize),
    /// Represented by a cell of the engine's.
    Cell(CellId),
}

#[derive(Clone, Copy)]
pub(crate) struct LastAccess {
    pub(crate) thread: u16,
    pub(crate) index: u32,
    pub(crate) site: usize,
}

/// Last accesses of a granule. It is kept small, because there is one for each word in use. The assembly of
/// `entry/plain.rs` reads it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Granule {
    pub(crate) write_site: usize,
    pub(crate) read_site: usize,
    pub(crate) write_index: u32,
    pub(crate) read_index: u32,
    pub(crate) write_thread: u16,
    pub(crate) read_thread: u16,
    /// Stamp of the execution, the flag `ATOMIC` of memory that is also accessed atomically, and
    /// the state. The value of the state is stored in `write_site`.
    pub(crate) meta: u32,
}

pub(crate) const STATE: u32 = 0b11;
pub(crate) const ORDERED: u32 = 0;
pub(crate) const SPLIT: u32 = 1;
pub(crate) const CELL: u32 = 2;
pub(crate) const ATOMIC: u32 = 0b100;
pub(crate) const FIRST_STAMP: u32 = 0b1000;

/// Returns the tag of a granule with these last accesses and this stamp.
#[inline]
pub(crate) fn tag(write_thread: u16, read_thread: u16, meta: u32) -> u64 {
    u64::from(write_thread) | u64::from(read_thread) << 16 | u64::from(meta) << 32
}

impl Granule {
    /// Returns the threads of the last accesses, the stamp and the state.
    #[inline]
    pub(crate) fn tag(&self) -> u64 {
        tag(self.write_thread, self.read_thread, self.meta)
    }

    #[inline]
    pub(crate) fn set_tag(&mut self, tag: u64) {
        self.write_thread = tag as u16;
        self.read_thread = (tag >> 16) as u16;
        self.meta = (tag >> 32) as u32;
    }

    #[inline]
    pub(crate) fn state(&self) -> GranuleState {
        match self.meta & STATE {
            ORDERED => GranuleState::Ordered,
            SPLIT => GranuleState::Split(self.write_site),
            _ => GranuleState::Cell(CellId::new(self.write_site)),
        }
    }

    pub(crate) fn set_state(&mut self, state: GranuleState) {
        let kind = match state {
            GranuleState::Ordered => ORDERED,
            GranuleState::Split(number) => {
                self.write_site = number;
                SPLIT
            }
            GranuleState::Cell(cell) => {
                self.write_site = cell.index();
                CELL
            }
        };
        self.meta = self.meta & !STATE | kind;
    }

    #[inline]
    pub(crate) fn is_split(&self) -> bool {
        self.meta & STATE == SPLIT
    }

    #[inline]
    pub(crate) fn write(&self) -> LastAccess {
        LastAccess {
            thread: self.write_thread,
            index: self.write_index,
            site: self.write_site,
        }
    }

    /// Returns the last read since that write.
    #[inline]
    pub(crate) fn read(&self) -> LastAccess {
        LastAccess {
            thread: self.read_thread,
            index: self.read_index,
            site: self.read_site,
        }
    }

    #[inline]
    pub(crate) fn set_write(&mut self, last: LastAccess) {
        self.write_thread = last.thread;
        self.write_index = last.index;
        if self.meta & STATE == ORDERED {
            self.write_site = last.site;
        }
        self.read_thread = NO_THREAD;
    }

    #[inline]
    pub(crate) fn set_read(&mut self, last: LastAccess) {
        self.read_thread = last.thread;
        self.read_index = last.index;
        self.read_site = last.site;
    }
}

pub(crate) const EMPTY: Granule = Granule {
    write_site: 0,
    read_site: 0,
    write_index: 0,
    read_index: 0,
    write_thread: NO_THREAD,
    read_thread: NO_THREAD,
    meta: 0,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_back_and_leaves_the_rest_alone() {
        let states = [
            GranuleState::Ordered,
            GranuleState::Split(12_345),
            GranuleState::Cell(CellId::new(67)),
        ];
        for before in states {
            for state in states {
                let mut granule = EMPTY;
                granule.meta = (7 * FIRST_STAMP) | ATOMIC;
                granule.set_state(before);
                granule.set_state(state);
                assert!(granule.state() == state);
                assert_eq!(granule.is_split(), matches!(state, GranuleState::Split(_)));
                assert_eq!(granule.meta & !STATE, (7 * FIRST_STAMP) | ATOMIC);
            }
        }
    }

    #[test]
    fn a_write_replaces_the_write_before_and_the_reads_since() {
        let access = |thread, index, site| LastAccess {
            thread,
            index,
            site,
        };
        let mut granule = EMPTY;
        assert_eq!(granule.write().thread, NO_THREAD);
        granule.set_write(access(1, 10, 100));
        granule.set_read(access(2, 20, 200));
        let (write, read) = (granule.write(), granule.read());
        assert_eq!((write.thread, write.index, write.site), (1, 10, 100));
        assert_eq!((read.thread, read.index, read.site), (2, 20, 200));
        granule.set_write(access(3, 30, 300));
        let (write, read) = (granule.write(), granule.read());
        assert_eq!((write.thread, write.index, write.site), (3, 30, 300));
        assert_eq!(read.thread, NO_THREAD);
    }

    #[test]
    fn a_cell_keeps_its_number_when_it_is_written() {
        let mut granule = EMPTY;
        granule.set_state(GranuleState::Cell(CellId::new(9)));
        granule.set_write(LastAccess {
            thread: 1,
            index: 2,
            site: 3,
        });
        assert!(granule.state() == GranuleState::Cell(CellId::new(9)));
    }
}
