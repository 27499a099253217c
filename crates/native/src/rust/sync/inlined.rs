//! Whether functions that were inlined can be told by their names.
//!
//! A primitive of std's is recognised in all functions that use it, or the program is not checked: where the
//! function that takes a lock is known and the one that releases it is not, one half would be the model's
//! lock and the other an atomic and a futex, and a correct program would be stuck. Debug information of lines
//! only (`line-tables-only`) has the last part of the names of inlined functions, and not which type or module
//! they are of.

use std::borrow::Cow;

use addr2line::gimli::{self, DwarfSections, EndianSlice, LittleEndian};
use object::{Object, ObjectSection};

/// Last parts of the names of functions of std's that have a role, or that wait or wake.
const WITH_ROLE: [&str; 34] = [
    "lock",
    "try_lock",
    "unlock",
    "lock_contended",
    "read",
    "try_read",
    "write",
    "try_write",
    "read_unlock",
    "write_unlock",
    "downgrade",
    "wait",
    "wait_timeout",
    "wait_while",
    "notify_one",
    "notify_all",
    "park",
    "park_timeout",
    "unpark",
    "call_once",
    "call_once_force",
    "is_completed",
    "get_or_init",
    "get_or_try_init",
    "initialize",
    "is_initialized",
    "force",
    "send",
    "try_send",
    "recv",
    "try_recv",
    "recv_timeout",
    "is_finished",
    "is_poisoned",
];

/// The same as functions of pointers, if they have a type parameter: the functions of a lock that touch its word
/// have none.
const OF_POINTERS: [&str; 2] = ["read", "write"];

/// Returns a function that was inlined, may be one of std's with a role, and cannot be told from others.
pub(super) fn unknown(object: &object::File<'_>) -> Option<String> {
    let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        let section = object.section_by_name(id.name());
        let data = section.and_then(|section| section.uncompressed_data().ok());
        Ok(data.unwrap_or_default())
    };
    let sections = DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else {
            continue;
        };
        if let Ok(Some(name)) = unknown_in(&dwarf, &unit) {
            return Some(name);
        }
    }
    None
}

type Reader<'a> = EndianSlice<'a, LittleEndian>;

fn unknown_in(
    dwarf: &gimli::Dwarf<Reader<'_>>,
    unit: &gimli::Unit<Reader<'_>>,
) -> Result<Option<String>, gimli::Error> {
    let mut entries = unit.entries();
    while let Some((_, entry)) = entries.next_dfs()? {
        let language = entry.attr_value(gimli::DW_AT_language)?;
        let is_other = |language| language != gimli::AttributeValue::Language(gimli::DW_LANG_Rust);
        if language.is_some_and(is_other) {
            return Ok(None);
        }
        let is_inlined = entry.tag() == gimli::DW_TAG_subprogram
            && entry.attr_value(gimli::DW_AT_inline)?.is_some();
        if !is_inlined {
            continue;
        }
        // The whole unit has them, or none of it.
        for whole in [gimli::DW_AT_linkage_name, gimli::DW_AT_specification] {
            if entry.attr_value(whole)?.is_some() {
                return Ok(None);
            }
        }
        let Some(name) = entry.attr_value(gimli::DW_AT_name)? else {
            continue;
        };
        let name = dwarf
            .attr_string(unit, name)?
            .to_string_lossy()
            .into_owned();
        let last = name.split('<').next().unwrap_or_default();
        let is_of_pointer = OF_POINTERS.contains(&last) && last != name;
        if WITH_ROLE.contains(&last) && !is_of_pointer {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
