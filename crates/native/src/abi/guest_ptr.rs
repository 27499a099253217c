//! Memory that the program has passed to a function of this library.

use std::ffi::c_char;

/// Address of a `T` that is the program's.
///
/// Values of this type are arguments of functions that the program calls. The contract of each such
/// function obliges its caller to pass the address of a `T`, or null where the function allows it.
/// The caller must leave that memory alone until the function returns. `T` is a type of C in which
/// all bit patterns are valid. A program that breaks the contract faults here as it would in the C
/// library, and the fault is reported as its own.
#[repr(transparent)]
pub(crate) struct GuestPtr<T>(*mut T);

impl<T> Clone for GuestPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for GuestPtr<T> {}

impl<T: Copy> GuestPtr<T> {
    /// Returns the pointer as one to memory of the program's.
    ///
    /// # Safety
    ///
    /// It must be null or satisfy the contract of the type as long as the result is used.
    pub(crate) const unsafe fn new(pointer: *mut T) -> Self {
        GuestPtr(pointer)
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn as_ptr(self) -> *mut T {
        self.0
    }

    /// Returns the value. It need not be aligned.
    #[inline(always)]
    pub(crate) fn read(self) -> T {
        // SAFETY: reading needs a valid value at the address, which the contract of the type
        // promises for an address that is not null. Callers have excluded null, or it is the
        // program's fault.
        unsafe { self.0.read_unaligned() }
    }

    /// Writes the value. It need not be aligned.
    #[inline(always)]
    pub(crate) fn write(self, value: T) {
        // SAFETY: writing needs memory that is valid for writes and that no reference points to. It
        // is the program's, by the contract of the type, and raddle has no references to memory of
        // the program's.
        unsafe { self.0.write_unaligned(value) }
    }

    /// Returns the value, or nothing if the address is null.
    pub(crate) fn get(self) -> Option<T> {
        (!self.is_null()).then(|| self.read())
    }

    /// Writes the value, unless the address is null.
    pub(crate) fn set(self, value: T) {
        if !self.is_null() {
            self.write(value);
        }
    }

    /// Returns the address of another type of value there.
    pub(crate) fn cast<U: Copy>(self) -> GuestPtr<U> {
        GuestPtr(self.0.cast())
    }

    /// Returns the address of the value that is `count` values further, in an array that begins here.
    pub(crate) fn add(self, count: usize) -> Self {
        GuestPtr(self.0.wrapping_add(count))
    }

    /// Returns copies of the values of an array that begins here. An empty one may be at any address.
    pub(crate) fn to_vec(self, count: usize) -> Vec<T> {
        (0..count).map(|index| self.add(index).read()).collect()
    }

    /// Writes the values to an array that begins here.
    pub(crate) fn write_all(self, values: &[T]) {
        for (index, &value) in values.iter().enumerate() {
            self.add(index).write(value);
        }
    }
}

impl GuestPtr<c_char> {
    /// Returns the bytes of a C string, without the zero at its end.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let bytes = (0..).map(|index| self.add(index).read() as u8);
        bytes.take_while(|&byte| byte != 0).collect()
    }

    /// Returns a C string as text.
    pub(crate) fn to_text(self) -> String {
        String::from_utf8_lossy(&self.to_bytes()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer<T: Copy>(values: &mut [T]) -> GuestPtr<T> {
        // SAFETY: the values outlive the use of the pointer in each test here.
        unsafe { GuestPtr::new(values.as_mut_ptr()) }
    }

    #[test]
    fn null_is_neither_read_nor_written() {
        // SAFETY: `new` allows null.
        let null = unsafe { GuestPtr::<u64>::new(std::ptr::null_mut()) };
        assert_eq!(null.get(), None);
        null.set(1);
        assert!(null.to_vec(0).is_empty());
        null.write_all(&[]);
    }

    #[test]
    fn values_need_not_be_aligned() {
        let mut bytes = [0u8; 12];
        let odd = pointer(&mut bytes).add(3).cast::<u64>();
        odd.write(0x0102_0304_0506_0708);
        assert_eq!(odd.get(), Some(0x0102_0304_0506_0708));
        assert_eq!(bytes, [0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn arrays_are_copied_in_order() {
        let mut values = [0u16; 5];
        let array = pointer(&mut values);
        array.add(1).write_all(&[7, 8, 9]);
        assert_eq!(array.to_vec(5), [0, 7, 8, 9, 0]);
        assert_eq!(array.add(2).address() - array.address(), 4);
    }

    #[test]
    fn strings_end_at_the_first_zero() {
        let mut text = *b"caf\xc3\xa9\0rest\0";
        let text = pointer(&mut text).cast::<c_char>();
        assert_eq!(text.to_bytes(), b"caf\xc3\xa9");
        assert_eq!(text.to_text(), "caf\u{e9}");
        assert_eq!(text.add(5).to_bytes(), b"");
    }
}
