//! Plain accesses as choices.
//!
//! As a rule a race is a failure, and that is that. But a program may live with its races, or somebody
//! wants to see what comes of one. Then the accesses of memory that is raced for become operations like
//! relaxed atomic ones, so that who comes first is explored. `RADDLE_PLAIN` says which:
//!
//! * `race`: none. That is the default.
//! * `promote`: those of memory that was raced for in an earlier execution. The search must know from the
//!   beginning what is an operation, so it begins again whenever there is more of such memory, and the
//!   races are warnings.
//! * `explore`: those of all memory but the thread's own stack, and of raced-for memory there.
//!
//! The program itself reads and writes, after its operation and before anybody else can run. So what a
//! store writes is known only afterwards: see [`pending_stores`].

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU8, Ordering, Ordering::Relaxed};

use raddle_engine::{Operation, UNSETTLED, World};

use super::locations;
use crate::abi::alternate_stack;
use crate::execution::{pending_stores, running, shadow_stack};
use crate::host::mode::host;
use crate::host::solo::Solo;

const RACE: u8 = 0;
const PROMOTE: u8 = 1;
const EXPLORE: u8 = 2;
const WORD: usize = 8;
/// The search begins so many times at most.
const MOST_ROUNDS: usize = 64;

static MODE: AtomicU8 = AtomicU8::new(RACE);

struct Points {
    /// Words whose accesses are operations.
    raced: BTreeSet<usize>,
    /// What was found since the search began.
    found: BTreeSet<usize>,
    rounds: usize,
}

static POINTS: Solo<Points> = Solo::new(Points {
    raced: BTreeSet::new(),
    found: BTreeSet::new(),
    rounds: 0,
});

/// A check begins.
pub(crate) fn begin_check() {
    let wanted = std::env::var("RADDLE_PLAIN").unwrap_or_default();
    let is_weak = std::env::var("RADDLE_MEMORY").is_ok_and(|memory| memory.trim() != "sc");
    let mode = match wanted.trim() {
        "" | "race" => RACE,
        _ if is_weak => {
            eprintln!(
                "raddle: RADDLE_PLAIN: weak memory is explored for atomics only; set RADDLE_MEMORY=sc"
            );
            RACE
        }
        "promote" => PROMOTE,
        "explore" => EXPLORE,
        other => {
            eprintln!("raddle: RADDLE_PLAIN: `{other}` is none of: race, promote, explore");
            RACE
        }
    };
    MODE.store(mode, Relaxed);
    let mut points = POINTS.get();
    points.raced.clear();
    points.found.clear();
    points.rounds = 0;
}

/// A search has ended; whether there is something new, so that it must begin again.
pub(crate) fn begin_round() -> bool {
    let mut points = POINTS.get();
    let found = std::mem::take(&mut points.found);
    let before = points.raced.len();
    points.raced.extend(found);
    points.rounds += 1;
    points.raced.len() > before && points.rounds < MOST_ROUNDS
}

/// There is a race for the memory at this address.
pub(crate) fn found(address: usize) {
    if MODE.load(Relaxed) != RACE {
        POINTS.get().found.insert(address & !(WORD - 1));
    }
}

/// In guest mode: the running thread is about to access so many bytes. Whether that was made an operation.
#[inline]
pub(crate) fn perform(address: usize, size: usize, writes: bool, code: usize) -> bool {
    MODE.load(Relaxed) != RACE && perform_wanted(address, size, writes, code)
}

#[cold]
fn perform_wanted(address: usize, size: usize, writes: bool, code: usize) -> bool {
    let is_one = matches!(size, 1 | 2 | 4 | 8) && address.is_multiple_of(size);
    if !is_one || !is_point(address) {
        return false;
    }
    // SAFETY: the program is about to use it; a fault here is the guest's.
    unsafe { (address as *const u8).read_volatile() };
    let site = shadow_stack::site(code);
    host(|| {
        let memory = pending_stores::read(address, size);
        let known = locations::known(address, memory);
        let mut at = known;
        let ordering = Ordering::Relaxed;
        running().perform(site, |world: &mut World| {
            let location =
                known.unwrap_or_else(|| locations::add(world, address..address + size, memory));
            at = Some(location);
            match writes {
                true => Operation::Store {
                    location,
                    ordering,
                    value: UNSETTLED,
                },
                false => Operation::Load { location, ordering },
            }
        });
        if let (true, Some(location)) = (writes, at) {
            pending_stores::add(location, address, size);
        }
    });
    true
}

fn is_point(address: usize) -> bool {
    let is_raced = || POINTS.get().raced.contains(&(address & !(WORD - 1)));
    match MODE.load(Relaxed) {
        EXPLORE => !running().is_on_stack(alternate_stack::program_stack(), address) || is_raced(),
        _ => is_raced(),
    }
}
