//! Threads as `std::thread` has them: those of a scope, which are waited for at its end, and whether one has
//! ended.
//!
//! The standard library counts what runs in a scope, and looks at a count to see whether a thread has ended.
//! Both are quiet; the operation that stands for it is done right before.

use std::ops::Range;

use raddle_engine::{Operation, ThreadId};

use crate::abi::caller;
use crate::execution::{running, shadow_stack};
use crate::host::mode::host;
use crate::host::solo::Solo;
use crate::memory::heap;
use crate::threads::life;

/// What is known of a thread before it is started.
#[derive(Clone, Copy, Default)]
struct Start {
    /// Where the heap was.
    heap: usize,
    /// What the standard library counts for the scope.
    count: usize,
}

/// What the standard library counts for a scope is so large at most.
const LARGEST_COUNT: usize = 64;

struct Threads {
    /// By thread: what is known of the thread that it starts next.
    starts: Vec<Start>,
    /// Who runs in which scope, by what the standard library counts for it.
    counted: Vec<(usize, ThreadId)>,
    /// What was asked for on the heap for each thread.
    packets: Vec<(Range<usize>, ThreadId)>,
}

static THREADS: Solo<Threads> = Solo::new(Threads {
    starts: Vec::new(),
    counted: Vec::new(),
    packets: Vec::new(),
});

/// At the beginning of an execution.
pub(crate) fn begin() {
    let mut all = THREADS.get();
    all.starts.clear();
    all.counted.clear();
    all.packets.clear();
}

/// In guest mode: the running thread is about to start another.
#[cold]
pub(crate) fn starts() {
    let owner = running().thread();
    THREADS.get().starts_of(owner).heap = heap::end();
}

impl Threads {
    /// The last thread of a scope that nobody has waited for.
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

/// In guest mode: the running thread starts another in the scope that this is counted for.
pub(crate) fn count(address: usize) {
    let owner = running().thread();
    THREADS.get().starts_of(owner).count = address;
}

/// In host mode: the running thread has started another.
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

/// In guest mode: the running thread looks at what is counted for a scope, after what it had to do there. So it
/// waits for the threads of the scope, the last one first.
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

/// The thread for which an address was asked for on the heap, when it was started.
pub(crate) fn whose(address: usize) -> Option<ThreadId> {
    let all = THREADS.get();
    let mut packets = all.packets.iter();
    let found = packets.find(|(packet, _)| packet.contains(&address));
    found.map(|&(_, thread)| thread)
}

/// In guest mode: the running thread looks whether another has ended, at the count of those who know its
/// result; what it is to find there.
pub(crate) fn look(address: usize, code: usize) -> Option<u64> {
    let target = whose(address)?;
    shadow_stack::disarm();
    Some(ask(target, code))
}

/// The same in a function that was inlined.
pub(crate) fn look_inlined(address: usize, code: usize) -> Option<u64> {
    Some(ask(whose(address)?, code))
}

/// How many know the result of a thread.
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
