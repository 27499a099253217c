//! Names of addresses, read from the debug information and the symbols of the loaded files when a story is
//! printed.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use addr2line::{Loader, demangle, gimli};
use object::{Object, ObjectSymbol, SymbolKind};

use super::rust_paths;
use super::types::Types;
use crate::engine::Place;
use crate::host::loaded;

/// A file that the process was loaded from.
struct Module {
    lines: Option<Loader>,
    /// Size, name and kind of each variable and function, by address in the file.
    symbols: BTreeMap<u64, (u64, String, SymbolKind)>,
    types: Option<Types>,
}

/// Modules by the address at which they were loaded.
static MODULES: Mutex<BTreeMap<usize, Module>> = Mutex::new(BTreeMap::new());

/// Module of an address: its base and its file.
struct Found {
    base: usize,
    file: PathBuf,
    is_ours: bool,
}

fn find(address: usize) -> Option<Found> {
    loaded::find(|module| match module.contains(address) {
        true => ControlFlow::Break(Found {
            base: module.base(),
            file: module.file(),
            is_ours: module.is_ours(),
        }),
        false => ControlFlow::Continue(()),
    })
}

impl Module {
    fn read(file: &PathBuf) -> Self {
        Module {
            lines: Loader::new(file).ok(),
            symbols: read_symbols(file).unwrap_or_default(),
            types: Types::read(file),
        }
    }
}

fn read_symbols(file: &PathBuf) -> Option<BTreeMap<u64, (u64, String, SymbolKind)>> {
    let data = std::fs::read(file).ok()?;
    let object = object::File::parse(&*data).ok()?;
    // Symbols without a size mark positions and are not variables.
    let symbols = object
        .symbols()
        .filter(|symbol| symbol.is_definition() && symbol.size() > 0);
    let named = symbols.filter_map(|symbol| {
        let name = symbol.name().ok()?;
        Some((
            symbol.address(),
            (symbol.size(), called(name, symbol.kind()), symbol.kind()),
        ))
    });
    Some(named.collect())
}

/// Returns the part of a name that is in the source.
fn before_dot(name: &str) -> Option<String> {
    // Critical sections of OpenMP; one need not have a name.
    if let Some(section) = name.strip_prefix(".gomp_critical_user_") {
        let section = section.split('.').next().filter(|it| !it.is_empty());
        return Some(section.unwrap_or("unnamed").to_owned());
    }
    name.split_once('.').map(|(name, _)| name.to_owned())
}

/// Returns the name of a symbol in stories. A static of Rust's is named without its path.
fn called(name: &str, kind: SymbolKind) -> String {
    let is_rust = name.starts_with("_R") || name.starts_with("_ZN") && name.contains("17h");
    let whole = demangled(name);
    match whole.rsplit_once("::") {
        Some((_, last)) if is_rust && kind == SymbolKind::Data => last.to_owned(),
        _ => whole,
    }
}

/// Returns the name as in the source. Some short names of C would be names of types in C++, and
/// many names of C++ have the form of Rust's.
fn demangled(name: &str) -> String {
    let language = match name.starts_with("_Z") && !name.contains("17h") {
        true => gimli::DW_LANG_C_plus_plus,
        false => gimli::DW_LANG_Rust,
    };
    let plain = match name.starts_with("_Z") || name.starts_with("_R") {
        true => demangle(name, language),
        // Static variables of functions have a number behind their name.
        false => before_dot(name),
    };
    let plain = plain.unwrap_or_else(|| name.to_owned());
    plain.replace("(anonymous namespace)::", "")
}

/// Calls the function with the module of an address, and the address in its file. This library is
/// left out: no story is about it, and its debug information may be large.
fn with_module<R>(address: usize, look: impl FnOnce(&Module, u64) -> Option<R>) -> Option<R> {
    let found = find(address).filter(|found| !found.is_ours)?;
    let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    let module = modules
        .entry(found.base)
        .or_insert_with(|| Module::read(&found.file));
    look(module, (address - found.base) as u64)
}

/// Returns the file of the module that contains the address.
pub(crate) fn file(address: usize) -> Option<PathBuf> {
    Some(find(address)?.file)
}

/// Returns the base of the module that contains the address.
pub(crate) fn base(address: usize) -> Option<usize> {
    Some(find(address)?.base)
}

/// Returns the name of the address's file and the offset in it.
pub(crate) fn offset(address: usize) -> Option<String> {
    let found = find(address)?;
    let name = found.file.file_name()?.to_string_lossy();
    Some(format!("{name}+{:#x}", address - found.base))
}

/// A function around an instruction, and the place of the instruction.
pub(crate) struct SourceFrame {
    pub(crate) function: String,
    pub(crate) place: Place,
    pub(crate) is_users: bool,
}

/// Returns the functions around the call with this return address: the one that contains the
/// instruction, then those that were inlined into it, the innermost last.
pub(crate) fn frames(code: usize) -> Vec<SourceFrame> {
    let found = code.checked_sub(1).and_then(|code| {
        with_module(code, |module, address| {
            let mut frames = module.lines.as_ref()?.find_frames(address).ok()?;
            let mut list = Vec::new();
            // Begins with the function that was inlined last.
            while let Ok(Some(frame)) = frames.next() {
                let name = frame
                    .function
                    .and_then(|name| Some(name.demangle().ok()?.into_owned()));
                let Some(location) = frame.location else {
                    continue;
                };
                let Some(file) = location.file else {
                    continue;
                };
                list.push(SourceFrame {
                    function: short(&name.unwrap_or_else(|| "?".to_owned())),
                    place: Place {
                        file: shorten(file),
                        line: location.line.unwrap_or(0),
                        column: location.column.unwrap_or(1),
                    },
                    is_users: !file.starts_with(loaded::SYSTEM) && !is_rusts(file),
                });
            }
            list.reverse();
            Some(list)
        })
    });
    found.unwrap_or_default()
}

/// True if a file is one of Rust's standard library, precompiled or installed as source.
fn is_rusts(file: &str) -> bool {
    file.starts_with("/rustc/") || file.contains("/rustlib/src/rust/")
}

/// Returns the name of a function without the types of its arguments and of templates.
fn short(name: &str) -> String {
    // A method of Rust's, with its type or trait.
    if name.starts_with('<') {
        return rust_paths::path(name);
    }
    let mut depth = 0;
    let mut text = String::new();
    for c in name.replace("(anonymous namespace)::", "").chars() {
        match c {
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            '(' if depth == 0 && !text.is_empty() => break,
            _ if depth == 0 => text.push(c),
            _ => {}
        }
    }
    text
}

/// Returns the path relative to the working folder.
fn shorten(file: &str) -> String {
    // The name of every step of an execution is made with it.
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| std::env::current_dir().unwrap_or_default());
    let path = Path::new(file);
    let short = path.strip_prefix(folder).unwrap_or(path);
    short.display().to_string()
}

fn symbol(module: &Module, address: u64, kind: SymbolKind) -> Option<(u64, &str)> {
    let (start, (size, name, found)) = module.symbols.range(..=address).next_back()?;
    let offset = address - start;
    (*found == kind && offset < *size).then_some((offset, name))
}

/// Returns the variable of a file at an address, with the field or element there.
pub(crate) fn variable(address: usize) -> Option<String> {
    with_module(address, |module, address| {
        let (offset, name) = symbol(module, address, SymbolKind::Data)?;
        let types = module.types.as_ref();
        let (path, rest) = types
            .and_then(|types| types.part(address - offset, offset))
            .unwrap_or((String::new(), offset));
        Some(match rest {
            0 => format!("{name}{path}"),
            _ => format!("{name}{path}+{rest}"),
        })
    })
}

/// Returns the local variable at this offset from the end of the function's frame, and the
/// function.
pub(crate) fn local(function: usize, offset: i64) -> Option<String> {
    with_module(function, |module, function| {
        let (inside, owner) = symbol(module, function, SymbolKind::Text)?;
        let (name, rest) = module.types.as_ref()?.local(function - inside, offset)?;
        let rest = if rest == 0 {
            String::new()
        } else {
            format!("+{rest}")
        };
        Some(format!("{name}{rest} in {}", short(owner)))
    })
}

/// Returns the range and name of each function of the program whose name contains `part`. Reads
/// only the symbols.
pub(crate) fn functions(part: &str) -> Vec<(Range<usize>, String)> {
    let read = || {
        let data = std::fs::read("/proc/self/exe").ok()?;
        let object = object::File::parse(&*data).ok()?;
        let symbols = object.symbols().filter(|it| it.kind() == SymbolKind::Text);
        let base = loaded::program_base()? as u64;
        let found = symbols.filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| name.contains(part))?;
            let start = (base + symbol.address()) as usize;
            Some((start..start + symbol.size() as usize, demangled(name)))
        });
        Some(found.collect())
    };
    read().unwrap_or_default()
}

/// Returns the name of the function at an address.
pub(crate) fn function(address: usize) -> Option<String> {
    with_module(address, |module, address| {
        let (_, name) = symbol(module, address, SymbolKind::Text)?;
        Some(short(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(demangled("counter"), "counter");
        assert_eq!(demangled("_ZN5table4lockEv"), "table::lock()");
        assert_eq!(demangled("_ZN12_GLOBAL__N_14slotE"), "slot");
        // Short names of C would be types in C++.
        assert_eq!(demangled("i"), "i");
        assert_eq!(demangled("v"), "v");
        // A static of a function of C.
        assert_eq!(demangled("seen.3"), "seen");
    }

    #[test]
    fn names_of_rust_are_read_in_both_manglings() {
        let legacy = "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE";
        assert!(demangled(legacy).starts_with("core::fmt::Write::write_fmt"));
        assert_eq!(
            called("_RNvCs1234_7mycrate7COUNTER", SymbolKind::Data),
            "COUNTER"
        );
        let function = called("_RNvCs1234_7mycrate3run", SymbolKind::Text);
        assert!(
            function.ends_with("::run") && function.starts_with("mycrate"),
            "{function}"
        );
    }

    #[test]
    fn critical_sections_have_the_name_in_the_directive() {
        assert_eq!(
            before_dot(".gomp_critical_user_table.var").as_deref(),
            Some("table")
        );
        assert_eq!(
            before_dot(".gomp_critical_user_.var").as_deref(),
            Some("unnamed")
        );
        assert_eq!(before_dot("plain"), None);
    }
}
