//! Functions of the standard library that were inlined and are known only where a thread enters them.
//!
//! Operations of channels, scopes and new threads begin with the entry of a function, and `fetch_max`, `fetch_min`
//! and `compare_exchange_weak` are replaced as a whole ([`uninstrumented`](super::uninstrumented)). Debug information
//! has the places where each was inlined. Code of the standard library that came compiled does not count: it is not
//! instrumented.

use std::collections::{BTreeSet, HashMap};

use addr2line::gimli::{self, AttributeValue, EndianSlice, LittleEndian, Unit, UnitOffset};
use object::Object;

use super::inlined::sections;
use crate::names::rust_paths::{self, FunctionKind};

/// Inlined functions of one file.
#[derive(Default)]
pub(super) struct Found {
    /// A function whose operation would not be performed.
    pub(super) lost: Option<String>,
    /// Methods of atomics that the user's code calls, by their names.
    pub(super) unseen: BTreeSet<&'static str>,
    /// The function that starts a thread, which only the query if the thread has ended needs to know.
    start: Option<String>,
    asks: bool,
}

/// Methods of atomics that are known by their names alone.
pub(super) const METHODS: [&str; 3] = ["fetch_max", "fetch_min", WEAK];
/// Method whose inlined calls are those of a strong one.
pub(super) const WEAK: &str = "compare_exchange_weak";
const ATOMIC: &str = "core::sync::atomic::";
/// Folder of the standard library's units that came compiled.
const COMPILED: &str = "/rustc/";

type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// A function, as far as it matters here.
#[derive(Clone)]
enum Function {
    /// It is known where it is entered.
    Special(FunctionKind, String),
    Method(&'static str),
    /// Another function of atomics.
    Atomic,
    Other(FunctionKind),
}

impl Function {
    fn new(path: &str) -> Function {
        let method = path.strip_prefix(ATOMIC).map(|rest| {
            let name = rest.rsplit("::").next();
            METHODS.into_iter().find(|it| Some(*it) == name)
        });
        match (method, rust_paths::kind_of(path)) {
            (Some(Some(method)), _) => Function::Method(method),
            (Some(None), _) => Function::Atomic,
            // Recognised by the functions around an instruction.
            (_, FunctionKind::IsFinished) => Function::Other(FunctionKind::IsFinished),
            (_, kind) if kind.is_special() => Function::Special(kind, path.to_owned()),
            (_, kind) => Function::Other(kind),
        }
    }

    fn kind(&self) -> FunctionKind {
        match self {
            Function::Special(kind, _) | Function::Other(kind) => *kind,
            Function::Method(_) | Function::Atomic => FunctionKind::Passes,
        }
    }

    fn is_of_atomics(&self) -> bool {
        matches!(self, Function::Method(_) | Function::Atomic)
    }
}

/// Returns the functions that were inlined in a file.
pub(super) fn find(object: &object::File<'_>) -> Found {
    let mut found = Found::default();
    if !object.has_debug_symbols() {
        return found;
    }
    let Ok(sections) = sections(object) else {
        return found;
    };
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        if let Ok(unit) = dwarf.unit(header) {
            // A unit that cannot be read to its end has no names to recognise anything by.
            let _ = find_in(&dwarf, &unit, &mut found);
        }
    }
    if found.asks && found.lost.is_none() {
        found.lost = found.start.take();
    }
    found
}

fn find_in(
    dwarf: &gimli::Dwarf<Reader<'_>>,
    unit: &Unit<Reader<'_>>,
    found: &mut Found,
) -> Result<(), gimli::Error> {
    let folder = unit.comp_dir.map(|folder| folder.to_string_lossy());
    if folder.is_some_and(|folder| folder.starts_with(COMPILED)) {
        return Ok(());
    }
    let mut known = HashMap::new();
    // The functions around an entry, with their depths.
    let mut around: Vec<(isize, Function)> = Vec::new();
    let mut entries = unit.entries();
    let mut depth = 0;
    while let Some((delta, entry)) = entries.next_dfs()? {
        depth += delta;
        while around.last().is_some_and(|(at, _)| *at >= depth) {
            around.pop();
        }
        let is_inlined = match entry.tag() {
            gimli::DW_TAG_inlined_subroutine => true,
            gimli::DW_TAG_subprogram => false,
            _ => continue,
        };
        let Some(function) = function(dwarf, unit, entry.offset(), &mut known)? else {
            continue;
        };
        found.asks |= function.kind() == FunctionKind::IsFinished;
        if is_inlined
            && let (Some((_, entered)), Some((_, caller))) = (around.first(), around.last())
        {
            match &function {
                Function::Special(kind, path) if entered.kind() != *kind => {
                    let first = match kind {
                        FunctionKind::Spawn => &mut found.start,
                        _ => &mut found.lost,
                    };
                    first.get_or_insert_with(|| path.clone());
                }
                Function::Method(name) if !caller.is_of_atomics() && is_users(&around) => {
                    found.unseen.insert(name);
                }
                _ => {}
            }
        }
        around.push((depth, function));
    }
    Ok(())
}

/// True if code in the innermost of these functions is the user's. Generic functions of the standard library are
/// compiled with the program, also without optimising, and methods of atomics may be inlined there.
fn is_users(around: &[(isize, Function)]) -> bool {
    let kinds = around.iter().map(|(_, function)| function.kind());
    let kind = kinds.fold(FunctionKind::Passes, |before, kind| {
        kind.entered_from(before)
    });
    matches!(kind, FunctionKind::User | FunctionKind::Passes)
}

/// Returns the function of an entry, which other entries may describe.
fn function(
    dwarf: &gimli::Dwarf<Reader<'_>>,
    unit: &Unit<Reader<'_>>,
    offset: UnitOffset,
    known: &mut HashMap<UnitOffset, Option<Function>>,
) -> Result<Option<Function>, gimli::Error> {
    let entry = unit.entry(offset)?;
    for other in [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification] {
        if let Some(AttributeValue::UnitRef(other)) = entry.attr_value(other)? {
            if let Some(function) = known.get(&other) {
                return Ok(function.clone());
            }
            let function = function(dwarf, unit, other, known)?;
            known.insert(other, function.clone());
            return Ok(function);
        }
    }
    let Some(name) = entry.attr_value(gimli::DW_AT_linkage_name)? else {
        return Ok(None);
    };
    let name = dwarf.attr_string(unit, name)?;
    let path = super::modules::path_of(&name.to_string_lossy());
    Ok(path.map(|path| Function::new(&path)))
}
