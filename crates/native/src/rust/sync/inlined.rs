//! Check that inlined functions can be identified by their names.
//!
//! A primitive of std's is recognised in all functions that use it, or the program is not checked.
//! Suppose that the function that takes a lock is recognised and the one that releases it is not.
//! Then one half is the model's lock and the other an atomic and a futex, and a correct program
//! deadlocks. Debug information of lines only (`line-tables-only`) has the last part of the names
//! of inlined functions, without their type or module.

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

/// Names that are also those of functions of pointers, if they have a type parameter: functions of
/// a lock that access its word have none.
const OF_POINTERS: [&str; 2] = ["read", "write"];

/// Why a primitive would be recognised in some of the functions that use it, and not in others.
#[derive(Clone, Copy)]
pub(super) enum Half<'a> {
    /// This function was inlined, and its debug information has no path.
    Unnamed(&'a str),
    /// The program and std were optimised together, so std's functions are not as they came.
    Joined,
    /// An access of a lock's word in code that has no function of std's.
    Lost,
    /// This function was inlined, and is known only where a thread enters it.
    NotEntered(&'a str),
}

/// Ends the process: the program is not checked.
#[cold]
pub(super) fn refuse(half: Half<'_>) -> ! {
    const INLINED: &str = "functions were inlined";
    const APART: &str =
        "build it with `cargo raddle`, which keeps functions apart, or without optimising";
    let (why, help) = match half {
        Half::Unnamed(name) => (
            format!(
                "{INLINED}, and its debug information does not name those of Rust's standard library \
                 that lock, wait and wake"
            ),
            format!(
                "compile it with `debug = 1` or more, not `line-tables-only`; `{name}` is one of them"
            ),
        ),
        Half::Joined => (
            "it was optimised when it was linked, together with Rust's standard library, whose functions that \
             lock, wait and wake are not as they came"
                .to_owned(),
            "compile it with `lto = \"off\"`".to_owned(),
        ),
        Half::Lost => (
            format!(
                "{INLINED}, and an instruction that uses a lock of Rust's standard library has no name of a \
                 function"
            ),
            APART.to_owned(),
        ),
        Half::NotEntered(path) => (
            format!("{INLINED}, and `{path}` is recognised only where a thread enters it"),
            APART.to_owned(),
        ),
    };
    eprintln!("raddle: the program was not checked: {why}\n  help: {help}");
    // SAFETY: `_exit` has no precondition; what the check has found so far may be untrue.
    unsafe { libc::_exit(2) }
}

/// Returns an inlined function that may be one of std's with a role, and cannot be distinguished
/// from others.
pub(super) fn unknown(object: &object::File<'_>) -> Option<String> {
    let sections = sections(object).ok()?;
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

/// Returns the debug information of a file.
pub(super) fn sections<'a>(
    object: &object::File<'a>,
) -> Result<DwarfSections<Cow<'a, [u8]>>, gimli::Error> {
    DwarfSections::load(|id: gimli::SectionId| {
        let section = object.section_by_name(id.name());
        let data = section.and_then(|section| section.uncompressed_data().ok());
        Ok(data.unwrap_or_default())
    })
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
        // Either all functions of the unit have them, or none.
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
