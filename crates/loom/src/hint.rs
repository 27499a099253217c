//! Mirrors `std::hint`.

pub use raddle::hint::spin_loop;

/// Panics: the code that calls it must not be reached.
///
/// # Safety
///
/// This function is safe. [`std::hint::unreachable_unchecked`], in place of which it stands, is not.
///
/// # Panics
///
/// Always.
#[track_caller]
pub unsafe fn unreachable_unchecked() -> ! {
    unreachable!("`unreachable_unchecked` was reached")
}
