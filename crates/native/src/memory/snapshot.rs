//! The program's memory at the beginning of the check, which every execution begins with.
//!
//! The snapshot has all writable memory of the program and its libraries, except for this one, and
//! the heap. It also has thread-local storage of the first thread, and the part of the stack that
//! belongs to the callers of the check. Only
//! [written](crate::memory::written_pages) pages are restored, if the kernel reports these. State
//! of the kernel (files, children) and mappings of the program are not restored.

use std::ops::Range;

use super::written_pages::Written;
use super::{blocks, heap};
use crate::host::loaded::{self, Module};
use crate::host::process_state::ProcessState;
use crate::host::{arena, tls};

struct Region {
    start: usize,
    size: usize,
    copy: *mut u8,
    /// The whole pages in it. Only those that were written are restored.
    pages: Range<usize>,
    /// Written ranges of these pages.
    parts: Vec<Range<usize>>,
}

impl Region {
    fn end(&self) -> usize {
        self.start + self.size
    }

    /// Restores a part of the region.
    fn put_back(&self, part: Range<usize>) {
        // SAFETY: the part is inside of the region, which is still mapped and writable, and the copy is as
        // large as the region. No thread of the program runs, and raddle has no references into its memory.
        unsafe {
            let copy = self.copy.add(part.start - self.start);
            std::ptr::copy_nonoverlapping(copy, part.start as *mut u8, part.len());
        }
    }

    /// Finds the written parts; all of the pages, if they are not known.
    fn look(&mut self, written: Option<&Written>) {
        self.parts.clear();
        let parts = &mut self.parts;
        let is_known = written.is_some_and(|it| it.each(&self.pages, |part| parts.push(part)));
        if !is_known {
            parts.clear();
            parts.push(self.pages.clone());
        }
    }

    /// Restores the region.
    fn restore(&self) {
        self.put_back(self.start..self.pages.start);
        for part in &self.parts {
            self.put_back(part.clone());
        }
        self.put_back(self.pages.end..self.end());
    }
}

enum Snapshot {
    None,
    /// To be taken when the first execution begins, with the start of the program's part of the
    /// stack.
    Wanted(usize),
    Taken(Taken),
}

struct Taken {
    /// The start of the program's part of the stack.
    stack: usize,
    regions: Vec<Region>,
    written: Option<Written>,
    /// Number of executions that have begun with it.
    executions: u64,
    /// The regions at the beginning of the check, if executions begin [later](take_again).
    first: Option<Vec<Region>>,
}

/// Number of executions after which pages are protected again; and after twice as many, and so on.
const FEW: u64 = 8;

static SNAPSHOT: ProcessState<Snapshot> = ProcessState::new(Snapshot::None);
const PAGE: usize = 4096;

/// Requests a snapshot at the beginning of a check.
pub(crate) fn begin(stack: usize) {
    *SNAPSHOT.get() = Snapshot::Wanted(stack);
}

/// Restores the memory at the end of a check, and frees the snapshot.
pub(crate) fn end() {
    go_back();
    restore();
    let snapshot = std::mem::replace(&mut *SNAPSHOT.get(), Snapshot::None);
    if let Snapshot::Taken(taken) = snapshot {
        drop(taken.written);
        free(taken.regions);
    }
}

fn free(regions: Vec<Region>) {
    for region in regions {
        let copy = region.copy as usize;
        arena::unmap(copy..copy + region.size.max(1));
    }
}

/// Takes the snapshot at the beginning of the first execution, and restores it at that of the
/// others.
pub(crate) fn restore() {
    let mut snapshot = SNAPSHOT.get();
    match &mut *snapshot {
        Snapshot::None => {}
        Snapshot::Wanted(stack) => {
            let stack = *stack;
            let regions = take(stack, None);
            let written = watch(&regions);
            *snapshot = Snapshot::Taken(Taken {
                stack,
                regions,
                written,
                executions: 0,
                first: None,
            });
        }
        Snapshot::Taken(taken) => taken.restore(),
    }
}

/// In the first execution: executions begin with the memory as it is now, and with these variables of the program's
/// too.
pub(crate) fn take_again(more: Range<usize>) {
    if let Snapshot::Taken(taken) = &mut *SNAPSHOT.get() {
        // Pages can be protected once.
        taken.written = None;
        let now = take(taken.stack, Some(more));
        taken.written = watch(&now);
        taken.executions = 0;
        taken.first = Some(std::mem::replace(&mut taken.regions, now));
        blocks::keep_freed();
    }
}

/// Executions begin as they did before [`take_again`].
pub(crate) fn go_back() {
    if let Snapshot::Taken(taken) = &mut *SNAPSHOT.get()
        && let Some(first) = taken.first.take()
    {
        taken.written = None;
        free(std::mem::replace(&mut taken.regions, first));
        for region in &mut taken.regions {
            region.look(None);
            region.restore();
        }
        taken.written = watch(&taken.regions);
        blocks::go_back();
    }
}

impl Taken {
    fn restore(&mut self) {
        let Taken {
            regions,
            written,
            executions,
            ..
        } = self;
        *executions += 1;
        let known = written.as_ref().filter(|written| written.is_here());
        if known.is_none_or(Written::has_more) {
            regions.iter_mut().for_each(|region| region.look(known));
        }
        regions.iter().for_each(Region::restore);
        // Pages that only earlier executions have written need not be restored any more. Each time costs a fault for
        // each of the others.
        if *executions >= FEW
            && executions.is_power_of_two()
            && let Some(written) = known
        {
            let mut parts = regions.iter().flat_map(|region| &region.parts);
            parts.all(|part| written.protect_again(part));
        }
        if known.is_none() && written.is_some() {
            *written = watch(regions);
        }
        if let Some(region) = regions.first() {
            heap::reset(region.start + region.size);
        }
    }
}

fn watch(regions: &[Region]) -> Option<Written> {
    Written::watch(regions.iter().map(|region| region.pages.clone()))
}

/// Copies all regions, the heap first.
fn take(stack: usize, more: Option<Range<usize>>) -> Vec<Region> {
    let mut ranges = vec![heap::used()];
    loaded::each(|module| {
        if !module.is_ours() {
            ranges.extend(variables(module));
        }
    });
    ranges.extend(tls::variables());
    // A thread other than the first has its thread-local variables at the end of its stack, and
    // some are raddle's.
    let variables = tls::start();
    let end = end_of_stack(stack).map(|end| match (stack..end).contains(&variables) {
        true => variables,
        false => end,
    });
    ranges.extend(end.map(|end| stack..end));
    ranges.extend(more);
    let copy = |range: Range<usize>| {
        let copy = arena::map(range.len().max(1));
        assert!(!copy.is_null(), "raddle: no memory for a snapshot");
        // SAFETY: the range is mapped and readable, and the copy was just mapped with its size.
        unsafe { std::ptr::copy_nonoverlapping(range.start as *const u8, copy, range.len()) };
        let pages = range.start.next_multiple_of(PAGE)..range.end & !(PAGE - 1);
        Region {
            start: range.start,
            size: range.len(),
            copy,
            pages: match pages.start < pages.end {
                true => pages,
                false => range.end..range.end,
            },
            parts: Vec::new(),
        }
    };
    ranges.into_iter().map(copy).collect()
}

/// Returns the writable memory of a module.
fn variables(module: Module<'_>) -> Vec<Range<usize>> {
    let left_out = [module.sealed(), bound(module)];
    let whole = module.variables().collect::<Vec<_>>();
    left_out.iter().fold(whole, |parts, out| {
        let parts = parts.iter().flat_map(|part| without(part, out));
        parts.filter(|part| !part.is_empty()).collect()
    })
}

/// Returns the ranges before and after a part of a range.
fn without(range: &Range<usize>, part: &Range<usize>) -> [Range<usize>; 2] {
    match part.is_empty() || part.end <= range.start || range.end <= part.start {
        true => [range.clone(), 0..0],
        false => [range.start..part.start, part.end..range.end],
    }
}

/// Returns the range of the table of functions that the loader binds at their first call. To bind
/// them again in every execution would take longer than most executions.
fn bound(module: Module<'_>) -> Range<usize> {
    const SIZE: i64 = 2;
    const TABLE: i64 = 3;
    /// Size of a relocation entry, and number of addresses that are the loader's own.
    const ENTRY: usize = 24;
    const OWN: usize = 3;
    let (mut size, mut table) = (0, 0);
    if let Some(dynamic) = module.header(libc::PT_DYNAMIC) {
        let pairs = module.range(dynamic);
        let count = pairs.len() / size_of::<(i64, usize)>();
        // SAFETY: the dynamic section of a loaded module is an array of such pairs, which nothing writes
        // after loading.
        let pairs =
            unsafe { std::slice::from_raw_parts(pairs.start as *const (i64, usize), count) };
        for &(tag, value) in pairs {
            match tag {
                SIZE => size = value,
                TABLE => table = value,
                _ => {}
            }
        }
    }
    // Some loaders keep the address that is in the file.
    let base = module.base();
    let table = if table < base { table + base } else { table };
    match size {
        0 => 0..0,
        size => table..table + (size / ENTRY + OWN) * size_of::<usize>(),
    }
}

/// Returns the end of the stack that an address is on.
fn end_of_stack(address: usize) -> Option<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (start, rest) = line.split_once('-')?;
        let (end, _) = rest.split_once(' ')?;
        let [start, end] = [start, end].map(|it| usize::from_str_radix(it, 16).unwrap_or(0));
        (start..end).contains(&address).then_some(end)
    })
}
