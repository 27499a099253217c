//! A copy of the program's statics before it ran.
//!
//! Inside a check every execution has statics of its own, which start with the bytes from the
//! compiler. A constructor that runs before `main` copies the segment of initialised data: some
//! kilobytes, once for each process. So the initial bytes are available before any use of a static.
//! A value built by a `const` expression owns nothing on the heap, so its bytes may be copied any
//! number of times. Later values of a static are not in the image and never copied.
//!
//! Statics of other shared objects have no image, and on systems other than Linux there is none:
//! such a static is an ordinary value that lives through all executions.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// The start of the segment; not zero at first, so that it is part of the segment itself.
static START: AtomicUsize = AtomicUsize::new(usize::MAX);
static LENGTH: AtomicUsize = AtomicUsize::new(0);
static COPY: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

/// Returns the number of bytes.
pub(crate) fn length() -> usize {
    LENGTH.load(Relaxed)
}

/// Returns the offset in the image of the byte at this address.
#[inline]
pub(crate) fn offset(address: usize) -> Option<usize> {
    let offset = address.wrapping_sub(START.load(Relaxed));
    (offset < LENGTH.load(Relaxed)).then_some(offset)
}

/// Returns the initial bytes of a value in the image, with the value's size and alignment.
pub(crate) fn initial<V: ?Sized>(value: &V) -> Option<*const u8> {
    let offset = offset(std::ptr::from_ref(value).cast::<u8>() as usize)?;
    let fits = size_of_val(value) <= length() - offset && align_of_val(value) <= PAGE;
    // SAFETY: `add` must stay inside of the copy: the offset is less than its length.
    fits.then(|| unsafe { COPY.load(Relaxed).cast_const().add(offset) })
}

/// Maximum alignment that is preserved.
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
        // SAFETY: `look` has the required signature and needs no argument.
        unsafe { libc::dl_iterate_phdr(Some(look), null_mut()) };
    }

    /// Copies the segment with raddle's own statics, if it is in this object.
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        _data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid description with this many headers.
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
                // SAFETY: the segment is loaded, and no other thread runs before `main`.
                unsafe { copy(start, end - start) };
                return 1;
            }
        }
        0
    }

    /// # Safety
    ///
    /// These bytes must be readable.
    unsafe fn copy(start: usize, length: usize) {
        let room = PAGE + length;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: without MAP_FIXED, `mmap` touches no memory that is in use.
        let memory = unsafe { libc::mmap(null_mut(), room, access, kind, -1, 0) };
        if memory == libc::MAP_FAILED {
            return;
        }
        // SAFETY: the mapping has room for the bytes and for less than a page before them; the
        // caller guarantees that the source is readable.
        unsafe {
            let copy = memory.cast::<u8>().add(start % PAGE);
            std::ptr::copy_nonoverlapping(start as *const u8, copy, length);
            COPY.store(copy, Relaxed);
        }
        START.store(start, Relaxed);
        LENGTH.store(length, Relaxed);
    }
}
