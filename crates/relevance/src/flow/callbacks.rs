//! Calls of ThreadSanitizer's interface: where the program reads and writes shared memory.

use super::Visit;
use super::state::{Pending, State};
use crate::labels::Label;
use crate::sets::EMPTY;
use crate::summary::{Sink, Site};
use crate::values::{Atom, Value};

/// Number of a part of an atom that says that an atomic operation has made it.
const BY_ATOMIC: u8 = 251;

/// A callback of a plain access.
struct Plain {
    reads: bool,
    writes: bool,
    /// `None` if an argument says it.
    size: Option<i64>,
}

/// Returns the access that a callback, without `__tsan_`, reports.
fn plain(name: &str) -> Option<Plain> {
    let name = name.strip_prefix("unaligned_").unwrap_or(name);
    let name = name.strip_prefix("volatile_").unwrap_or(name);
    let name = name.strip_suffix("_pc").unwrap_or(name);
    let (reads, writes, size) = if let Some(size) = name.strip_prefix("read_write") {
        (true, true, size)
    } else if let Some(size) = name.strip_prefix("read") {
        (true, false, size)
    } else {
        (false, true, name.strip_prefix("write")?)
    };
    let size = match size {
        "_range" => None,
        _ => Some(size.parse().ok()?),
    };
    Some(Plain {
        reads,
        writes,
        size,
    })
}

/// True if a callback, without `__tsan_`, reports a read.
pub(crate) fn is_read(name: &str) -> bool {
    match name.strip_prefix("atomic") {
        Some(atomic) => {
            !atomic.ends_with("_store")
                && !atomic.ends_with("fence")
                && atomic.starts_with(|first: char| first.is_ascii_digit())
        }
        None => {
            plain(name).is_some_and(|plain| plain.reads)
                || matches!(name, "vptr_read" | "memcpy" | "memmove")
        }
    }
}

impl Visit<'_, '_> {
    /// Records a read of the function.
    pub(crate) fn found_read(
        &mut self,
        site: u64,
        address: Value,
        is_atomic: bool,
        is_update: bool,
    ) {
        let variable = self
            .values
            .as_constant(address)
            .map(|address| address as u64);
        let known = Site {
            function: self.function,
            is_atomic,
            is_update,
            variable,
        };
        self.shared.effects.reads.insert(site, known);
    }

    /// Performs a call of a function of ThreadSanitizer; the name is without `__tsan_`.
    pub(crate) fn callback(&mut self, name: &str, state: &mut State, at: u64, site: u64) {
        let (address, labels) = (state.values[7], state.labels[7]);
        if plain(name).is_none_or(|plain| plain.reads) {
            // No access is later than the next callback, but for that of a statement that reads and writes.
            state.reads.clear();
            state.writes.clear();
        }
        if let Some(plain) = plain(name) {
            self.sink(labels, Sink::ADDRESS, at);
            return self.plain_access(&plain, state, at, site);
        }
        if let Some((bits, operation)) = atomic(name) {
            self.sink(labels, Sink::ADDRESS, at);
            return self.atomic(bits / 8, operation, state, at, site);
        }
        match name {
            "vptr_update" | "vptr_read" => {
                self.sink(labels, Sink::ADDRESS, at);
                let plain = Plain {
                    reads: name == "vptr_read",
                    writes: name == "vptr_update",
                    size: Some(8),
                };
                // The new value is only compared.
                self.plain_access(&plain, state, at, site);
            }
            "func_entry"
            | "func_exit"
            | "init"
            | "atomic_thread_fence"
            | "atomic_signal_fence"
            | "ignore_thread_begin"
            | "ignore_thread_end" => self.clobber(state, at),
            "memcpy" | "memmove" => self.copy(state, at, site),
            "memset" => self.set_memory(address, state, at, site),
            _ => self.call_unknown(state, at),
        }
    }

    fn plain_access(&mut self, plain: &Plain, state: &mut State, at: u64, site: u64) {
        let pending = Pending {
            address: state.values[7],
            is_in_frame: self.has_frame(state.labels[7]),
            size: plain.size,
            site,
            is_matched: false,
        };
        self.clobber(state, at);
        state.writes.clear();
        if plain.reads {
            self.found_read(site, pending.address, false, false);
            state.reads = vec![pending];
            if plain.size.is_none() {
                // What follows may be a call that copies.
                let read = self.label(Label::Read(site));
                self.sink(read, Sink::UNKNOWN, at);
            }
        }
        if plain.writes {
            self.shared.effects.writes.insert(site);
            state.writes.push(pending);
        }
    }

    fn atomic(&mut self, size: i64, operation: &str, state: &mut State, at: u64, site: u64) {
        let address = state.values[7];
        let (stored, is_update) = match operation {
            "load" => (EMPTY, false),
            _ if operation.starts_with("compare_exchange") => {
                let expected = match operation {
                    "compare_exchange_val" => state.labels[6],
                    _ => self.expected(size, state),
                };
                self.sink(expected, Sink::BRANCH, at);
                (state.labels[2], true)
            }
            _ if size == 16 => (self.union(state.labels[6], state.labels[2]), true),
            _ => (state.labels[6], true),
        };
        if is_update {
            self.shared.effects.writes.insert(site);
            self.sink(stored, Sink::STORE, site);
        }
        if operation == "store" {
            return self.clobber(state, at);
        }
        self.found_read(site, address, true, is_update);
        let read = self.label(Label::Read(site));
        let (expected_at, expected_labels) = (state.values[6], state.labels[6]);
        // Values of 16 bytes have two registers each; their operands are not told apart.
        let is_known = size < 16 || operation == "load";
        if !is_known {
            self.sink(read, Sink::UNKNOWN, at);
            for register in [6, 2, 1, 8, 9] {
                self.sink(state.labels[register], Sink::UNKNOWN, at);
            }
        }
        match operation {
            "load" | "exchange" => {}
            _ if operation.starts_with("compare_exchange") => {
                self.sink(read, Sink::BRANCH, at);
            }
            _ => self.sink(read, Sink::STORE, site),
        }
        let writes_expected =
            operation.starts_with("compare_exchange") && operation != "compare_exchange_val";
        if writes_expected {
            let made = self.values.atom(Atom::Made(at, BY_ATOMIC));
            match self.values.in_frame(expected_at) {
                Some(offset) => {
                    let before = self.load_slot(state, offset, size, made).1;
                    let stored = self.union(before, read);
                    self.write_slot(state, offset, size, (made, stored), at);
                }
                None => {
                    self.sink(expected_labels, Sink::ADDRESS, at);
                    self.sink(read, Sink::UNKNOWN, at);
                    self.spread(expected_at, expected_labels, size, state, (read, at));
                }
            }
        }
        self.clobber(state, at);
        state.labels[0] = read;
        if size == 16 {
            state.labels[2] = read;
        }
    }

    /// Returns the labels of the value that a compare-exchange expects, in memory.
    fn expected(&mut self, size: i64, state: &mut State) -> crate::sets::Set {
        let (address, labels) = (state.values[6], state.labels[6]);
        match self.values.in_frame(address) {
            Some(offset) => self.load_slot(state, offset, size, address).1,
            None => self.reach(labels, state),
        }
    }

    fn set_memory(&mut self, address: Value, state: &mut State, at: u64, site: u64) {
        let (labels, byte) = (state.labels[7], state.labels[6]);
        self.sink(labels, Sink::ADDRESS, at);
        self.sink(state.labels[2], Sink::ADDRESS, at);
        self.shared.effects.writes.insert(site);
        self.sink(byte, Sink::STORE, site);
        self.spread(address, labels, 0, state, (byte, at));
        self.clobber(state, at);
        state.values[0] = address;
        state.labels[0] = labels;
    }
}

/// Returns the bits and the operation of an atomic callback, without `__tsan_`.
fn atomic(name: &str) -> Option<(i64, &str)> {
    let (bits, operation) = name.strip_prefix("atomic")?.split_once('_')?;
    Some((bits.parse().ok()?, operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_of_reads_are_known() {
        for name in [
            "read1",
            "unaligned_read8",
            "volatile_read4",
            "unaligned_volatile_read2",
            "read_write4",
            "read_range",
            "read4_pc",
            "vptr_read",
            "atomic32_load",
            "atomic64_fetch_add",
            "atomic8_compare_exchange_weak",
            "memcpy",
        ] {
            assert!(is_read(name), "{name}");
        }
        for name in [
            "write4",
            "volatile_write4",
            "atomic32_store",
            "atomic_thread_fence",
            "func_entry",
            "memset",
        ] {
            assert!(!is_read(name), "{name}");
        }
    }
}
