//! What the program's statics looked like before it ran.
//!
//! Inside a check every execution has statics of its own, and these start with what the compiler
//! put there. A constructor that runs before `main` keeps a copy of the segment of initialised
//! data: some kilobytes, once for each process. So whatever uses a static, in whatever order, its
//! initial bytes are there. What a `const` expression builds owns nothing on the heap, which is why
//! its bytes may be copied as often as one likes; what is put into a static later is not in the
//! image and never copied.
//!
//! Statics of other shared objects have no image, and on systems other than Linux there is none:
//! such a static is an ordinary value that lives through all executions.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// Where the segment begins; not zero at first, so that it is part of the segment itself.
static START: AtomicUsize = AtomicUsize::new(usize::MAX);
static LENGTH: AtomicUsize = AtomicUsize::new(0);
static COPY: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

/// How many bytes there are.
pub(crate) fn length() -> usize {
    LENGTH.load(Relaxed)
}

/// Where in the image the byte at this address is.
#[inline]
pub(crate) fn offset(address: usize) -> Option<usize> {
    let offset = address.wrapping_sub(START.load(Relaxed));
    (offset < LENGTH.load(Relaxed)).then_some(offset)
}

/// The initial bytes of a value, if it is in the image: as many as the value has, and as well
/// aligned.
pub(crate) fn initial<V: ?Sized>(value: &V) -> Option<*const u8> {
    let offset = offset(std::ptr::from_ref(value).cast::<u8>() as usize)?;
    let fits = size_of_val(value) <= length() - offset && align_of_val(value) <= PAGE;
    // SAFETY: the offset is less than the length of the copy.
    fits.then(|| unsafe { COPY.load(Relaxed).cast_const().add(offset) })
}

/// Alignment is kept up to this.
const PAGE: usize = 4096;

#[cfg(all(target_os = "linux", not(miri)))]
mod constructor {
    use std::ptr::null_mut;

    use super::{COPY, LENGTH, PAGE, Relaxed, START};

    #[used]
    // SAFETY: the section is a list of functions without arguments, run before `main`; `take` is
    // one, and uses nothing of std that needs to be set up.
    #[unsafe(link_section = ".init_array")]
    static TAKE: extern "C" fn() = take;

    extern "C" fn take() {
        // SAFETY: `look` has the right signature and needs no argument.
        unsafe { libc::dl_iterate_phdr(Some(look), null_mut()) };
    }

    /// Copies the segment that has raddle's own statics, if it is in this object.
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        _data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid description, with this many headers.
        let (base, headers) = unsafe {
            let object = &*object;
            let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
            (object.dlpi_addr as usize, headers)
        };
        let own = &raw const START as usize;
        for header in headers {
            let start = base.wrapping_add(header.p_vaddr as usize);
            let end = start.wrapping_add(header.p_filesz as usize);
            if header.p_type == libc::PT_LOAD && (start..end).contains(&own) {
                // Whole words, so that those of the image are those of the segment.
                let start = start.next_multiple_of(8);
                // SAFETY: the segment is loaded, and nobody writes to it yet.
                unsafe { copy(start, end - start) };
                return 1;
            }
        }
        0
    }

    /// # Safety
    ///
    /// These bytes can be read.
    unsafe fn copy(start: usize, length: usize) {
        let room = PAGE + length;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: asks for new memory.
        let memory = unsafe { libc::mmap(null_mut(), room, access, kind, -1, 0) };
        if memory == libc::MAP_FAILED {
            return;
        }
        // SAFETY: there is room for the bytes and less than a page before them; the caller vouches
        // for the source.
        unsafe {
            let copy = memory.cast::<u8>().add(start % PAGE);
            std::ptr::copy_nonoverlapping(start as *const u8, copy, length);
            COPY.store(copy, Relaxed);
        }
        START.store(start, Relaxed);
        LENGTH.store(length, Relaxed);
    }
}
