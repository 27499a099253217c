//! Teams: the threads that run a parallel region.

use std::ffi::c_int;
use std::sync::OnceLock;

use raddle_engine::object::{self, Object, mutex};
use raddle_engine::{Grant, Operation, Reply, ThreadId};

use super::tasks;
use super::work::{Chunk, Work};
use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::host::mode::host;
use crate::memory::objects;
use crate::threads::{guests, life};

/// Default number of threads of a team. Two are enough for most bugs.
const USUAL_SIZE: usize = 2;
/// Maximum number of threads of a region.
const LARGEST_SIZE: usize = 64;

const BARRIER: &str = "barrier";
const CRITICAL: &str = "critical section";

pub(super) struct Team {
    pub(super) size: usize,
    /// Number of nested regions with several threads, including this one.
    pub(super) level: usize,
    /// Shared constructs of the team, in the order in which each of its threads reaches them.
    #[expect(clippy::vec_box, reason = "objects are known by their addresses")]
    pub(super) works: Vec<Box<Work>>,
    /// Data of one of the threads, which the others copy.
    pub(super) copied: usize,
    /// Arguments of the region's function, if it has a list of them.
    pub(super) arguments: Vec<usize>,
}

/// A thread's role in its team.
#[derive(Default)]
pub(super) struct Member {
    pub(super) team: usize,
    pub(super) number: usize,
    /// Number of shared constructs that the thread has reached.
    pub(super) works: usize,
    /// The loop that the thread is in.
    pub(super) chunk: Option<Chunk>,
    /// Tasks that the thread has created and not waited for.
    pub(super) children: Vec<ThreadId>,
    /// Tasks created by tasks that the thread has waited for.
    pub(super) descendants: Vec<ThreadId>,
    /// Numbers of children and descendants when each group of tasks began.
    pub(super) groups: Vec<(usize, usize)>,
}

/// The teams of the execution.
#[derive(Default)]
pub(crate) struct Teams {
    #[expect(clippy::vec_box, reason = "objects are known by their addresses")]
    pub(super) teams: Vec<Box<Team>>,
    /// Roles of each thread; the one in its innermost region is last.
    members: Vec<Vec<Member>>,
    /// Number of threads in a team, if the program has set it.
    pub(super) wanted: Option<usize>,
    /// Number of threads of the next region, if the program has set it.
    pub(super) next_size: Option<usize>,
    /// Variable whose address identifies the critical section without a name.
    unnamed: Box<u64>,
}

impl Part for Teams {
    fn renew(&mut self) {
        // Most programs have none.
        if !self.teams.is_empty() || !self.members.is_empty() {
            *self = Self::default();
        }
        (self.wanted, self.next_size) = (None, None);
    }
}

pub(crate) static TEAMS: PartCell<Teams> = PartCell::new();

pub(super) fn with_state<R>(use_it: impl FnOnce(&mut Teams) -> R) -> R {
    use_it(&mut TEAMS.get())
}

impl Teams {
    pub(super) fn add_team(&mut self, size: usize, level: usize) -> usize {
        self.teams.push(Box::new(Team {
            size,
            level,
            works: Vec::new(),
            copied: 0,
            arguments: Vec::new(),
        }));
        self.teams.len() - 1
    }

    /// Returns a thread's roles in all the regions around it.
    pub(super) fn regions(&mut self, thread: ThreadId) -> &mut Vec<Member> {
        let index = thread.index();
        if self.members.len() <= index {
            self.members.resize_with(index + 1, Vec::new);
        }
        &mut self.members[index]
    }

    /// Returns the team of a thread, and its role there. Outside of all regions it has a team of
    /// its own.
    pub(super) fn member(&mut self, thread: ThreadId) -> (&mut Team, &mut Member) {
        if self.regions(thread).is_empty() {
            let team = self.add_team(1, 0);
            self.regions(thread).push(Member {
                team,
                ..Member::default()
            });
        }
        let member = self.members[thread.index()].last_mut();
        let member = member.expect("raddle: a thread without a team");
        (&mut self.teams[member.team], member)
    }
}

/// Reads or changes the role of the running thread.
pub(super) fn with_member<R>(use_it: impl FnOnce(&mut Team, &mut Member) -> R) -> R {
    let thread = running().thread();
    with_state(|state| {
        let (team, member) = state.member(thread);
        use_it(team, member)
    })
}

/// Returns the number of threads of a team for which the program sets none.
pub(super) fn default_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    let from_environment = || {
        let value = std::env::var("OMP_NUM_THREADS").ok()?;
        let first = value.split(',').next()?.trim().parse().ok()?;
        (first > 0).then_some(first)
    };
    let size = SIZE.get_or_init(|| from_environment().unwrap_or(USUAL_SIZE));
    with_state(|state| state.wanted).unwrap_or(*size)
}

/// Body of the threads of a team: a function of ours, as guest, with the thread's number and the
/// arguments of the team; and the site of the call.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) function: extern "C" fn(usize, *const usize),
    pub(super) code: usize,
}

/// Arguments of a new thread of a team.
struct Start {
    region: Region,
    number: usize,
    arguments: *const usize,
}

/// The first function of a thread of a team, as guest.
extern "C" fn start(start: *mut Start) -> usize {
    // SAFETY: `from_raw` needs the pointer of a box, once: `enter` has leaked the box for this
    // thread alone.
    let start = unsafe { Box::from_raw(start) };
    let Region { function, code } = start.region;
    function(start.number, start.arguments);
    host(|| tasks::wait_for_all(code));
    0
}

/// In guest mode: runs a region in a team of its own, with the default number of threads if `size`
/// is 0.
pub(super) fn parallel(region: Region, size: usize, arguments: Vec<usize>) {
    let (team, members, list) = host(|| enter(region, size, arguments));
    (region.function)(0, list);
    host(|| {
        tasks::wait_for_all(region.code);
        for member in members {
            tasks::join(member, region.code);
        }
        leave(team);
    });
}

/// Creates a team, with all of its threads but the running one.
fn enter(
    region: Region,
    size: usize,
    arguments: Vec<usize>,
) -> (usize, Vec<ThreadId>, *const usize) {
    let level = with_member(|team, _| team.level);
    let wanted = if size == 0 { default_size() } else { size };
    // Nested regions have one thread, as by default in both libraries.
    let size = if level > 0 {
        1
    } else {
        wanted.min(LARGEST_SIZE)
    };
    let level = level + usize::from(size > 1);
    let (team, arguments) = with_state(|state| {
        let team = state.add_team(size, level);
        state.teams[team].arguments = arguments;
        (team, state.teams[team].arguments.as_ptr())
    });
    let members = (1..size).map(|number| {
        let told = Box::into_raw(Box::new(Start {
            region,
            number,
            arguments,
        }));
        let function = start as extern "C" fn(*mut Start) -> usize as usize;
        let pointer = life::create(function, told as usize, false, region.code);
        let thread = guests::find(pointer).expect("raddle: a thread that was just created");
        put(thread, team, number);
        thread
    });
    let members = members.collect();
    put(running().thread(), team, 0);
    (team, members, arguments)
}

/// Adds a thread to a team.
pub(super) fn put(thread: ThreadId, team: usize, number: usize) {
    with_state(|state| {
        state.regions(thread).push(Member {
            team,
            number,
            ..Member::default()
        });
    });
}

/// Removes the running thread from the team.
fn leave(team: usize) {
    let thread = running().thread();
    with_state(|state| {
        let left = state.regions(thread).pop();
        debug_assert!(left.is_some_and(|member| member.team == team));
    });
}

/// Begins a region of one thread; the running thread calls its function itself.
pub(super) fn enter_alone() {
    let level = with_member(|team, _| team.level);
    let team = with_state(|state| state.add_team(1, level));
    put(running().thread(), team, 0);
}

pub(super) fn leave_alone(code: usize) {
    tasks::wait_for_all(code);
    let team = with_member(|_, member| member.team);
    leave(team);
}

/// Waits for all threads of the team, and for all tasks.
pub(super) fn barrier(code: usize) {
    tasks::wait_for_all(code);
    let (address, size) = with_member(|team, _| (std::ptr::from_mut(team) as usize, team.size));
    if size > 1 {
        running().perform(code, |world| {
            let initial = || Object::Barrier(object::barrier::Barrier::new(size));
            let barrier = objects::object(world, address, BARRIER, initial);
            Operation::Meet { barrier }
        });
    }
}

/// Takes a mutex; returns true if the running thread holds it now.
pub(super) fn take(address: usize, kind: &'static str, wanted: mutex::Call, code: usize) -> bool {
    call(address, kind, wanted, code).to_grant() != Grant::Refused
}

/// Performs a call on a mutex.
pub(super) fn call(address: usize, kind: &'static str, wanted: mutex::Call, code: usize) -> Reply {
    let initial = || Object::Mutex(object::mutex::Mutex::default());
    let wanted = object::Call::Mutex(wanted);
    objects::call(address, kind, initial, wanted, code)
}

/// Enters the critical section of this name, or the unnamed one.
pub(super) fn enter_critical(name: usize, code: usize) {
    call(critical(name), CRITICAL, mutex::Call::Lock, code);
}

pub(super) fn leave_critical(name: usize, code: usize) {
    let unlock = mutex::Call::Unlock { poison: false };
    call(critical(name), CRITICAL, unlock, code);
}

fn critical(name: usize) -> usize {
    match name {
        0 => with_state(|state| std::ptr::from_ref(&*state.unnamed) as usize),
        name => name,
    }
}

/// Returns the number of the running thread in its team, as C's type.
pub(super) fn number() -> c_int {
    with_member(|_, member| member.number as c_int)
}
