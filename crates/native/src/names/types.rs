//! Types of the program's variables, from its debug information. They give the field or element of
//! a variable at an address.

use std::collections::BTreeMap;
use std::path::Path;

use addr2line::gimli::{
    self, AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Operation,
    Unit, UnitOffset,
};
use object::{Object, ObjectSection, SectionKind};

type Reader = EndianSlice<'static, LittleEndian>;
type Entry<'a> = DebuggingInformationEntry<'a, 'a, Reader>;

/// Prefixes of types whose fields are not the user's.
const OPAQUE: [&str; 6] = ["pthread_", "sem_t", "mtx_t", "cnd_t", "once_flag", "__"];

/// Path of fields and indices from a variable to a part of it.
struct Fields {
    text: String,
    /// True if the path may lead into types of Rust's standard library, whose fields are not shown.
    is_rust: bool,
    /// Length of the path without such fields, if it ends with some.
    outer: Option<usize>,
}

impl Fields {
    /// Returns the path of the variable itself.
    fn from(text: String, unit: &Unit<Reader>) -> Self {
        Fields {
            text,
            is_rust: is_rust(unit),
            outer: None,
        }
    }

    /// Appends a field of a structure, given the names of both types.
    fn add_field(&mut self, structure: &str, field: &str, of: &str) {
        match self.is_rust && is_inner(structure, field, of, self.outer.is_some()) {
            true => {
                self.outer.get_or_insert(self.text.len());
            }
            false => self.outer = None,
        }
        self.text += &format!(".{field}");
    }

    fn add_index(&mut self, index: u64) {
        self.outer = None;
        self.text += &format!("[{index}]");
    }

    /// Returns the path up to an atomic or a lock of Rust's standard library, without the fields
    /// inside.
    fn outside(mut self) -> String {
        self.text.truncate(self.outer.unwrap_or(self.text.len()));
        self.text
    }
}

/// True if the field is internal to an atomic or a lock of Rust's standard library, or of the crate
/// parking_lot. `follows` is true inside another internal field.
fn is_inner(structure: &str, field: &str, of: &str, follows: bool) -> bool {
    const LOCKS: [&str; 4] = ["Mutex", "RwLock", "Condvar", "Once"];
    match field {
        "v" | "p" => structure.starts_with("Atomic"),
        "value" => follows && structure.starts_with("UnsafeCell<"),
        // A lock of the standard library wraps one of the system.
        "inner" => {
            let mut locks = LOCKS.iter();
            locks.any(|lock| structure.starts_with(lock) && of.starts_with(lock))
        }
        "raw" => of.starts_with("Raw"),
        "once" => structure.contains("Lock<") && of == "Once",
        "lock" => structure == "Barrier" && of.starts_with("Mutex<"),
        "futex" | "state_and_queued" => follows,
        "state" => follows || structure == "Condvar",
        _ => false,
    }
}

/// Types of the variables of a file.
pub(crate) struct Types {
    units: Vec<Unit<Reader>>,
    dwarf: Dwarf<Reader>,
    /// Unit and type of each variable, by its address in the file.
    variables: BTreeMap<u64, (usize, UnitOffset)>,
    /// Code, with its address in the file.
    code: Vec<(u64, &'static [u8])>,
    /// Local variables, by the address of their function, with their offsets from the end of its
    /// frame.
    locals: BTreeMap<u64, Vec<Local>>,
}

struct Local {
    offset: i64,
    name: String,
    unit: usize,
    of: UnitOffset,
}

impl Types {
    pub(crate) fn read(file: &Path) -> Option<Self> {
        // Leaked, because a story may be printed at any time from now on.
        let data: &'static [u8] = std::fs::read(file).ok()?.leak();
        let object = object::File::parse(data).ok()?;
        let load = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
            let section = object.section_by_name(id.name());
            let data = section.and_then(|section| section.data().ok());
            Ok(EndianSlice::new(data.unwrap_or_default(), LittleEndian))
        };
        let mut types = Types {
            units: Vec::new(),
            dwarf: Dwarf::load(load).ok()?,
            variables: BTreeMap::new(),
            code: code(&object),
            locals: BTreeMap::new(),
        };
        let mut headers = types.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            if let Ok(unit) = types.dwarf.unit(header) {
                let number = types.units.len();
                let _ = add_variables(&unit, number, &mut types.variables);
                let _ = types.add_locals(&unit, number);
                types.units.push(unit);
            }
        }
        Some(types)
    }

    /// Returns the part at this offset in the variable at an address, and the rest of the offset
    /// inside that part.
    pub(crate) fn part(&self, variable: u64, offset: u64) -> Option<(String, u64)> {
        let &(unit, of) = self.variables.get(&variable)?;
        let unit = &self.units[unit];
        let mut path = Fields::from(String::new(), unit);
        let rest = self.walk(unit, of, offset, &mut path)?;
        Some((path.outside(), rest))
    }

    /// Returns the local variable at this offset from the end of the function's frame, with the
    /// part there and the rest of the offset inside that part.
    pub(crate) fn local(&self, function: u64, offset: i64) -> Option<(String, u64)> {
        let mut locals = self.locals.get(&function)?.iter();
        locals.find_map(|local| {
            let unit = &self.units[local.unit];
            let inside = u64::try_from(offset - local.offset).ok()?;
            if inside >= size(unit, local.of)? {
                return None;
            }
            let mut path = Fields::from(local.name.clone(), unit);
            let rest = self.walk(unit, local.of, inside, &mut path)?;
            Some((path.outside(), rest))
        })
    }

    /// Adds the local variables of functions whose frames are addressed from their end, as
    /// optimising compilers do.
    fn add_locals(&mut self, unit: &Unit<Reader>, number: usize) -> Result<(), gimli::Error> {
        let mut entries = unit.entries();
        let (mut depth, mut function) = (0, None);
        let is_rust = is_rust(unit);
        while let Some((change, entry)) = entries.next_dfs()? {
            depth += change;
            if entry.tag() == gimli::DW_TAG_subprogram {
                function = match entry.attr_value(gimli::DW_AT_low_pc)? {
                    Some(AttributeValue::Addr(start)) => {
                        let base = self.base(entry, unit, start);
                        let base = base.or_else(|| (!is_rust).then_some(0));
                        base.map(|base| (start, depth, base))
                    }
                    _ => None,
                };
            } else if function.is_some_and(|(_, outer, _)| depth <= outer) {
                function = None;
            }
            let is_variable = matches!(
                entry.tag(),
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter
            );
            let (Some((start, _, base)), true) = (function, is_variable) else {
                continue;
            };
            let Some(AttributeValue::Exprloc(place)) = entry.attr_value(gimli::DW_AT_location)?
            else {
                continue;
            };
            let first = place.operations(unit.encoding()).next()?;
            let Some(Operation::FrameOffset { offset }) = first else {
                continue;
            };
            // Variables of inlined functions refer to an abstract origin.
            let origin = match entry.attr_value(gimli::DW_AT_abstract_origin)? {
                Some(AttributeValue::UnitRef(origin)) => Some(unit.entry(origin)?),
                _ => None,
            };
            let known = origin.as_ref().unwrap_or(entry);
            if let (Some(name), Some(of)) = (self.name(unit, known), type_of(known)) {
                let local = Local {
                    offset: offset + base,
                    name,
                    unit: number,
                    of,
                };
                self.locals.entry(start).or_default().push(local);
            }
        }
        Ok(())
    }

    /// Returns the offset from the end of a function's frame to the base of its variables' offsets,
    /// if known. Compilers that do not optimise use the stack pointer, whose offset the first
    /// instructions determine.
    fn base(&self, function: &Entry<'_>, unit: &Unit<Reader>, start: u64) -> Option<i64> {
        const RETURN_ADDRESS: i64 = 8;
        const STACK_POINTER: gimli::Register = gimli::Register(7);
        let base = function.attr_value(gimli::DW_AT_frame_base).ok()??;
        let AttributeValue::Exprloc(base) = base else {
            return None;
        };
        match base.operations(unit.encoding()).next().ok()?? {
            Operation::CallFrameCFA => Some(0),
            Operation::Register { register } if register == STACK_POINTER => {
                Some(-RETURN_ADDRESS - self.room(start)?)
            }
            _ => None,
        }
    }

    /// Returns the number of bytes that a function's first instructions reserve on the stack.
    fn room(&self, start: u64) -> Option<i64> {
        let mut rest = self.code.iter().find_map(|&(from, code)| {
            let at = usize::try_from(start.checked_sub(from)?).ok()?;
            code.get(at..)
        })?;
        let mut room = 0;
        loop {
            rest = match rest {
                [0x50..=0x57, rest @ ..] | [0x41, 0x50..=0x57, rest @ ..] => {
                    room += 8;
                    rest
                }
                [0x48, 0x83, 0xec, size, ..] => return Some(room + i64::from(*size as i8)),
                [0x48, 0x81, 0xec, size @ ..] => {
                    let size: [u8; 4] = size.get(..4)?.try_into().ok()?;
                    return Some(room + i64::from(i32::from_le_bytes(size)));
                }
                _ => return Some(room),
            };
        }
    }

    fn name(&self, unit: &Unit<Reader>, entry: &Entry<'_>) -> Option<String> {
        let value = entry.attr_value(gimli::DW_AT_name).ok()??;
        let text = self.dwarf.attr_string(unit, value).ok()?;
        Some(String::from_utf8_lossy(text.slice()).into_owned())
    }

    /// Descends into a type as long as it has named parts.
    fn walk(
        &self,
        unit: &Unit<Reader>,
        of: UnitOffset,
        offset: u64,
        path: &mut Fields,
    ) -> Option<u64> {
        let entry = unit.entry(of).ok()?;
        let name = self.name(unit, &entry).unwrap_or_default();
        if OPAQUE.iter().any(|opaque| name.starts_with(opaque)) {
            return Some(offset);
        }
        match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type => self.walk(unit, type_of(&entry)?, offset, path),
            gimli::DW_TAG_array_type => {
                let element = type_of(&entry)?;
                let size = size(unit, element)?;
                let mut left = offset / size;
                let lengths = lengths(unit, of);
                // An index of one dimension covers as many elements as the product of the later
                // lengths.
                for (number, _) in lengths.iter().enumerate() {
                    let inner: u64 = lengths[number + 1..].iter().product();
                    path.add_index(left / inner.max(1));
                    left %= inner.max(1);
                }
                self.walk(unit, element, offset % size, path)
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                let found = self.member(unit, of, offset);
                let Some((field, member, start)) = found else {
                    return Some(offset);
                };
                match field {
                    Some(field) if field.starts_with('_') => return Some(offset - start),
                    Some(field) => {
                        let entry = unit.entry(member).ok()?;
                        let of = self.name(unit, &entry).unwrap_or_default();
                        path.add_field(&name, &field, &of);
                    }
                    // Base classes.
                    None => {}
                }
                self.walk(unit, member, offset - start, path)
            }
            _ => Some(offset),
        }
    }

    /// Returns the member of a structure that contains a byte: its name, type and offset.
    fn member(
        &self,
        unit: &Unit<Reader>,
        of: UnitOffset,
        offset: u64,
    ) -> Option<(Option<String>, UnitOffset, u64)> {
        let mut tree = unit.entries_tree(Some(of)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let start = number(entry, gimli::DW_AT_data_member_location);
            let (Some(start), Some(of)) = (start, type_of(entry)) else {
                continue;
            };
            let size = size(unit, of).unwrap_or(0);
            if start <= offset && offset < start + size {
                return Some((self.name(unit, entry), of, start));
            }
        }
        None
    }
}

fn add_variables(
    unit: &Unit<Reader>,
    number: usize,
    to: &mut BTreeMap<u64, (usize, UnitOffset)>,
) -> Result<(), gimli::Error> {
    let mut entries = unit.entries();
    while let Some((_, entry)) = entries.next_dfs()? {
        if entry.tag() != gimli::DW_TAG_variable {
            continue;
        }
        let Some(AttributeValue::Exprloc(place)) = entry.attr_value(gimli::DW_AT_location)? else {
            continue;
        };
        let first = place.operations(unit.encoding()).next()?;
        let Some(Operation::Address { address }) = first else {
            continue;
        };
        // The type may be at the declaration of the variable.
        let declared = match entry.attr_value(gimli::DW_AT_specification)? {
            Some(AttributeValue::UnitRef(declared)) => type_of(&unit.entry(declared)?),
            _ => None,
        };
        if let Some(of) = type_of(entry).or(declared) {
            to.insert(address, (number, of));
        }
    }
    Ok(())
}

/// Returns the code of a file, with its address.
fn code(object: &object::File<'static>) -> Vec<(u64, &'static [u8])> {
    let sections = object.sections();
    let sections = sections.filter(|section| section.kind() == SectionKind::Text);
    let code = sections.filter_map(|section| Some((section.address(), section.data().ok()?)));
    code.collect()
}

fn is_rust(unit: &Unit<Reader>) -> bool {
    let language = |entry: &Entry<'_>| entry.attr_value(gimli::DW_AT_language).ok().flatten();
    let mut entries = unit.entries();
    let Ok(Some((_, root))) = entries.next_dfs() else {
        return false;
    };
    language(root) == Some(AttributeValue::Language(gimli::DW_LANG_Rust))
}

fn type_of(entry: &Entry<'_>) -> Option<UnitOffset> {
    match entry.attr_value(gimli::DW_AT_type).ok()?? {
        AttributeValue::UnitRef(of) => Some(of),
        _ => None,
    }
}

fn number(entry: &Entry<'_>, name: gimli::DwAt) -> Option<u64> {
    entry.attr_value(name).ok()??.udata_value()
}

/// Returns the size of a type's values, in bytes.
fn size(unit: &Unit<Reader>, of: UnitOffset) -> Option<u64> {
    let entry = unit.entry(of).ok()?;
    if let Some(size) = number(&entry, gimli::DW_AT_byte_size) {
        return Some(size.max(1));
    }
    match entry.tag() {
        gimli::DW_TAG_array_type => {
            let count: u64 = lengths(unit, of).iter().product();
            Some(count.max(1) * size(unit, type_of(&entry)?)?)
        }
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => Some(8),
        _ => size(unit, type_of(&entry)?),
    }
}

/// Returns the number of elements of an array in each of its dimensions.
fn lengths(unit: &Unit<Reader>, of: UnitOffset) -> Vec<u64> {
    let mut found = Vec::new();
    let Ok(mut tree) = unit.entries_tree(Some(of)) else {
        return found;
    };
    let Ok(root) = tree.root() else {
        return found;
    };
    let mut children = root.children();
    while let Ok(Some(child)) = children.next() {
        if child.entry().tag() == gimli::DW_TAG_subrange_type {
            let count = number(child.entry(), gimli::DW_AT_count);
            let last = number(child.entry(), gimli::DW_AT_upper_bound);
            // Without elements the upper bound is -1.
            let count = count.or(last.map(|last| last.wrapping_add(1)));
            found.push(count.unwrap_or(0));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(is_rust: bool) -> Fields {
        Fields {
            text: "table".to_owned(),
            is_rust,
            outer: None,
        }
    }

    #[test]
    fn fields_of_the_library_are_not_shown() {
        let mut path = fields(true);
        path.add_field("Table", "count", "AtomicUsize");
        path.add_field("AtomicUsize", "v", "UnsafeCell<usize>");
        path.add_field("UnsafeCell<usize>", "value", "usize");
        assert_eq!(path.outside(), "table.count");
        let mut path = fields(true);
        path.add_field("Table", "lock", "Mutex<u32>");
        path.add_field("Mutex<u32>", "inner", "Mutex");
        path.add_field("Mutex", "futex", "AtomicU32");
        assert_eq!(path.outside(), "table.lock");
    }

    #[test]
    fn fields_of_the_same_names_are_shown_in_c() {
        let mut path = fields(false);
        path.add_field("AtomicUsize", "v", "int");
        path.add_index(2);
        assert_eq!(path.outside(), "table.v[2]");
    }

    #[test]
    fn fields_behind_those_of_the_library_are_shown_with_them() {
        let mut path = fields(true);
        path.add_field("Mutex<Data>", "data", "UnsafeCell<Data>");
        path.add_field("UnsafeCell<Data>", "value", "Data");
        path.add_field("Data", "sum", "u64");
        assert_eq!(path.outside(), "table.data.value.sum");
    }
}
