//! Threads of `std::thread`: those of a scope, which are joined at its end, and queries if a thread
//! has ended.
//!
//! The standard library counts the threads of a scope, and reads a count to check if a thread has
//! ended. Neither access is an event; the operation that represents it is performed right before.

use std::ops::Range;

use raddle_engine::{Operation, ThreadId};

use crate::abi::caller;
use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::mode::host;
use crate::memory::heap;
use crate::threads::life;

/// State of a thread before it is started.
#[derive(Clone, Copy, Default)]
struct Start {
    /// Address of the starting thread's next piece of the heap.
    heap: usize,
    /// Address of the scope's counter.
    count: usize,
}

/// Maximum size of a scope's counters, in bytes.
const LARGEST_COUNT: usize = 64;

/// The threads of the execution.
#[derive(Default)]
pub(crate) struct Threads {
    /// State of the thread that each thread starts next.
    starts: Vec<Start>,
    /// Threads of scopes, by the address of the scope's counter.
    counted: Vec<(usize, ThreadId)>,
    /// Blocks of the heap that were allocated for each thread.
    packets: Vec<(Range<usize>, ThreadId)>,
}

impl Part for Threads {
    fn renew(&mut self) {
        let Threads {
            starts,
            counted,
            packets,
        } = self;
        starts.clear();
        counted.clear();
        packets.clear();
    }
}

pub(crate) static THREADS: PartCell<Threads> = PartCell::new();

/// In guest mode: records that the running thread is about to start another.
#[cold]
pub(crate) fn starts() {
    let owner = running().thread();
    THREADS.get().starts_of(owner).heap = heap::end();
}

impl Threads {
    /// Returns the last thread of a scope that was not joined.
    fn next_of(&mut self, count: usize) -> Option<ThreadId> {
        let is_here =
            |&(start, _): &(usize, ThreadId)| (start..start + LARGEST_COUNT).contains(&count);
        let last = self.counted.iter().rposition(is_here)?;
        Some(self.counted.remove(last).1)
    }

    fn starts_of(&mut self, thread: ThreadId) -> &mut Start {
        if self.starts.len() <= thread.index() {
            self.starts.resize(thread.index() + 1, Start::default());
        }
        &mut self.starts[thread.index()]
    }
}

/// In guest mode: records that the running thread is about to start another in the scope with this
/// counter.
pub(crate) fn count(address: usize) {
    let owner = running().thread();
    THREADS.get().starts_of(owner).count = address;
}

/// In host mode: records that the running thread has started another.
pub(crate) fn started(child: ThreadId) {
    let parent = running().thread();
    let mut all = THREADS.get();
    let all = &mut *all;
    let start = std::mem::take(all.starts_of(parent));
    if start.heap != 0 {
        all.packets.push((start.heap..heap::end(), child));
    }
    if start.count != 0 {
        all.counted.push((start.count, child));
    }
}

/// In guest mode: joins the threads of a scope at its end, when the running thread reads its
/// counter, the last one first.
pub(crate) fn end_scope(count: usize, code: usize) {
    let site = shadow_stack::users(code);
    host(|| {
        loop {
            let next = THREADS.get().next_of(count);
            let Some(target) = next else { break };
            life::wait_for(target, site);
        }
    });
}

/// Returns the thread at whose start the address was allocated on the heap.
pub(crate) fn thread_of_packet(address: usize) -> Option<ThreadId> {
    let all = THREADS.get();
    let mut packets = all.packets.iter();
    let found = packets.find(|(packet, _)| packet.contains(&address));
    found.map(|&(_, thread)| thread)
}

/// In guest mode: performs the query if another thread has ended, by its reference count; returns
/// the count that the load must return.
pub(crate) fn look(address: usize, code: usize) -> Option<u64> {
    let target = thread_of_packet(address)?;
    shadow_stack::disarm();
    Some(ask(target, code))
}

/// As [`look`], in an inlined function.
pub(crate) fn look_inlined(address: usize, code: usize) -> Option<u64> {
    Some(ask(thread_of_packet(address)?, code))
}

/// Returns the number of handles to the result of a thread.
fn ask(target: ThreadId, code: usize) -> u64 {
    const ONLY_THE_OTHER: u64 = 1;
    const BOTH: u64 = 2;
    let (site, top) = (shadow_stack::users(code), caller::top());
    let ask = |_: &mut _| Operation::IsFinished { target };
    match host(|| running().observe(site, top, ask).to_answer()) {
        true => ONLY_THE_OTHER,
        false => BOTH,
    }
}
