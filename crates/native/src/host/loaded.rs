//! The files that the process was loaded from, as the loader describes them.

use std::borrow::Cow;
use std::ffi::{CStr, c_int, c_void};
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

const PAGE: usize = 4096;
/// Folder of files that are not the user's.
pub(crate) const SYSTEM: &str = "/usr/";

/// In this library.
static HERE: u8 = 0;

/// One of them.
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

/// True if there is such a one.
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

    /// The name of its file; empty if it is the program itself.
    pub(crate) fn name(self) -> Cow<'a, str> {
        // SAFETY: the name is a C string of the loader, which lives as long as the module is loaded.
        unsafe { CStr::from_ptr(self.0.dlpi_name) }.to_string_lossy()
    }

    /// Its file.
    pub(crate) fn file(self) -> PathBuf {
        let name = self.name();
        match name.is_empty() {
            true => "/proc/self/exe".into(),
            false => name.as_ref().into(),
        }
    }

    /// Returns the address at which it was loaded.
    pub(crate) fn base(self) -> usize {
        self.0.dlpi_addr as usize
    }

    pub(crate) fn headers(self) -> &'a [libc::Elf64_Phdr] {
        // SAFETY: the loader describes as many headers of a loaded module as it says.
        unsafe { std::slice::from_raw_parts(self.0.dlpi_phdr, self.0.dlpi_phnum.into()) }
    }

    /// The first header of a kind.
    pub(crate) fn header(self, kind: u32) -> Option<&'a libc::Elf64_Phdr> {
        self.headers().iter().find(|header| header.p_type == kind)
    }

    /// Returns the range of one of its segments.
    pub(crate) fn range(self, header: &libc::Elf64_Phdr) -> Range<usize> {
        let start = self.base() + header.p_vaddr as usize;
        start..start + header.p_memsz as usize
    }

    /// The parts of it that are in memory and can be used so.
    fn parts(self, flag: u32) -> impl Iterator<Item = Range<usize>> + 'a {
        let loaded = self
            .headers()
            .iter()
            .filter(move |header| header.p_type == libc::PT_LOAD && header.p_flags & flag != 0);
        loaded.map(move |header| self.range(header))
    }

    /// Its code.
    pub(crate) fn code(self) -> impl Iterator<Item = Range<usize>> + 'a {
        self.parts(libc::PF_X)
    }

    /// Its variables.
    pub(crate) fn variables(self) -> impl Iterator<Item = Range<usize>> + 'a {
        self.parts(libc::PF_W)
    }

    /// Returns the range of its thread-local variables in the block of the calling thread, if it has any there.
    pub(crate) fn thread_local(self) -> Option<usize> {
        let start = self.0.dlpi_tls_data as usize;
        (start != 0).then_some(start)
    }

    /// True if an address is in it.
    pub(crate) fn contains(self, address: usize) -> bool {
        let mut loaded = self.headers().iter();
        loaded.any(|it| it.p_type == libc::PT_LOAD && self.range(it).contains(&address))
    }

    /// True if it is this library.
    pub(crate) fn is_ours(self) -> bool {
        self.contains(&raw const HERE as usize)
    }

    /// True if it is the program or one of its own libraries.
    pub(crate) fn is_users(self) -> bool {
        let name = self.name();
        !self.is_ours() && !name.starts_with(SYSTEM) && !name.starts_with("/lib")
    }

    /// The pages that are read-only since relocation (RELRO).
    pub(crate) fn sealed(self) -> Range<usize> {
        let sealed = self.header(libc::PT_GNU_RELRO);
        sealed.map_or(0..0, |header| {
            let Range { start, end } = self.range(header);
            start & !(PAGE - 1)..end & !(PAGE - 1)
        })
    }
}
