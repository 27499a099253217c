//! Shadow state of a piece of memory.

use raddle_engine::CellId;

/// Stands for no thread.
pub(crate) const NOBODY: u16 = u16::MAX;

/// State of a granule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GranuleState {
    /// All that was done to it is in order.
    Ordered,
    /// Its halves are granules, side by side from the one with this number on.
    Split(usize),
    /// A cell of the engine's.
    Cell(CellId),
}

/// The running thread, valid while no other thread runs.
pub(crate) struct Now {
    pub(crate) epoch: u64,
    pub(crate) thread: u16,
    pub(crate) index: u32,
    pub(crate) end_of_stack: usize,
    pub(crate) has_forgotten: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct LastAccess {
    pub(crate) thread: u16,
    pub(crate) index: u32,
    pub(crate) site: usize,
}

/// Much memory has many of them, so that they are kept small.
#[derive(Clone, Copy)]
pub(crate) struct Granule {
    pub(crate) write_site: usize,
    pub(crate) read_site: usize,
    pub(crate) write_index: u32,
    pub(crate) read_index: u32,
    pub(crate) write_thread: u16,
    pub(crate) read_thread: u16,
    /// Stamp of the execution, whether it is accessed atomically as well, and its state. The value of the
    /// state is stored in `write_site`.
    pub(crate) meta: u32,
}

pub(crate) const STATE: u32 = 0b11;
pub(crate) const ORDERED: u32 = 0;
pub(crate) const SPLIT: u32 = 1;
pub(crate) const CELL: u32 = 2;
pub(crate) const ATOMIC: u32 = 0b100;
pub(crate) const FIRST_STAMP: u32 = 0b1000;

impl Granule {
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

    /// Since then.
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
        self.read_thread = NOBODY;
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
    write_thread: NOBODY,
    read_thread: NOBODY,
    meta: 0,
};
