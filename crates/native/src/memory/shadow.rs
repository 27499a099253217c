//! Shadow memory: the last plain accesses of each piece of memory.
//!
//! Most memory is used by one thread at a time, in order. For that it is enough to keep the last
//! write and the last read since then, as FastTrack does (Flanagan and Freund, PLDI 2009): thread,
//! event index and site. Other accesses, concurrent reads and races, need a cell of the engine,
//! which adopts the kept ones. So the engine finds the same races as if it received every access.
//!
//! A *granule* is a word of memory, or half of one that was accessed by halves, and so on down to bytes.
//! Granules of a page are contiguous, and are empty if their stamp is not that of the execution.

mod granules;
mod recording;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use raddle_engine::ThreadId;

use super::blocks::Bad;
use super::granule::{
    ATOMIC, CELL, FIRST_STAMP, Granule, GranuleState, LastAccess, NO_THREAD, ORDERED, SPLIT, STATE,
    tag,
};
use super::own_accesses::{NO_LIST, OwnAccess, OwnAccesses, OwnLists, WRITES};
use super::{heap_range, plain_choices, stacks};
use crate::abi::stack::STACK;
use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::mode;

pub(crate) const WORD: usize = 8;
const KIND: &str = "memory";
pub(crate) const PAGE: usize = 4096;
/// Number of slots for pages whose granules were used recently; a power of two.
pub(crate) const RECENT: usize = 256;
const CHUNK: usize = 1024;
/// Maximum number of cells for coverage and other data beyond races.
const MAX_CELLS: usize = 4096;

/// The running thread, valid in one epoch, and recently used pages. The assembly of `entry/plain.rs` reads it.
#[repr(C)]
pub(crate) struct Now {
    pub(crate) epoch: u64,
    pub(crate) end_of_stack: usize,
    /// Number of its events.
    pub(crate) index: u32,
    /// Stamp of the granules that were used in this execution; [`NO_STAMP`] if accesses need more than a check for
    /// races.
    pub(crate) stamp: u32,
    pub(crate) thread: u16,
    /// True if it was recorded in this epoch that memory changes which other threads may be waiting for.
    pub(crate) has_forgotten: bool,
    /// The list of accesses of its own stack.
    pub(crate) list: *const OwnAccesses,
    pub(crate) recent: [RecentPage; RECENT],
}

/// Number of a page, and its granules.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RecentPage {
    pub(crate) page: usize,
    pub(crate) granules: *mut Granule,
}

/// A stamp that no granule has: no state has both of these bits.
const NO_STAMP: u32 = u32::MAX;
const _: () =
    assert!(NO_STAMP & STATE != ORDERED && NO_STAMP & STATE != SPLIT && NO_STAMP & STATE != CELL);

/// The shadow's [`Now`]; null before the first access.
pub(crate) static NOW: AtomicPtr<Now> = AtomicPtr::new(null_mut());

pub(crate) struct Shadow {
    stamp: u32,
    /// Number of cells up to which the engine receives every access.
    max_cells: usize,
    /// Number of cells in use.
    cells: usize,
    now: Now,
    /// The site of the access, once computed.
    site: Option<usize>,
    /// True if the access is known to be of live memory.
    is_checked: bool,
    lists: OwnLists,
    pages: BTreeMap<usize, Box<[Granule]>>,
    /// Granules for halves, which never move; `used` of them are in use.
    halves: Vec<Box<[Granule]>>,
    used: usize,
}

impl Default for Shadow {
    fn default() -> Self {
        let mut shadow = Shadow::empty();
        shadow.renew();
        shadow
    }
}

impl Shadow {
    fn empty() -> Self {
        Shadow {
            stamp: 0,
            max_cells: 0,
            cells: 0,
            now: Now {
                epoch: 0,
                thread: 0,
                index: 0,
                stamp: 0,
                end_of_stack: 0,
                has_forgotten: false,
                list: &raw const NO_LIST,
                recent: [RecentPage {
                    page: usize::MAX,
                    granules: null_mut(),
                }; RECENT],
            },
            site: None,
            is_checked: false,
            lists: OwnLists::default(),
            pages: BTreeMap::new(),
            halves: Vec::new(),
            used: 0,
        }
    }
}

impl Part for Shadow {
    fn renew(&mut self) {
        static IS_OFF: OnceLock<bool> = OnceLock::new();
        let is_off =
            *IS_OFF.get_or_init(|| std::env::var_os("RADDLE_SHADOW").is_some_and(|it| it == "off"));
        let Shadow {
            stamp,
            max_cells,
            cells,
            now,
            site,
            is_checked,
            lists,
            pages: _,
            halves: _,
            used,
        } = self;
        // Granules with another stamp are empty.
        *stamp = stamp.wrapping_add(FIRST_STAMP).max(FIRST_STAMP);
        *max_cells = match (is_off, running().keeps_accesses()) {
            (true, _) => usize::MAX,
            (_, true) => MAX_CELLS,
            _ => 0,
        };
        (*cells, *used) = (0, 0);
        now.epoch = 0;
        lists.clear();
        (*site, *is_checked) = (None, false);
    }
}

pub(crate) static SHADOW: PartCell<Shadow> = PartCell::new();

/// Empties the granules of these addresses, which other variables will use.
pub(crate) fn forget(range: std::ops::Range<usize>) {
    if range.is_empty() {
        return;
    }
    let mut shadow = SHADOW.get();
    let first = range.start / PAGE;
    let last = range.end.saturating_sub(1) / PAGE;
    // Most forgotten ranges are small blocks that were just used.
    if first == last && shadow.now.recent[first % RECENT].page == first {
        let first = range.start & !(WORD - 1);
        for word in (first..range.end).step_by(WORD) {
            let granule = shadow.granule(word);
            shadow.get(granule).meta = 0;
        }
        return;
    }
    for (page, granules) in shadow.pages.range_mut(first..=last) {
        let start = page * PAGE;
        let first = range.start.saturating_sub(start) / WORD;
        let end = (range.end - start).min(PAGE).div_ceil(WORD);
        for granule in &mut granules[first..end] {
            granule.meta = 0;
        }
    }
}

/// In host mode: records that the running thread begins on a stack that no other thread uses.
pub(crate) fn begin_stack() {
    let mut shadow = SHADOW.get();
    if shadow.max_cells == 0 {
        shadow.lists.begin(running().thread().index());
    }
}

/// In host mode: records that the running thread has left its stack for good.
pub(crate) fn end_stack() {
    SHADOW.get().lists.end(running().thread().index());
}

/// In host mode: returns the thread and site of an access of these addresses that does not happen
/// before the running thread's next event.
pub(crate) fn unordered(range: std::ops::Range<usize>) -> Option<(ThreadId, usize)> {
    let shadow = SHADOW.get();
    let own = running().thread();
    let is_unordered = |last: LastAccess| {
        let is_other = last.thread != NO_THREAD && usize::from(last.thread) != own.index();
        is_other
            && !running().happens_before_or_granted(ThreadId::new(last.thread.into()), last.index)
    };
    let pages = shadow
        .pages
        .range(range.start / PAGE..=(range.end - 1) / PAGE);
    let granules = pages.flat_map(|(_, granules)| granules.iter());
    let mut left: Vec<Granule> = granules
        .filter(|granule| granule.meta & !(STATE | ATOMIC) == shadow.stamp)
        .copied()
        .collect();
    while let Some(granule) = left.pop() {
        let (mut write, read) = (granule.write(), granule.read());
        match granule.state() {
            GranuleState::Split(number) => {
                let halves = [number, number + 1];
                left.extend(halves.map(|half| shadow.halves[half / CHUNK][half % CHUNK]));
                continue;
            }
            GranuleState::Cell(_) => write.site = 0,
            GranuleState::Ordered => {}
        }
        if let Some(last) = [write, read].into_iter().find(|&last| is_unordered(last)) {
            return Some((ThreadId::new(last.thread.into()), last.site));
        }
    }
    None
}

/// An access of the running thread.
#[derive(Clone, Copy)]
struct Access {
    start: usize,
    end: usize,
    writes: bool,
    /// True for the write that represents freeing the memory; atomic accesses are compared with
    /// that elsewhere.
    frees: bool,
    code: usize,
}

/// In guest mode: records a plain access of `size` bytes by the running thread; returns its error,
/// if it is one.
#[inline]
pub(crate) fn access(address: usize, size: usize, writes: bool, code: usize) -> Option<Bad> {
    if list_own(address, size, writes, code) {
        return None;
    }
    let end = address.saturating_add(size);
    access_by(Access {
        start: address,
        end,
        writes,
        frees: false,
        code,
    })
}

/// In guest mode: [lists](super::own_accesses) an access of the running thread's own stack. Returns false if it must be
/// recorded otherwise.
#[inline]
pub(crate) fn list_own(address: usize, size: usize, writes: bool, code: usize) -> bool {
    // SAFETY: the pointer is null or to the shadow's `Now`, which lives as long as the process. Nothing changes it
    // meanwhile, because only the OS thread that runs the check does.
    let Some(now) = (unsafe { NOW.load(Relaxed).as_ref() }) else {
        return false;
    };
    now.epoch == mode::epoch() && now.list_own(address, size, writes, code)
}

impl Now {
    /// As [`list_own`], in this epoch.
    #[inline]
    fn list_own(&self, address: usize, size: usize, writes: bool, code: usize) -> bool {
        let left = self.end_of_stack.wrapping_sub(address);
        // SAFETY: the list is `NO_LIST` or one of the shadow's, which live as long as it.
        let list = unsafe { &*self.list };
        let fits = left <= STACK && size <= left && size < WRITES as usize && !list.is_full();
        if fits {
            list.add(OwnAccess {
                address,
                site: shadow_stack::site(code),
                index: self.index,
                kind: size as u32 | if writes { WRITES } else { 0 },
            });
        }
        fits
    }
}

/// In guest mode: records that the running thread frees `size` bytes, as a write of them. The granules are
/// empty afterwards.
pub(crate) fn access_to_free(address: usize, size: usize, code: usize) {
    let end = address.saturating_add(size);
    let access = Access {
        start: address,
        end,
        writes: true,
        frees: true,
        code,
    };
    let mut shadow = SHADOW.get();
    shadow.look_at_now();
    // A write of memory that no other thread has accessed would be forgotten.
    let is_own = shadow.max_cells == 0 && shadow.forget_own(address..end);
    if is_own {
        shadow.forget_looks(access);
    }
    drop(shadow);
    if !is_own {
        access_by(access);
        forget(address..end);
    }
}

/// Tags of granules that only the running thread has accessed in this execution.
#[derive(Clone, Copy)]
struct Own {
    unused: u64,
    written: u64,
    read: u64,
    both: u64,
    stamp: u32,
    /// Number of the thread's events.
    index: u32,
    /// False if the engine receives every access.
    is_used: bool,
    /// True if a granule that was accessed is of live memory.
    is_live: bool,
}

#[inline]
fn access_by(access: Access) -> Option<Bad> {
    let mut shadow = SHADOW.try_get()?;
    let shadow = &mut *shadow;
    shadow.look_at_now();
    shadow.site = None;
    let Access {
        start: address,
        end,
        ..
    } = access;
    if access.writes {
        shadow.forget_looks(access);
    }
    shadow.is_checked = stacks::is_in(address, shadow.now.end_of_stack);
    if shadow.is_checked {
        if shadow
            .now
            .list_own(address, end - address, access.writes, access.code)
        {
            return None;
        }
        // SAFETY: the list is `NO_LIST` or one of the shadow's, which live as long as it.
        if !unsafe { &*shadow.now.list }.is_closed() {
            shadow.make_room();
        }
    } else if stacks::may_contain(address) {
        shadow.share(address);
    }
    let own = shadow.own(access);
    let mut word = address & !(WORD - 1);
    while word < end {
        let end_of_page = (word & !(PAGE - 1)) + PAGE;
        let mut granule = shadow.granule(word);
        // The granules of a page are contiguous.
        while word < end.min(end_of_page) {
            let is_whole = address <= word && word + WORD <= end;
            let bad = match is_whole {
                true if shadow.note(granule, own, access) => None,
                _ => shadow.touch(granule, word, WORD, access),
            };
            if bad.is_some() {
                return bad;
            }
            word += WORD;
            granule = granule.wrapping_add(1);
        }
    }
    None
}

/// In host mode: records that the running thread's last operation was an atomic access of `size`
/// bytes.
pub(crate) fn access_atomically(address: usize, size: usize) {
    let mut shadow = SHADOW.get();
    shadow.look_at_now();
    if stacks::may_contain(address) {
        shadow.share(address);
    }
    let mut word = address & !(WORD - 1);
    while word < address + size {
        let granule = shadow.granule(word);
        shadow.touch_atomically(granule, word, WORD, address..address + size);
        word += WORD;
    }
    // Another thread may run before the host is left.
    shadow.now.epoch = 0;
}

impl Shadow {
    #[inline]
    fn look_at_now(&mut self) {
        if self.now.epoch != mode::epoch() {
            let native = running();
            self.now.end_of_stack = native.end_of_stack();
            self.now.thread = native.thread().index() as u16;
            self.now.index = native.events();
            self.now.has_forgotten = false;
            self.now.stamp = match plain_choices::need_more() {
                true => NO_STAMP,
                false => self.stamp,
            };
            self.now.list = match plain_choices::need_more() {
                true => &raw const NO_LIST,
                false => self.lists.at(native.thread().index(), self.now.index),
            };
            self.now.epoch = mode::epoch();
            NOW.store(&raw mut self.now, Relaxed);
        }
    }

    /// Records the listed accesses of the running thread before one that cannot be listed.
    #[cold]
    fn make_room(&mut self) {
        let Now { thread, index, .. } = self.now;
        self.record_list(thread.into(), Some(index));
    }

    /// Records the listed accesses of the stack with this address, if it is one. Later ones are recorded at once.
    #[cold]
    fn share(&mut self, address: usize) {
        if let Some((owner, _)) = stacks::owner(address) {
            self.record_list(owner.index(), None);
        }
    }

    /// Records the listed accesses of a thread. With its number of events, its list is used again after the next one.
    #[cold]
    fn record_list(&mut self, thread: usize, index: Option<u32>) {
        let now = (self.now.thread, self.now.index);
        let known = (self.site, self.is_checked);
        let mut lists = std::mem::take(&mut self.lists);
        self.is_checked = true;
        lists.drain(thread, index, |listed| {
            self.now.thread = thread as u16;
            self.now.index = listed.index;
            self.site = Some(listed.site);
            let access = Access {
                start: listed.address,
                end: listed.address + listed.size(),
                writes: listed.writes(),
                frees: false,
                code: 0,
            };
            let mut word = access.start & !(WORD - 1);
            while word < access.end {
                let granule = self.granule(word);
                self.touch(granule, word, WORD, access);
                word += WORD;
            }
        });
        self.lists = lists;
        (self.now.thread, self.now.index) = now;
        (self.site, self.is_checked) = known;
    }

    /// Records that memory changes which other threads may be waiting for, unless it is on the thread's own
    /// stack.
    #[inline]
    fn forget_looks(&mut self, access: Access) {
        let here = 0u8;
        let own = &raw const here as usize..self.now.end_of_stack;
        if !self.now.has_forgotten && !own.contains(&access.start) {
            running().forget_looks();
            self.now.has_forgotten = true;
        }
    }

    /// Empties the granules of these bytes that no other thread has accessed in this execution. Returns true if
    /// that is all of them.
    fn forget_own(&mut self, range: std::ops::Range<usize>) -> bool {
        let (stamp, thread) = (self.stamp, self.now.thread);
        let is_own = |last: u16| last == thread || last == NO_THREAD;
        let mut are_own = true;
        let mut word = range.start & !(WORD - 1);
        while word < range.end {
            let end_of_page = (word & !(PAGE - 1)) + PAGE;
            let count = (range.end.min(end_of_page) - word).div_ceil(WORD);
            let first = self.granule(word);
            // SAFETY: the granules of a page are contiguous and never freed, and this is the only reference to them.
            for known in unsafe { std::slice::from_raw_parts_mut(first, count) } {
                let is_empty = known.meta & !(STATE | ATOMIC) != stamp;
                if !is_empty {
                    let is_own = known.meta == stamp
                        && is_own(known.write_thread)
                        && is_own(known.read_thread);
                    match is_own {
                        true => known.meta = 0,
                        false => are_own = false,
                    }
                }
            }
            word = end_of_page;
        }
        are_own
    }

    /// Returns the tags of granules that only the running thread has accessed in this execution.
    #[inline]
    fn own(&self, access: Access) -> Own {
        Own {
            is_used: self.max_cells == 0,
            unused: tag(NO_THREAD, NO_THREAD, self.stamp),
            written: tag(self.now.thread, NO_THREAD, self.stamp),
            read: tag(NO_THREAD, self.now.thread, self.stamp),
            both: tag(self.now.thread, self.now.thread, self.stamp),
            stamp: self.stamp,
            index: self.now.index,
            // A granule of a freed block is empty.
            is_live: self.is_checked || heap_range::contains(access.start),
        }
    }

    /// Records an access of a whole granule, if no other thread has accessed it in this execution and the access
    /// is known to be of live memory. The first one since the thread's last event stays recorded.
    #[inline]
    fn note(&mut self, granule: *mut Granule, own: Own, access: Access) -> bool {
        // SAFETY: every pointer is to a granule in `pages` or `halves`, which are never freed. This is the only
        // reference to it.
        let known = unsafe { &mut *granule };
        let tag = known.tag();
        let is_written = tag == own.written || tag == own.both;
        let is_read = tag == own.read || tag == own.both;
        let is_live = match is_written || is_read {
            true => own.is_live,
            false => {
                let is_empty = known.meta & !(STATE | ATOMIC) != own.stamp;
                self.is_checked && (tag == own.unused || is_empty)
            }
        };
        if is_written && known.write_index == own.index
            || !access.writes && is_read && known.read_index == own.index
        {
            return true;
        }
        if !is_live || !own.is_used {
            return false;
        }
        let site = match self.site {
            Some(site) => site,
            None => *self.site.insert(shadow_stack::site(access.code)),
        };
        if access.writes {
            known.set_tag(own.written);
            (known.write_index, known.write_site) = (own.index, site);
        } else {
            known.set_tag(if is_written { own.both } else { own.read });
            (known.read_index, known.read_site) = (own.index, site);
        }
        true
    }
}
