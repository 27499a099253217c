//! Lifetimes of the objects of POSIX: mutexes, condition variables and others.
//!
//! An object must not be used after it was destroyed, and uses by other threads must happen before
//! it is destroyed or initialised again. The memory of a destroyed object is filled with a pattern.
//! So a program that overwrites it, by a static initialiser for example, has a new object.

use std::ops::Range;

use raddle_engine::ThreadId;

use crate::engine::Manner;
use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::host::addresses::Table;
use crate::threads::failure;
use crate::threads::heap_use::{LastUse, LastUses, Use, line};

/// Byte of a destroyed object.
const DESTROYED: u8 = 0xd5;

/// An object in the memory of the program.
#[derive(Clone, Copy)]
pub(super) struct PosixObject {
    pub(super) address: usize,
    pub(super) size: usize,
    /// Verb and kind for messages: "uses a mutex".
    pub(super) what: &'static str,
}

/// Objects of the execution.
#[derive(Default)]
pub(crate) struct ObjectLives {
    uses: LastUses,
    /// Initialisations by the program.
    initialised: Table<LastUse>,
    /// Site and thread of the last destruction at an address.
    destroyed: Table<(usize, ThreadId)>,
}

impl Part for ObjectLives {
    fn renew(&mut self) {
        let ObjectLives {
            uses,
            initialised,
            destroyed,
        } = self;
        uses.clear();
        initialised.clear();
        destroyed.clear();
    }
}

pub(crate) static OBJECT_LIVES: PartCell<ObjectLives> = PartCell::new();

/// Removes the objects at these addresses, which others will use.
pub(crate) fn forget(range: Range<usize>) {
    let mut lives = OBJECT_LIVES.get();
    lives.uses.forget(range.clone());
    lives.initialised.forget(range);
}

impl PosixObject {
    fn use_at(self, site: usize) -> Use {
        Use {
            address: self.address,
            size: self.size,
            what: self.what,
            site,
        }
    }

    /// Returns its kind, with an article.
    fn kind(self) -> &'static str {
        self.what.trim_start_matches("uses ")
    }

    /// In host mode: begins an operation on the object. Fails the thread if the object is not live.
    pub(super) fn begin(self, site: usize) {
        self.use_at(site).begin();
        self.check(site);
    }

    /// In host mode: ends an operation on the object. Fails the thread if the object is not live
    /// any more.
    pub(super) fn end(self, site: usize) {
        self.use_at(site).end();
        self.check(site);
        self.record(site);
    }

    /// As [`end`](Self::end), where the object may have been destroyed meanwhile.
    pub(super) fn end_without_it(self, site: usize) {
        self.use_at(site).record();
        self.record(site);
    }

    fn record(self, site: usize) {
        self.check_begin(site);
        OBJECT_LIVES
            .get()
            .uses
            .record(self.address, self.use_at(site));
    }

    /// In host mode: performs an operation on the object.
    pub(super) fn during<R>(self, site: usize, operation: impl FnOnce() -> R) -> R {
        self.begin(site);
        let result = operation();
        self.end(site);
        result
    }

    /// In host mode: records that the program initialises the object.
    pub(super) fn initialise(self, site: usize) {
        self.use_at(site).begin();
        self.check_order("initialises", site);
        forget(self.address..self.address + 1);
        let now = LastUse::between_events(self.use_at(site));
        OBJECT_LIVES.get().initialised.insert(self.address, now);
    }

    /// In host mode: records that the program destroys the object.
    pub(super) fn destroy(self, site: usize) {
        self.begin(site);
        self.check_order("destroys", site);
        // SAFETY: writing needs memory that is mapped and not in use: `begin` has checked the
        // former, and the program destroys the object.
        unsafe { (self.address as *mut u8).write_bytes(DESTROYED, self.size) };
        let mut lives = OBJECT_LIVES.get();
        lives.uses.forget(self.address..self.address + 1);
        lives
            .destroyed
            .insert(self.address, (site, running().thread()));
    }

    /// Fails the thread if the object was destroyed.
    fn check(self, site: usize) {
        let is_destroyed = (self.address..self.address + self.size)
            // SAFETY: reading needs mapped memory: `begin` has checked that the object is mapped.
            .all(|address| unsafe { (address as *const u8).read_volatile() } == DESTROYED);
        if !is_destroyed {
            return;
        }
        let Some((by, thread)) = OBJECT_LIVES.get().destroyed.get(self.address).copied() else {
            return;
        };
        let message = format!(
            "it {} that was destroyed{} by {}\n\
             help: it may be destroyed only after its last use",
            self.what,
            line(by),
            running().title(thread)
        );
        failure::fail_in(Manner::Memory, message, site)
    }

    /// Fails the thread at its first use of the object, if the initialisation by another thread
    /// does not happen before that.
    fn check_begin(self, site: usize) {
        let mut lives = OBJECT_LIVES.get();
        if lives.uses.is_used(self.address) {
            return;
        }
        let begun = lives.initialised.get(self.address).copied();
        drop(lives);
        if let Some(begun) = begun.filter(|begun| !begun.is_before()) {
            let message = format!(
                "it {}\n\
                 {} initialises it{}, and nothing orders the two: no lock, join or release/acquire pair is \
                 between them\n\
                 help: initialise it before other threads know of it",
                self.what,
                running().title(begun.thread),
                line(begun.site)
            );
            failure::fail_in(Manner::Memory, message, site)
        }
    }

    /// Fails the thread if another thread's use does not happen before its own action on the
    /// object.
    fn check_order(self, does: &str, site: usize) {
        let Some(one) = OBJECT_LIVES.get().uses.unordered(self.address) else {
            return;
        };
        let message = format!(
            "it {does} {}\n\
             {} uses it{}, and nothing orders the two: no lock, join or release/acquire pair is between \
             them\n\
             help: let the one wait for the other",
            self.kind(),
            running().title(one.thread),
            line(one.site)
        );
        failure::fail_in(Manner::Memory, message, site)
    }
}
