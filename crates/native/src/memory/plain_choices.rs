//! Plain accesses as choices.
//!
//! By default a race is a failure. To explore the consequences of a race, accesses of raced-for
//! memory become operations like relaxed atomics, so that their coherence order is explored.
//! `RADDLE_PLAIN` selects them:
//!
//! * `race`: none. That is the default. A check that keeps going after failures does as for `promote`.
//! * `promote`: those of memory that was raced for in an earlier execution. The set of operations must be
//!   fixed for a search, so the search begins again whenever the set grows, and the races are warnings.
//! * `explore`: those of all memory but the thread's own stack, and of raced-for memory there.
//!
//! The program itself reads and writes, after its operation and before any other thread can run. So
//! the value of a store is known only afterwards: see [`pending_stores`].

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering, Ordering::Relaxed};

use raddle_engine::{Operation, World};
use raddle_settings::{MemoryModel, Plain};

use super::{locations, relevance, unwritten};
use crate::abi::alternate_stack;
use crate::execution::{pending_stores, running, shadow_stack};
use crate::host::mode::host;
use crate::host::process_state::ProcessState;

const RACE: u8 = 0;
const PROMOTE: u8 = 1;
const EXPLORE: u8 = 2;
/// The bits of the mode that are one of these.
const CHOICES_MASK: u8 = 3;
/// A bit of the mode: reads of unwritten memory are reported.
const READS: u8 = 4;
/// A bit of the mode: the flow of values is followed.
const FLOW: u8 = 8;
const WORD: usize = 8;
/// Maximum number of searches in a check, so that it ends even if each finds new races.
const MOST_ROUNDS: usize = 64;

static MODE: AtomicU8 = AtomicU8::new(RACE);
/// True when the memory model allows other modes.
static MAY_PROMOTE: AtomicBool = AtomicBool::new(true);

struct PlainChoices {
    /// Words whose accesses are operations.
    raced: BTreeSet<usize>,
    /// Words that were raced for since the search began.
    found: BTreeSet<usize>,
    rounds: usize,
}

static CHOICES: ProcessState<PlainChoices> = ProcessState::new(PlainChoices {
    raced: BTreeSet::new(),
    found: BTreeSet::new(),
    rounds: 0,
});

/// Prepares a check with this setting; weak memory models do not support it. A check that keeps going
/// explores what a race leads to.
pub(crate) fn begin_check(wanted: Option<Plain>, memory: Option<MemoryModel>, keeps_going: bool) {
    let is_sc = matches!(memory, None | Some(MemoryModel::Sc));
    MAY_PROMOTE.store(is_sc, Relaxed);
    let mode = match wanted {
        None | Some(Plain::Race) if keeps_going && is_sc => PROMOTE,
        None | Some(Plain::Race) => RACE,
        _ if !is_sc => {
            eprintln!(
                "raddle: RADDLE_PLAIN: weak memory is explored for atomics only; set RADDLE_MEMORY=sc"
            );
            RACE
        }
        Some(Plain::Promote) => PROMOTE,
        Some(Plain::Explore) => EXPLORE,
    };
    let reads = if unwritten::is_on() { READS } else { 0 };
    let flow = if relevance::is_on() { FLOW } else { 0 };
    MODE.store(mode | reads | flow, Relaxed);
    let mut choices = CHOICES.get();
    choices.raced.clear();
    choices.found.clear();
    choices.rounds = 0;
}

/// Ends a search; returns true if it has found new words, so that it must begin again.
pub(crate) fn begin_round() -> bool {
    let mut choices = CHOICES.get();
    let found = std::mem::take(&mut choices.found);
    let before = choices.raced.len();
    choices.raced.extend(found);
    choices.rounds += 1;
    choices.raced.len() > before && choices.rounds < MOST_ROUNDS
}

/// Returns the number of searches of the check that have ended.
pub(crate) fn rounds() -> usize {
    CHOICES.get().rounds
}

/// Records a race for the memory at this address.
pub(crate) fn found(address: usize) {
    if are_explored() {
        CHOICES.get().found.insert(address & !(WORD - 1));
    }
}

/// In guest mode: true if an access of `size` bytes by the running thread is an operation.
pub(crate) fn is_operation(address: usize, size: usize) -> bool {
    let is_one = matches!(size, 1 | 2 | 4 | 8) && address.is_multiple_of(size);
    is_one && is_choice(address)
}

/// In guest mode: performs the operation of an access of `size` bytes that the running thread is
/// about to make.
pub(crate) fn perform(address: usize, size: usize, writes: bool, code: usize) {
    // SAFETY: the program is about to access this byte; if it cannot be read, the fault is that of the
    // access.
    unsafe { (address as *const u8).read_volatile() };
    let site = shadow_stack::site(code);
    host(|| {
        let memory = pending_stores::read(address, size);
        let known = locations::known(address, memory);
        let mut at = known;
        let ordering = Ordering::Relaxed;
        let thread = running().thread();
        running().perform(site, |world: &mut World| {
            let location =
                known.unwrap_or_else(|| locations::add(world, address..address + size, memory));
            at = Some(location);
            let operation = match writes {
                true => Operation::Store {
                    location,
                    ordering,
                    value: None,
                },
                false => Operation::Load { location, ordering },
            };
            if relevance::is_on() {
                relevance::decide(world, thread, &operation, address..address + size, code);
            }
            operation
        });
        if let (true, Some(location)) = (writes, at) {
            pending_stores::add(location, address, size);
        }
    });
}

/// Returns how to see what a race leads to, if a race ends the check.
pub(crate) fn race_note() -> Option<String> {
    let first = match MAY_PROMOTE.load(Relaxed) {
        true => "",
        false => "with `--memory sc`, ",
    };
    (MODE.load(Relaxed) & !FLOW == RACE).then(|| {
        format!(
            "the check ends with this race, before any failure that it leads to, such as a failed assertion; \
             {first}`--plain promote` goes on with these accesses as scheduling points, `--plain explore` makes all \
             accesses of shared memory scheduling points, and `--keep-going` reports both, the race and what follows"
        )
    })
}

/// True if plain accesses need more than a check for races.
#[inline]
pub(crate) fn need_more() -> bool {
    MODE.load(Relaxed) != RACE
}

/// True if plain accesses of some memory are operations.
pub(crate) fn are_explored() -> bool {
    MODE.load(Relaxed) & CHOICES_MASK != RACE
}

/// True if a search begins again after a race.
pub(crate) fn begin_anew() -> bool {
    MODE.load(Relaxed) & CHOICES_MASK == PROMOTE
}

fn is_choice(address: usize) -> bool {
    let is_raced = || CHOICES.get().raced.contains(&(address & !(WORD - 1)));
    match MODE.load(Relaxed) & CHOICES_MASK {
        EXPLORE => !running().is_on_stack(alternate_stack::program_stack(), address) || is_raced(),
        _ => is_raced(),
    }
}
