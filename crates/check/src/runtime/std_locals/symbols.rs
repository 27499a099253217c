//! The thread-local variables of the program, by the symbols of its executable.
//!
//! The loader gives the calling OS thread's block of the object that raddle is part of; the executable's table
//! of symbols gives name, offset and size of each variable in it. Variables of the standard library, of raddle
//! and of its coroutines are left out: they belong to the OS thread. A stripped executable has no names, and
//! on systems other than Linux there is no block.

use std::ops::Range;

use super::Block;

/// A thread-local variable of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Variable {
    /// Its offsets in the block.
    pub(super) bytes: Range<usize>,
    /// Its path in the source.
    pub(super) name: String,
}

/// Crates whose thread-locals belong to the OS thread.
const OF_THE_SUBSTRATE: [&str; 13] = [
    "std",
    "core",
    "alloc",
    "test",
    "proc_macro",
    "corosensei",
    "raddle",
    "raddle_check",
    "raddle_engine",
    "raddle_native",
    "raddle_report",
    "raddle_runs",
    "raddle_settings",
];

/// Name of the variable that std's macro makes inside of the user's one, in present and earlier versions.
const INNER: [&str; 2] = ["__RUST_STD_INTERNAL_VAL", "VAL"];

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
pub(super) use linux::{block, read};

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
pub(super) fn block() -> Option<Block> {
    None
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
pub(super) fn read() -> Option<Vec<Variable>> {
    None
}

/// Returns the source path of a variable of the user's; `None` for other symbols.
fn name(symbol: &str) -> Option<String> {
    let mut path = match symbol.strip_prefix("_ZN") {
        Some(legacy) => legacy_path(legacy)?,
        None => path_of_v0(symbol.strip_prefix("_R")?)?,
    };
    if path.last().is_some_and(|last| INNER.contains(last)) {
        path.pop();
    }
    let krate = path.first()?;
    (!OF_THE_SUBSTRATE.contains(krate)).then(|| path.join("::"))
}

/// Splits a path of the older mangling: lengths and names, then a hash and `E`. Closures and constants, which
/// have no name in the source, are left out.
fn legacy_path(mut rest: &str) -> Option<Vec<&str>> {
    let mut path = Vec::new();
    while !rest.starts_with('E') {
        path.push(identifier(&mut rest, "")?);
    }
    path.pop()?;
    path.retain(|name| !name.starts_with("_$u7b$$u7b$"));
    Some(path)
}

/// Splits a path of the newer mangling that consists of modules, functions, closures and constants.
fn path_of_v0(mut symbol: &str) -> Option<Vec<&str>> {
    fn path<'a>(rest: &mut &'a str, names: &mut Vec<&'a str>) -> Option<()> {
        let kind = rest.chars().next()?;
        *rest = &rest[1..];
        match kind {
            'C' => {}
            'N' => {
                *rest = rest.get(1..)?;
                path(rest, names)?;
            }
            _ => return None,
        }
        if let Some(number) = rest.strip_prefix('s') {
            *rest = &number[number.find('_')? + 1..];
        }
        // Before a name that begins with `_` or a digit; not for names outside ASCII.
        let name = identifier(rest, "_")?;
        if !name.is_empty() {
            names.push(name);
        }
        Some(())
    }
    let mut names = Vec::new();
    path(&mut symbol, &mut names)?;
    Some(names)
}

/// Takes a length and a name of this length, with what is between them.
fn identifier<'a>(rest: &mut &'a str, separator: &str) -> Option<&'a str> {
    // A length does not begin with 0, except 0 itself.
    let digits = match rest.starts_with('0') {
        true => 1,
        false => rest.find(|it: char| !it.is_ascii_digit())?,
    };
    let length = rest[..digits].parse().ok()?;
    let text = &rest[digits..];
    let text = match length {
        0 => text,
        _ => text.strip_prefix(separator).unwrap_or(text),
    };
    *rest = text.get(length..)?;
    Some(&text[..length])
}

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
mod linux {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    use super::{Block, Variable, name};

    /// An address in the object that raddle is part of.
    static OWN: u8 = 1;

    /// Returns the block of the calling OS thread.
    pub(in super::super) fn block() -> Option<Block> {
        let mut found: Option<Block> = None;
        // SAFETY: `look` has the required signature, and its argument is valid during the call.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        found
    }

    /// Stores the block of the object with raddle's own statics, if that is the executable.
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        found: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid description with this many headers.
        let (object, headers) = unsafe {
            let object = &*object;
            let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
            (object, headers)
        };
        let own = &raw const OWN as usize;
        let is_own = headers.iter().any(|header| {
            let start = (object.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
            header.p_type == libc::PT_LOAD && own.wrapping_sub(start) < header.p_memsz as usize
        });
        // SAFETY: a name, if there is one, is a text that ends with zero.
        let has_name = !object.dlpi_name.is_null() && unsafe { *object.dlpi_name } != 0;
        let mut segments = headers.iter();
        let segment = segments.find(|header| header.p_type == libc::PT_TLS);
        if let Some(segment) = segment
            && is_own
            && !has_name
            && !object.dlpi_tls_data.is_null()
        {
            let image = (object.dlpi_addr as usize).wrapping_add(segment.p_vaddr as usize);
            let block = Block {
                start: object.dlpi_tls_data.cast_const().cast(),
                length: segment.p_memsz as usize,
                image: image as *const u8,
                image_length: segment.p_filesz as usize,
            };
            // SAFETY: the caller passes an `Option<Block>`.
            unsafe { *found.cast::<Option<Block>>() = Some(block) };
        }
        libc::c_int::from(is_own)
    }

    /// The size of a section's header and of a symbol in a file of 64 bits.
    const SECTION: usize = 64;
    const SYMBOL: usize = 24;
    const SYMBOL_TABLE: u32 = 2;
    const THREAD_LOCAL: u8 = 6;
    /// A longer name than this is not read.
    const LONGEST: usize = 4_096;

    /// Reads the variables of the running executable.
    pub(in super::super) fn read() -> Option<Vec<Variable>> {
        let file = File::open("/proc/self/exe").ok()?;
        let mut header = [0; 64];
        file.read_exact_at(&mut header, 0).ok()?;
        let count = u16::from_ne_bytes(header[0x3c..0x3e].try_into().ok()?);
        let mut sections = vec![0; usize::from(count) * SECTION];
        file.read_exact_at(&mut sections, long(&header, 0x28))
            .ok()?;
        let section = |index: usize| sections.get(index * SECTION..(index + 1) * SECTION);
        let range = |section: &[u8]| {
            let start = usize::try_from(long(section, 0x18)).ok()?;
            Some(start..start.checked_add(usize::try_from(long(section, 0x20)).ok()?)?)
        };
        let mut sections = (0..count.into()).filter_map(section);
        let symbols = sections.find(|section| int(section, 4) == SYMBOL_TABLE)?;
        let names = range(section(int(symbols, 0x28) as usize)?)?;
        let symbols = range(symbols)?;
        let mapped = Mapped::of(&file)?;
        let (symbols, names) = (mapped.bytes().get(symbols)?, mapped.bytes().get(names)?);
        let (symbols, _) = symbols.as_chunks::<SYMBOL>();
        let is_thread_local = |symbol: &&[u8; SYMBOL]| symbol[4] & 0xf == THREAD_LOCAL;
        let variable = |symbol: &[u8; SYMBOL]| {
            let text = names.get(int(symbol, 0) as usize..)?;
            let text = &text[..text.len().min(LONGEST)];
            let text = text.split(|&byte| byte == 0).next()?;
            let offset = long(symbol, 8) as usize;
            Some(Variable {
                bytes: offset..offset + long(symbol, 16) as usize,
                name: name(std::str::from_utf8(text).ok()?)?,
            })
        };
        let symbols = symbols.iter().filter(is_thread_local);
        Some(symbols.filter_map(variable).collect())
    }

    /// The executable's file, mapped. To copy the table of symbols cost more than to search it: a page fault for each
    /// page of the copy.
    struct Mapped {
        start: *mut libc::c_void,
        length: usize,
    }

    impl Mapped {
        fn of(file: &File) -> Option<Mapped> {
            let length = usize::try_from(file.metadata().ok()?.len()).ok()?;
            // SAFETY: without MAP_FIXED, `mmap` touches no memory that is in use.
            let start = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    length,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE,
                    file.as_raw_fd(),
                    0,
                )
            };
            (start != libc::MAP_FAILED).then_some(Mapped { start, length })
        }

        fn bytes(&self) -> &[u8] {
            // SAFETY: the mapping has this length and lives as long as `self`. The file does not change: the code that
            // runs is mapped from it as well.
            unsafe { std::slice::from_raw_parts(self.start.cast(), self.length) }
        }
    }

    impl Drop for Mapped {
        fn drop(&mut self) {
            // SAFETY: the mapping is this value's own, and no reference to its bytes outlives it.
            unsafe { libc::munmap(self.start, self.length) };
        }
    }

    fn int(bytes: &[u8], at: usize) -> u32 {
        let bytes = bytes[at..at + 4].try_into();
        u32::from_ne_bytes(bytes.expect("four bytes"))
    }

    fn long(bytes: &[u8], at: usize) -> u64 {
        let bytes = bytes[at..at + 8].try_into();
        u64::from_ne_bytes(bytes.expect("eight bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_both_manglings() {
        for (symbol, path) in [
            (
                "_ZN1a5inner4LAZY29_$u7b$$u7b$constant$u7d$$u7d$28_$u7b$$u7b$closure$u7d$$u7d$\
                 23__RUST_STD_INTERNAL_VAL17h20e929589e8627c8E",
                Some("a::inner::LAZY"),
            ),
            (
                "_ZN1a1f5LOCAL29_$u7b$$u7b$constant$u7d$$u7d$28_$u7b$$u7b$closure$u7d$$u7d$\
                 23__RUST_STD_INTERNAL_VAL17h1e0672e3d8e0be97E",
                Some("a::f::LOCAL"),
            ),
            (
                "_RNvNCNKNvCs6xxl1lAjzDf_1a8CONSTANT0s_023___RUST_STD_INTERNAL_VAL",
                Some("a::CONSTANT"),
            ),
            (
                "_RNvNCNKNvNtCs6xxl1lAjzDf_1a5inner4LAZY0023___RUST_STD_INTERNAL_VAL",
                Some("a::inner::LAZY"),
            ),
            (
                "_RNvNCNKNvNvCs6xxl1lAjzDf_1a1f5LOCAL0s_023___RUST_STD_INTERNAL_VAL",
                Some("a::f::LOCAL"),
            ),
            (
                "_RNvNtNtNtNtCsjrHSEGnQ3l9_3std3sys12thread_local11destructors4list5DTORS",
                None,
            ),
            (
                "_RNvNCNKNvNtNtCsjrHSEGnQ3l9_3std9panicking11panic_count17LOCAL_PANIC_COUNT0s_0\
                 23___RUST_STD_INTERNAL_VAL",
                None,
            ),
            (
                "_ZN12raddle_check7runtime7CURRENT17h0123456789abcdefE",
                None,
            ),
            ("errno", None),
            ("_ZN9", None),
            ("_RNv", None),
        ] {
            assert_eq!(name(symbol).as_deref(), path, "{symbol}");
        }
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
    #[test]
    fn the_block_of_this_thread_holds_its_variables() {
        thread_local!(static MINE: std::cell::Cell<u64> = const { std::cell::Cell::new(7) });
        let block = block().expect("there is one");
        let address = MINE.with(|mine| mine.as_ptr() as usize);
        let offset = address - block.start as usize;
        assert!(offset < block.length);
        // This crate is left out.
        let variables = read().expect("the executable has symbols");
        assert!(variables.iter().all(|it| !it.bytes.contains(&offset)));
        let (mut now, mut initial) = (Vec::new(), Vec::new());
        MINE.set(8);
        block.copy(&mut now);
        block.copy_initial(&mut initial);
        assert_eq!((now.len(), now[offset]), (initial.len(), 8));
        assert_eq!(initial[offset], 7);
    }
}
