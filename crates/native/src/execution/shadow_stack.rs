//! Call stacks of the program's threads.
//!
//! Every instrumented function reports its entry and the address of its call. So an operation has a
//! *chain* of calls that led to it. An operation in a library without instrumentation, such as
//! C++'s own, gets a place in the program: the last call by instrumented code.
//!
//! The calls of a thread are a path of the [call tree](super::call_tree).
//!
//! A chain is a small number, the same in every execution. In a *site* it is in the bits above the
//! address of the instruction, which has at most 48 bits.

use std::cell::Cell;
use std::ptr::null;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::call_tree::{self, Call};
use crate::abi::{alternate_stack, guest};
use crate::host::addresses::Table;
use crate::host::loaded;
use crate::host::process_state::ProcessState;
use crate::names::regions;
use crate::names::rust_paths::FunctionKind;

/// Maximum length of a chain; deeper calls have the chain of the call at that depth.
const LONGEST: u32 = 256;
/// Number of bits of a site that are the address of an instruction.
const CODE_BITS: u32 = 48;
/// Number of words of a stack that are searched for the address of a call.
const LOOK_AT: usize = 2048;

/// The call stack of a thread. All of it is 0 when the thread begins. The assembly of `entry/functions.rs`
/// uses it.
#[repr(C)]
pub(crate) struct Calls {
    /// The last call; null in a thread that is in none.
    pub(crate) last: Cell<*const Call>,
    pub(crate) marks: Marks,
}

/// State of a thread inside of a function of the standard library. Leaving a function changes nothing
/// in it while all of it is 0.
#[repr(C, align(8))]
pub(crate) struct Marks {
    /// Number of calls that were not recorded.
    pub(crate) unrecorded: Cell<u32>,
    /// True if the next access of memory there is an operation; `has_deadline` if that has a
    /// deadline.
    is_armed: Cell<bool>,
    /// True if that operation was performed.
    is_modelled: Cell<bool>,
    /// True if the operation was a receive of a channel that found no message.
    is_answered: Cell<bool>,
    has_deadline: Cell<bool>,
}

// Each guest has its own, because guest code runs with the guest's thread-local storage.
thread_local! {
    static CALLS: Calls = const {
        Calls {
            last: Cell::new(null()),
            marks: Marks {
                unrecorded: Cell::new(0),
                is_armed: Cell::new(false),
                is_modelled: Cell::new(false),
                is_answered: Cell::new(false),
                has_deadline: Cell::new(false),
            },
        }
    };
}

/// Distance of `CALLS` from the thread pointer, in bytes, once a check has begun. It is the same in
/// all threads, because libraries that a program starts with have static thread-local storage.
pub(crate) static OFFSET: AtomicUsize = AtomicUsize::new(0);

/// As [`with`], before a check.
#[cold]
#[inline(never)]
fn with_searched<R>(use_it: impl FnOnce(&Calls) -> R) -> R {
    CALLS.with(use_it)
}

/// Calls the function with the calling thread's `CALLS`.
#[inline(always)]
fn with<R>(use_it: impl FnOnce(&Calls) -> R) -> R {
    match OFFSET.load(Relaxed) {
        0 => with_searched(use_it),
        offset => {
            let calls = guest::thread_pointer().wrapping_add(offset) as *const Calls;
            // SAFETY: `CALLS` of the running thread is at this offset from its thread pointer, by
            // the definition of `OFFSET`, and lives as long as the thread.
            use_it(unsafe { &*calls })
        }
    }
}

/// All chains so far: the chain before the last call, the address of that call, and an instruction
/// of the called function.
struct Chains {
    calls: Vec<(u16, usize, usize)>,
    numbers: Table<u16>,
}

static CHAINS: ProcessState<Chains> = ProcessState::new(Chains {
    calls: Vec::new(),
    numbers: Table::new(),
});

impl Chains {
    fn longer(&mut self, chain: u16, call: usize, callee: usize) -> u16 {
        if self.calls.is_empty() {
            self.calls.push((0, 0, 0));
        }
        let key = join(call, chain);
        if let Some(&mut number) = self.numbers.get(key) {
            return number;
        }
        let Ok(number) = u16::try_from(self.calls.len()) else {
            return 0;
        };
        self.calls.push((chain, call, callee));
        *self.numbers.insert(key, number)
    }
}

fn join(code: usize, chain: u16) -> usize {
    code & ((1 << CODE_BITS) - 1) | usize::from(chain) << CODE_BITS
}

/// Returns the instruction of a site and the calls of its chain, the last one first.
pub(crate) fn unfold(site: usize) -> Vec<usize> {
    let mut codes = vec![site & ((1 << CODE_BITS) - 1)];
    // A guest that hangs may be inside of the creation of a chain.
    let Some(chains) = CHAINS.try_get() else {
        return codes;
    };
    let mut chain = site >> CODE_BITS;
    while chain != 0
        && let Some(&(before, call, _)) = chains.calls.get(chain)
    {
        codes.push(call);
        chain = before.into();
    }
    codes
}

/// Returns the chain that led to a function.
fn chain(last: *const Call) -> u16 {
    let Some(call) = call_tree::at(last) else {
        return 0;
    };
    call.chain.get().unwrap_or_else(|| number_chain(call))
}

#[cold]
fn number_chain(call: &Call) -> u16 {
    let skipped = (call.depth + 1).saturating_sub(LONGEST) as usize;
    let path: Vec<&Call> = call.path().skip(skipped).collect();
    let Some(mut chains) = CHAINS.try_get() else {
        return 0;
    };
    let chain = path.iter().rev().fold(0, |chain, call| {
        let known = call.chain.get();
        let chain = known.unwrap_or_else(|| chains.longer(chain, call.from, call.into));
        call.chain.set(Some(chain));
        chain
    });
    call.chain.set(Some(chain));
    chain
}

/// Returns the site of the last call by the user's code; 0 if there is none.
fn users_call(last: *const Call) -> usize {
    let Some(call) = call_tree::at(last) else {
        return 0;
    };
    call.users.get().unwrap_or_else(|| {
        let mut path = call.path();
        let found = path.find(|call| !is_foreign(call.from));
        let site = found.map_or(0, |call| join(call.from, chain(call.parent)));
        call.users.set(Some(site));
        site
    })
}

/// Owner of code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    System,
    Users,
    Ours,
}

/// Code of this library.
static OURS: OnceLock<Vec<std::ops::Range<usize>>> = OnceLock::new();
/// Code of the system's libraries.
static FOREIGN: OnceLock<Vec<std::ops::Range<usize>>> = OnceLock::new();
/// Code of the program and its own libraries.
static OWN: OnceLock<Vec<std::ops::Range<usize>>> = OnceLock::new();

/// Begins an execution, in its first thread.
pub(crate) fn begin() {
    FOREIGN.get_or_init(|| ranges(Whose::System));
    OWN.get_or_init(|| ranges(Whose::Users));
    let own = CALLS.with(|calls| &raw const *calls as usize);
    OFFSET.store(own.wrapping_sub(guest::thread_pointer()), Relaxed);
    // A thread of the last execution may have ended inside an operation.
    end_atomic();
    call_tree::begin();
    with(|calls| {
        let Calls { last, marks } = calls;
        last.set(null());
        marks.unrecorded.set(0);
        marks.is_armed.set(false);
        marks.is_modelled.set(false);
        marks.is_answered.set(false);
        marks.has_deadline.set(false);
    });
}

/// In guest mode: returns the part of Rust's standard library that the running thread is in.
#[inline]
pub(crate) fn region() -> FunctionKind {
    with(|calls| call_tree::region(calls.last.get()))
}

/// In guest mode: true if the next access of memory is an operation.
#[inline]
pub(crate) fn is_armed() -> bool {
    with(|calls| calls.marks.is_armed.get())
}

/// In guest mode: records that the operation is about to be performed.
pub(crate) fn disarm() {
    with(|calls| {
        calls.marks.is_armed.set(false);
        calls.marks.is_modelled.set(true);
    });
}

/// In guest mode: true if one operation represents all accesses here.
pub(crate) fn is_modelled() -> bool {
    with(|calls| calls.marks.is_modelled.get())
}

/// In guest mode: true if the running thread is in a receive of a channel that has found no message.
#[inline]
pub(crate) fn is_answered() -> bool {
    with(|calls| calls.marks.is_answered.get())
}

/// In guest mode: records that the receive has found no message, until its function is left.
pub(crate) fn set_answered() {
    with(|calls| calls.marks.is_answered.set(true));
}

/// In guest mode: true if the wait of the running thread has a deadline.
pub(crate) fn has_deadline() -> bool {
    with(|calls| calls.marks.has_deadline.get())
}

/// True if the code is this library's own, which may run in a handler while a guest is interrupted.
pub(crate) fn is_ours(code: usize) -> bool {
    let ours = OURS.get_or_init(|| ranges(Whose::Ours));
    ours.iter().any(|range| range.contains(&code))
}

/// Cache of [`is_foreign`]; each address of code has one slot, whose lowest bit is the result.
static KNOWN_FOREIGN: [AtomicUsize; 4096] = [const { AtomicUsize::new(0) }; 4096];

/// True if the code is not the user's.
#[inline]
fn is_foreign(code: usize) -> bool {
    let known = &KNOWN_FOREIGN[code % KNOWN_FOREIGN.len()];
    match known.load(Relaxed) {
        found if found >> 1 == code => found & 1 != 0,
        _ => {
            let is_foreign = find_if_foreign(code);
            known.store(code << 1 | usize::from(is_foreign), Relaxed);
            is_foreign
        }
    }
}

#[cold]
fn find_if_foreign(code: usize) -> bool {
    match regions::kind_in_rust(code) {
        Some(kind) => kind != FunctionKind::User,
        None => is_systems(code),
    }
}

fn is_systems(code: usize) -> bool {
    let foreign = FOREIGN.get().map_or(&[][..], Vec::as_slice);
    foreign.iter().any(|range| range.contains(&code))
}

/// A site that [`site`] has returned, for an instruction in a call of the tree.
#[repr(C)]
pub(crate) struct KnownSite {
    pub(crate) call: Cell<*const Call>,
    pub(crate) code: Cell<usize>,
    pub(crate) site: Cell<usize>,
}

/// Number of slots of the cache; a power of two. With 1024, a tenth of the sites of a small test shared a slot.
pub(crate) const SITES: usize = 1 << 13;

#[repr(transparent)]
pub(crate) struct KnownSites([KnownSite; SITES]);

// SAFETY: `Sync` needs exclusion: only the OS thread that runs a guest uses them, as with `ProcessState`.
unsafe impl Sync for KnownSites {}

/// Cache of [`site`]; each pair of a call and an instruction has one slot. The assembly of `entry/plain.rs` reads it.
pub(crate) static KNOWN_SITES: KnownSites = KnownSites(
    [const {
        KnownSite {
            call: Cell::new(null()),
            code: Cell::new(0),
            site: Cell::new(0),
        }
    }; SITES],
);

/// In guest mode: returns the site of an instruction of instrumented code.
#[inline]
pub(crate) fn site(code: usize) -> usize {
    let last = with(|calls| calls.last.get());
    // Calls are aligned to 64 bytes.
    let KnownSites(all) = &KNOWN_SITES;
    let known = &all[(code ^ last as usize >> 6) % all.len()];
    if known.call.get() == last && known.code.get() == code {
        return known.site.get();
    }
    find_site(code, last, known)
}

#[cold]
fn find_site(code: usize, last: *const Call, known: &KnownSite) -> usize {
    let site = match regions::kind(code) {
        FunctionKind::User => join(code, chain(last)),
        _ => users(code),
    };
    // Calls outside of the tree are reused. A site of the system's code may depend on the stack, and one without a
    // chain was asked for by a handler that has interrupted the creation of chains.
    let is_fixed = call_tree::at(last).is_some_and(|call| {
        let is_complete = match is_foreign(code) {
            true => call.kind != FunctionKind::User && call.users.get().is_some(),
            false => call.chain.get().is_some(),
        };
        call.is_kept && is_complete
    });
    if is_fixed {
        known.call.set(last);
        known.code.set(code);
        known.site.set(site);
    }
    site
}

/// In guest mode: returns the site of the instruction if it is the user's, and otherwise of the
/// last call by the user's code.
#[inline]
pub(crate) fn users(code: usize) -> usize {
    with(|calls| {
        let last = calls.last.get();
        if !is_foreign(code) {
            return join(code, chain(last));
        }
        // Code that is not the user's may have been called from here without instrumentation.
        if let Some(call) = call_tree::at(last)
            && call.kind == FunctionKind::User
            && let Some(function) = regions::users_function(call.into)
            && let Some(found) = called_by(&function, call.into)
        {
            return join(found, chain(last));
        }
        match users_call(last) {
            0 => code,
            site => site,
        }
    })
}

/// In guest mode, called first in a function behind [`replace!`](crate::abi::trampoline::replace):
/// returns the site of the call.
pub(crate) fn caller_site() -> usize {
    users(crate::abi::caller::code())
}

/// In guest mode: returns an instruction of the function that the running thread entered last.
pub(crate) fn entered() -> Option<usize> {
    with(|calls| Some(call_tree::at(calls.last.get())?.into))
}

/// Calls of the thread that is about to perform an atomic operation; null if there is none.
static OF_ATOMIC: AtomicPtr<Calls> = AtomicPtr::new(std::ptr::null_mut());

/// In guest mode: records that the running thread is about to perform an atomic operation.
#[inline]
pub(crate) fn begin_atomic() {
    if regions::is_rust() {
        with(|calls| OF_ATOMIC.store((&raw const *calls).cast_mut(), Relaxed));
    }
}

/// In host mode: records that the atomic operation was performed.
#[inline]
pub(crate) fn end_atomic() {
    OF_ATOMIC.store(std::ptr::null_mut(), Relaxed);
}

/// In host mode: returns the atomic type, in Rust, whose function performs the current atomic
/// operation.
pub(crate) fn atomic() -> Option<&'static str> {
    /// Number of calls searched, because functions of atomic types call each other.
    const NEAR: usize = 4;
    // SAFETY: the pointer is null or to `CALLS` of the thread whose operation runs, which waits
    // until the operation is performed.
    let calls = unsafe { OF_ATOMIC.load(Relaxed).as_ref() }?;
    let last = call_tree::at(calls.last.get())?.path().take(NEAR);
    last.map(|call| call.into).find_map(regions::atomic)
}

/// In guest mode: returns the address of the call `above` levels above the running function, if
/// known.
pub(crate) fn caller(above: usize) -> Option<usize> {
    with(|calls| {
        let mut path = call_tree::at(calls.last.get())?.path();
        Some(path.nth(above)?.from)
    })
}

/// In guest mode: returns a return address into the function that is on the stack, other than that
/// of the call that reported its entry.
#[cold]
fn called_by(function: &std::ops::Range<usize>, entered: usize) -> Option<usize> {
    let start = alternate_stack::program_stack().next_multiple_of(8);
    let end = crate::execution::running().end_of_stack();
    let words = (start..end).step_by(8).take(LOOK_AT);
    // SAFETY: the words are aligned and lie in the stack of the guest, between its stack pointer and its end.
    let mut found = words.map(|at| unsafe { (at as *const usize).read() });
    // Not the end of the function: no call returns there, and that address is on our own stack.
    found.find(|&word| word != entered && function.contains(&word) && follows_call(word))
}

/// In guest mode: returns the site of an interrupted instruction, with the stack pointer at that
/// time. In a function of the system's it is the site of the call of that function, whose return
/// address is on the stack.
pub(crate) fn interrupted(code: usize, stack: usize) -> usize {
    // Sites are those of calls, which return to the next instruction.
    called(code.wrapping_add(1), stack)
}

/// In guest mode: returns the site of a call, or of the user's last call if it is in a function of
/// the system's.
pub(crate) fn called(code: usize, stack: usize) -> usize {
    if is_own(code) {
        return users(code);
    }
    let end = crate::execution::running().end_of_stack();
    let start = alternate_stack::program_stack_from(stack);
    let words = (start.next_multiple_of(8)..end).step_by(8).take(LOOK_AT);
    // SAFETY: the words are aligned and lie in the stack of the guest, between its stack pointer and its end.
    let mut found = words.map(|at| unsafe { (at as *const usize).read() });
    let call = found.find(|&word| is_own(word) && is_own(word - 5) && follows_call(word));
    users(call.unwrap_or(code))
}

/// True if the code is the program's.
pub(crate) fn is_own(code: usize) -> bool {
    let own = OWN.get().map_or(&[][..], Vec::as_slice);
    own.iter().any(|range| range.contains(&code))
}

/// Returns an instruction of the function that the call with this return address has called, if
/// known.
pub(crate) fn callee(code: usize) -> Option<usize> {
    if !is_own(code) || !is_own(code - 5) {
        return None;
    }
    // SAFETY: the bytes are mapped and readable: the address is in code of the program, and more than 5 bytes
    // behind its beginning.
    let call: [u8; 5] = unsafe { ((code - 5) as *const [u8; 5]).read_unaligned() };
    let [0xe8, distance @ ..] = call else {
        // A chain of calls may contain the callee.
        let chains = CHAINS.try_get()?;
        let mut calls = chains.calls.iter().filter(|(_, call, _)| *call == code);
        return calls.next().map(|&(_, _, callee)| callee);
    };
    Some(code.wrapping_add_signed(i32::from_le_bytes(distance) as isize))
}

/// True if the instruction before this address may be a call.
fn follows_call(code: usize) -> bool {
    // SAFETY: the bytes are mapped and readable: the address is in code of the program, and more than 5 bytes
    // behind its beginning.
    let before: [u8; 5] = unsafe { ((code - 5) as *const [u8; 5]).read_unaligned() };
    // A direct call, or one of the forms of an indirect one.
    before[0] == 0xe8 || (0..4).any(|at| before[at] == 0xff && before[at + 1] & 0x38 == 0x10)
}

/// A function that the running thread has entered.
#[derive(Clone, Copy)]
pub(crate) struct Entered {
    pub(crate) kind: FunctionKind,
    /// Region of the thread before the call.
    pub(crate) before: FunctionKind,
    /// Number of calls around it.
    pub(crate) depth: usize,
}

/// Entries and exits of functions that are not left to assembly: [`ALL`], [`THE_FIRST`].
pub(crate) static ARE_WANTED: AtomicU8 = AtomicU8::new(0);
/// The check asks for every entry and exit.
const ALL: u8 = 1;
/// The entry of the first function of the first thread is to be seen.
pub(crate) const THE_FIRST: u8 = 2;
/// Number of times that any function was entered or left, in a check that asks for it.
static CHANGES: AtomicU64 = AtomicU64::new(1);

fn want(which: u8, are_wanted: bool) {
    let others = ARE_WANTED.load(Relaxed) & !which;
    let which = if are_wanted { which } else { 0 };
    ARE_WANTED.store(others | which, Relaxed);
}

/// A check begins, which asks for every entry and exit or does not.
pub(crate) fn report_all(are_wanted: bool) {
    want(ALL, are_wanted);
}

/// In host mode: the next entry of a function is to be seen before it is recorded, or is not.
pub(crate) fn report_first(is_wanted: bool) {
    want(THE_FIRST, is_wanted);
}

/// In guest mode: true if the running thread is in no function.
pub(crate) fn is_outside() -> bool {
    with(|calls| calls.last.get().is_null() && calls.marks.unrecorded.get() == 0)
}

/// In guest mode: the exit of the function that the running thread entered last is to be seen, in every execution.
pub(crate) fn report_exit() {
    with(|calls| {
        if let Some(call) = call_tree::at(calls.last.get()) {
            call.report_exit();
        }
    });
}

/// In guest mode: records the entry of a function by a call at `caller`; `code` is an instruction
/// of the function.
pub(crate) fn push(caller: usize, code: usize) -> Option<Entered> {
    change();
    with(|calls| {
        let Calls { last, marks } = calls;
        let before = call_tree::region(last.get());
        let call = match marks.unrecorded.get() {
            0 => call_tree::enter(last.get(), caller, code),
            _ => None,
        };
        let Some(&Call { kind, depth, .. }) = call.inspect(|&call| last.set(call)) else {
            marks.unrecorded.set(marks.unrecorded.get() + 1);
            return None;
        };
        // Where an optimiser inlines after instrumentation, the entry of another function is one of this function.
        if kind.is_special() && kind != before {
            marks.is_armed.set(true);
            marks.is_modelled.set(false);
            marks
                .has_deadline
                .set(marks.has_deadline.get() | (kind == FunctionKind::Deadline));
        }
        Some(Entered {
            kind,
            before,
            depth: depth as usize,
        })
    })
}

/// In guest mode: records that the function entered last is left. Returns true if its exit [is to be
/// seen](report_exit).
pub(crate) fn pop() -> bool {
    change();
    with(|calls| {
        let Calls { last, marks } = calls;
        if marks.unrecorded.get() > 0 {
            marks.unrecorded.set(marks.unrecorded.get() - 1);
            return false;
        }
        let Some(call) = call_tree::at(last.get()) else {
            return false;
        };
        last.set(call_tree::leave(call));
        let (after, before) = (call.region, call_tree::region(last.get()));
        if after != before {
            marks.is_armed.set(false);
            marks.is_modelled.set(false);
            marks
                .is_answered
                .set(marks.is_answered.get() && before == FunctionKind::ChannelReceive);
            marks
                .has_deadline
                .set(marks.has_deadline.get() && after != FunctionKind::Deadline);
        }
        call.is_reported()
    })
}

/// Returns the number of times that any function was entered or left, in a check that asks for it.
pub(crate) fn changes() -> u64 {
    CHANGES.load(Relaxed)
}

fn change() {
    CHANGES.store(CHANGES.load(Relaxed).wrapping_add(1), Relaxed);
}

/// Returns the code of one owner.
fn ranges(whose: Whose) -> Vec<std::ops::Range<usize>> {
    let mut list = Vec::new();
    loaded::each(|module| {
        let found = match (module.is_ours(), module.is_users()) {
            (true, _) => Whose::Ours,
            (_, true) => Whose::Users,
            _ => Whose::System,
        };
        if found == whose {
            list.extend(module.code());
        }
    });
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if code that ends with these bytes may end with a call.
    fn ends_with_call(code: &[u8]) -> bool {
        let code = [&[0x90; 8], code].concat();
        follows_call(code.as_ptr_range().end as usize)
    }

    #[test]
    fn calls_are_recognised_by_their_encodings() {
        assert!(
            ends_with_call(&[0xe8, 1, 2, 3, 4]),
            "call to a near address"
        );
        assert!(ends_with_call(&[0xff, 0xd0]), "call rax");
        assert!(ends_with_call(&[0x41, 0xff, 0xd4]), "call r12");
        assert!(ends_with_call(&[0xff, 0x53, 0x18]), "call [rbx + 0x18]");
        assert!(ends_with_call(&[0xff, 0x14, 0xc8]), "call [rax + rcx * 8]");
        assert!(!ends_with_call(&[0xff, 0xe0]), "jmp rax");
        assert!(
            !ends_with_call(&[0xe9, 1, 2, 3, 4]),
            "jmp to a near address"
        );
        assert!(!ends_with_call(&[0x48, 0x89, 0xe5]), "mov rbp, rsp");
    }

    #[test]
    fn a_site_has_the_calls_that_led_to_it() {
        let longer = |chain, call| CHAINS.get().longer(chain, call, 0);
        let outer = longer(0, 0x1000);
        let inner = longer(outer, 0x2000);
        let other = longer(outer, 0x3000);
        assert_ne!(inner, other);
        assert_eq!(
            longer(outer, 0x2000),
            inner,
            "the same calls have the same number"
        );
        assert_eq!(
            unfold(join(0x7fff_1234_5678, inner)),
            [0x7fff_1234_5678, 0x2000, 0x1000]
        );
        assert_eq!(unfold(join(0x42, other)), [0x42, 0x3000, 0x1000]);
        assert_eq!(unfold(0x42), [0x42]);
    }
}
