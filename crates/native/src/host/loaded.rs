//! The files that the process was loaded from, as the loader describes them.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

const PAGE: usize = 4096;
/// Folder of files that are not the user's.
pub(crate) const SYSTEM: &str = "/usr/";

/// A variable in this library, whose address identifies it.
static HERE: u8 = 0;

/// One loaded file.
#[derive(Clone, Copy)]
pub(crate) struct Module<'a>(&'a libc::dl_phdr_info);

/// Calls the function for each module until it breaks; returns the value that it broke with.
pub(crate) fn find<R>(mut look: impl FnMut(Module<'_>) -> ControlFlow<R>) -> Option<R> {
    struct Search<'a, R> {
        look: &'a mut dyn FnMut(Module<'_>) -> ControlFlow<R>,
        found: Option<R>,
    }
    unsafe extern "C" fn next<R>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a description that is valid during this call, and the search that
        // `dl_iterate_phdr` was called with, which nothing else refers to meanwhile.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<'_, R>>()) };
        match (search.look)(Module::new(info)) {
            ControlFlow::Continue(()) => 0,
            ControlFlow::Break(found) => {
                search.found = Some(found);
                1
            }
        }
    }
    let mut search = Search {
        look: &mut look,
        found: None,
    };
    // SAFETY: the loader calls a function of this type with the search, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(next::<R>), (&raw mut search).cast()) };
    search.found
}

/// True if some module satisfies the predicate.
pub(crate) fn any(is_it: impl Fn(Module<'_>) -> bool) -> bool {
    let found = find(|module| match is_it(module) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_some()
}

/// Returns the address at which the program itself was loaded.
pub(crate) fn program_base() -> Option<usize> {
    find(|module| match module.name().is_empty() {
        true => ControlFlow::Break(module.base()),
        false => ControlFlow::Continue(()),
    })
}

/// Returns the number of modules that the loader has loaded so far, those included that are gone.
pub(crate) fn count_loaded() -> u64 {
    let first = find(|module| ControlFlow::Break(module.0.dlpi_adds));
    first.unwrap_or(0)
}

/// Calls the function for all modules.
pub(crate) fn each(mut look: impl FnMut(Module<'_>)) {
    find(|module| -> ControlFlow<()> {
        look(module);
        ControlFlow::Continue(())
    });
}

impl<'a> Module<'a> {
    /// Wraps the loader's description.
    pub(crate) fn new(info: &'a libc::dl_phdr_info) -> Self {
        Module(info)
    }

    /// Returns the name of the file; empty for the program itself.
    pub(crate) fn name(self) -> Cow<'a, str> {
        // SAFETY: the name is a C string of the loader, which lives as long as the module is loaded.
        unsafe { CStr::from_ptr(self.0.dlpi_name) }.to_string_lossy()
    }

    /// Returns the path of the file.
    pub(crate) fn file(self) -> PathBuf {
        let name = self.name();
        match name.is_empty() {
            true => "/proc/self/exe".into(),
            false => name.as_ref().into(),
        }
    }

    /// Returns the address at which the module was loaded.
    pub(crate) fn base(self) -> usize {
        self.0.dlpi_addr as usize
    }

    pub(crate) fn headers(self) -> &'a [libc::Elf64_Phdr] {
        // SAFETY: the slice needs `dlpi_phnum` valid headers, which the loader provides for a
        // loaded module.
        unsafe { std::slice::from_raw_parts(self.0.dlpi_phdr, self.0.dlpi_phnum.into()) }
    }

    /// Returns the first header of this kind.
    pub(crate) fn header(self, kind: u32) -> Option<&'a libc::Elf64_Phdr> {
        self.headers().iter().find(|header| header.p_type == kind)
    }

    /// Returns the range of one of the module's segments.
    pub(crate) fn range(self, header: &libc::Elf64_Phdr) -> Range<usize> {
        let start = self.base() + header.p_vaddr as usize;
        start..start + header.p_memsz as usize
    }

    /// Returns the ranges of the loaded segments with this flag.
    fn parts(self, flag: u32) -> impl Iterator<Item = Range<usize>> + 'a {
        let loaded = self
            .headers()
            .iter()
            .filter(move |header| header.p_type == libc::PT_LOAD && header.p_flags & flag != 0);
        loaded.map(move |header| self.range(header))
    }

    /// Returns the ranges of the module's code.
    pub(crate) fn code(self) -> impl Iterator<Item = Range<usize>> + 'a {
        self.parts(libc::PF_X)
    }

    /// Returns the ranges of the module's variables.
    pub(crate) fn variables(self) -> impl Iterator<Item = Range<usize>> + 'a {
        self.parts(libc::PF_W)
    }

    /// Returns the start of the module's thread-local variables in the block of the calling thread,
    /// if it has any there.
    pub(crate) fn thread_local(self) -> Option<usize> {
        let start = self.0.dlpi_tls_data as usize;
        (start != 0).then_some(start)
    }

    /// Returns the entries of its dynamic section with this tag.
    fn dynamic(self, tag: u64) -> impl Iterator<Item = usize> + 'a {
        let section = self.header(libc::PT_DYNAMIC);
        let section = section.map_or(0..0, |header| self.range(header));
        let entries = section.step_by(size_of::<[u64; 2]>()).map(|at| {
            // SAFETY: the section is mapped and readable as long as the module is loaded, and consists of pairs
            // of a tag and a value.
            unsafe { (at as *const [u64; 2]).read() }
        });
        let entries = entries.take_while(|&[tag, _]| tag != 0);
        entries.filter_map(move |[it, value]| (it == tag).then_some(value as usize))
    }

    /// Returns the text of each entry of its dynamic section with this tag.
    fn texts(self, tag: u64) -> impl Iterator<Item = Cow<'a, str>> + 'a {
        const STRINGS: u64 = 5;
        let strings = self.dynamic(STRINGS).next().unwrap_or(0);
        // The loader has made it an address, unless the section is read-only.
        let strings = match strings < self.base() {
            true => self.base() + strings,
            false => strings,
        };
        self.dynamic(tag).map(move |offset| {
            // SAFETY: the entry is the offset of a C string in the table of strings, which is mapped as long as
            // the module is loaded.
            unsafe { CStr::from_ptr((strings + offset) as *const c_char) }.to_string_lossy()
        })
    }

    /// Returns the names of the libraries that it needs.
    pub(crate) fn needs(self) -> impl Iterator<Item = Cow<'a, str>> + 'a {
        const NEEDED: u64 = 1;
        self.texts(NEEDED)
    }

    /// Returns the name by which others need it.
    pub(crate) fn library_name(self) -> String {
        const NAME: u64 = 14;
        let name = self.texts(NAME).next();
        let file = || {
            self.name()
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        name.map_or_else(file, Cow::into_owned)
    }

    /// Returns its functions that run when it is unloaded, in that order; [`Self::last_destructor`] follows.
    pub(crate) fn destructors(self) -> Vec<usize> {
        const ARRAY: u64 = 26;
        const ARRAY_SIZE: u64 = 28;
        let (array, size) = (self.dynamic(ARRAY).next(), self.dynamic(ARRAY_SIZE).next());
        let array = array.map_or(0, |array| self.base() + array);
        let words = (0..size.unwrap_or(0)).step_by(size_of::<usize>());
        let function = |offset| {
            // SAFETY: the array is mapped and readable as long as the module is loaded, and as large as it says.
            unsafe { ((array + offset) as *const usize).read() }
        };
        words.rev().map(function).collect()
    }

    /// Returns the function that runs last when it is unloaded.
    pub(crate) fn last_destructor(self) -> Option<usize> {
        const LAST: u64 = 13;
        self.dynamic(LAST).next().map(|last| self.base() + last)
    }

    /// Returns the range from its first segment to the end of its last one.
    pub(crate) fn extent(self) -> Range<usize> {
        let loaded = || {
            self.headers()
                .iter()
                .filter(|it| it.p_type == libc::PT_LOAD)
        };
        let start = loaded().map(|it| self.range(it).start).min();
        let end = loaded().map(|it| self.range(it).end).max();
        start.unwrap_or(0)..end.unwrap_or(0)
    }

    /// True if the address is in the module.
    pub(crate) fn contains(self, address: usize) -> bool {
        let mut loaded = self.headers().iter();
        loaded.any(|it| it.p_type == libc::PT_LOAD && self.range(it).contains(&address))
    }

    /// True if the module is this library.
    pub(crate) fn is_ours(self) -> bool {
        self.contains(&raw const HERE as usize)
    }

    /// True if the module is the program or one of its own libraries.
    pub(crate) fn is_users(self) -> bool {
        let name = self.name();
        !self.is_ours() && !name.starts_with(SYSTEM) && !name.starts_with("/lib")
    }

    /// Returns the range of the pages that are read-only since relocation (RELRO).
    pub(crate) fn sealed(self) -> Range<usize> {
        let sealed = self.header(libc::PT_GNU_RELRO);
        sealed.map_or(0..0, |header| {
            let Range { start, end } = self.range(header);
            start & !(PAGE - 1)..end & !(PAGE - 1)
        })
    }
}
