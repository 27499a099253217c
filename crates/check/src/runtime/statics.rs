//! Statics inside a check: every execution has its own.
//!
//! A controlled value is a static if the `image` of the program's data has a value of its kind at
//! its address, built at the same place in the source. Then an execution uses a copy of its initial
//! bytes instead of the static, made at the first use in the execution and dropped when the threads
//! are gone (`sweep.rs`). A value without data (an atomic, a `Condvar`) needs no copy: its address
//! identifies it in the execution. The static itself is not changed, so parallel checks and code
//! outside never interfere.
//!
//! Borrows. A guard that is kept beyond the execution has the copy locked; such a copy is leaked.
//! `OnceLock` and `LazyLock` return borrows with the static's lifetime, which cannot be tracked:
//! they are valid until the end of the execution, and the book says so. The memory of a copy is
//! reused only for copies of the same static.

use std::alloc::{Layout, handle_alloc_error};
use std::collections::BTreeMap;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::sync::{Mutex, PoisonError};

use super::{Context, Made};
use crate::runtime::alloc;
use crate::runtime::identity::{FRESH, Identity};
use crate::runtime::image;

/// A controlled value with data of the user's.
pub trait Virtual {
    /// True when it returns borrows of its data that live as long as itself.
    const LENDS: bool;
    /// True when its data has a destructor.
    const DROPS: bool;

    /// Returns its identity in the running execution.
    fn identity(&self) -> &Identity;

    /// Returns its kind and its place of creation.
    fn made(&self) -> &Made;

    /// True when a guard of it exists.
    fn is_guarded(&self) -> bool;

    /// Makes it the copy with this number, which only one execution uses.
    fn adopt(&mut self, _number: CopyNumber) {}
}

/// The number of a copy in a check.
#[derive(Clone, Copy)]
pub struct CopyNumber(usize);

/// The statics that a check has used.
#[derive(Default)]
pub(super) struct Statics {
    /// For every word of the image: one more than the entry of the static whose identity is there.
    /// Empty until the first static is used.
    numbers: Vec<u32>,
    entries: Vec<Entry>,
    /// The entries with copies, in the order they were made (cells: last written).
    live: Vec<usize>,
}

struct Entry {
    /// Its location or object in the execution with this stamp.
    thing: (u64, usize),
    copy: Option<PrivateCopy>,
    /// The memory for its copies.
    block: Option<Block>,
}

/// The copy that the running execution uses.
pub(super) struct PrivateCopy {
    /// The address of the static.
    original: usize,
    block: Block,
    value: Erased,
    pub(super) lends: bool,
    pub(super) drops: bool,
}

/// A pointer, thin or not, without its type.
struct Erased {
    pointer: [MaybeUninit<*mut u8>; 2],
    drop: unsafe fn(&[MaybeUninit<*mut u8>; 2]),
    is_guarded: unsafe fn(&[MaybeUninit<*mut u8>; 2]) -> bool,
}

/// Memory for copies of one static, never freed: borrows of it may still exist.
#[derive(Clone, Copy)]
struct Block {
    base: *mut u8,
    layout: Layout,
}

// SAFETY: `Send` needs a value without ties to one thread: the memory is not used while it moves
// between threads.
unsafe impl Send for Block {}

/// Blocks that no check uses at the moment, by the word of the image that has the identity of the
/// static.
static BLOCKS: Mutex<BTreeMap<usize, Vec<Block>>> = Mutex::new(BTreeMap::new());

/// Returns the word of the image with this identity, if the compiler built the value.
#[inline]
fn word(identity: &Identity) -> Option<usize> {
    image::offset(identity.address())?;
    word_of_image(identity)
}

#[cold]
fn word_of_image(identity: &Identity) -> Option<usize> {
    let initial = image::initial(identity)?;
    // SAFETY: an identity is as large as a word and as well aligned.
    let word = unsafe { initial.cast::<u64>().read() };
    let offset = image::offset(identity.address())?;
    (word == FRESH).then_some(offset / size_of::<u64>())
}

/// Returns the initial bytes of a static; `None` if the value is not one.
///
/// A value in the image has the same type as the present one if it is of the same kind and was
/// built at the same place in the source. If they differ, the program has put another value into
/// the static.
#[cold]
fn initial_bytes<V: ?Sized>(value: &V, identity: &Identity, made: &Made) -> Option<*const u8> {
    type Words = [usize; size_of::<Made>() / size_of::<usize>()];
    word(identity)?;
    let initial = image::initial(made)?.cast::<Words>();
    // SAFETY: `Made` consists of pointers and lengths, without padding; both sides are as large as
    // that and aligned.
    let same = unsafe { *initial == *std::ptr::from_ref(made).cast::<Words>() };
    if same { image::initial(value) } else { None }
}

/// Returns a static as it was before the program ran; `None` if the value is not a static.
#[inline]
pub fn initial<V>(value: &V, identity: &Identity, made: &Made) -> Option<ManuallyDrop<V>> {
    image::offset(identity.address())?;
    let bytes = initial_bytes(value, identity, made)?;
    // SAFETY: these are the bytes of a `V` that a `const` expression built and that was never used;
    // it is not dropped, and may be copied again.
    Some(unsafe { bytes.cast::<ManuallyDrop<V>>().read() })
}

/// True when the value with this identity is a static that the compiler built.
#[inline]
pub fn is_static(identity: &Identity) -> bool {
    word(identity).is_some()
}

impl Context {
    /// Returns the execution's own copy if `value` is a static, otherwise `value` itself.
    #[inline]
    pub fn here<'a, V: Virtual + ?Sized>(&self, value: &'a V) -> &'a V {
        let identity = value.identity();
        if identity.is_shared() || image::offset(identity.address()).is_none() {
            return value;
        }
        self.find_copy(value).unwrap_or(value)
    }

    #[cold]
    fn find_copy<'a, V: Virtual + ?Sized>(&self, value: &'a V) -> Option<&'a V> {
        let word = word(value.identity())?;
        let initial = initial_bytes(value, value.identity(), value.made())?;
        let _aside = alloc::aside();
        let mut statics = self.statics.borrow_mut();
        let number = statics.number(word, || self.use_static(value.identity(), *value.made()));
        let copy = match &statics.entries[number].copy {
            Some(copy) => copy,
            None => {
                // SAFETY: these are the initial bytes of a value of this type.
                unsafe { statics.add_copy((word, number), value, initial) }
            }
        };
        assert_eq!(
            copy.original,
            std::ptr::from_ref(value).cast::<u8>() as usize,
            "raddle: two statics in one place"
        );
        // SAFETY: the copy is a value of this type. It stays until the threads of the execution are
        // gone, and longer if it is guarded. Borrows beyond that are the program's responsibility,
        // by the comment of this module.
        Some(unsafe { &*with_base(value, copy.block.base) })
    }

    /// Records a write to a copied cell, which may refer to cells written before.
    pub fn copy_was_written(&self, CopyNumber(number): CopyNumber) {
        let _aside = alloc::aside();
        let live = &mut self.statics.borrow_mut().live;
        live.retain(|&other| other != number);
        live.push(number);
    }

    /// Returns the location or object of a static; `register` assigns it at the first use in the
    /// execution.
    #[cold]
    pub(super) fn static_thing(
        &self,
        identity: &Identity,
        made: Made,
        register: impl FnOnce() -> usize,
    ) -> usize {
        let word = word(identity).expect("raddle: not a static");
        let mut statics = self.statics.borrow_mut();
        let number = statics.number(word, || self.use_static(identity, made));
        let thing = &mut statics.entries[number].thing;
        if thing.0 != self.stamp() {
            *thing = (self.stamp(), register());
        }
        thing.1
    }

    /// Records the first use of a static by the check.
    #[cold]
    fn use_static(&self, identity: &Identity, made: Made) {
        let _aside = alloc::aside();
        if self.intrusions.use_static(identity.address(), made) {
            self.notice_foreign();
        }
    }
}

impl Statics {
    /// Returns the entry of the static whose identity is in this word of the image; `first_use` is
    /// called when there was none.
    fn number(&mut self, word: usize, first_use: impl FnOnce()) -> usize {
        if self.numbers.is_empty() {
            self.numbers = vec![0; image::length() / size_of::<u64>() + 1];
        }
        if self.numbers[word] == 0 {
            self.entries.push(Entry {
                thing: (0, 0),
                copy: None,
                block: None,
            });
            self.numbers[word] = self.entries.len() as u32;
            first_use();
        }
        self.numbers[word] as usize - 1
    }

    /// # Safety
    ///
    /// `initial` must be the initial bytes of `value`.
    unsafe fn add_copy<V: Virtual + ?Sized>(
        &mut self,
        (word, number): (usize, usize),
        value: &V,
        initial: *const u8,
    ) -> &PrivateCopy {
        let layout = Layout::for_value(value);
        let original = std::ptr::from_ref(value).cast::<u8>() as usize;
        let entry = &mut self.entries[number];
        let kept = entry.block.take().filter(|block| block.layout == layout);
        let block = kept.unwrap_or_else(|| Block::take(word, layout));
        // SAFETY: the block has room for the value and is unused, and the bytes are those of a
        // value that was never used.
        let pointer = unsafe {
            std::ptr::copy_nonoverlapping(initial, block.base, layout.size());
            let pointer = with_base(value, block.base);
            (*pointer).adopt(CopyNumber(number));
            pointer
        };
        self.live.push(number);
        entry.copy.insert(PrivateCopy {
            original,
            block,
            value: Erased::new(pointer),
            lends: V::LENDS,
            drops: V::DROPS,
        })
    }

    pub(super) fn has_copies(&self) -> bool {
        !self.live.is_empty()
    }

    /// Takes the next copy with a destructor to drop. Locks come first, because their data may
    /// borrow from cells; cells follow in reverse order of their last write.
    pub(super) fn next_to_drop(&mut self) -> Option<(usize, PrivateCopy)> {
        let position = |lends: bool| {
            self.live.iter().rposition(|&number| {
                let copy = self.entries[number].copy.as_ref();
                copy.is_some_and(|copy| copy.drops && copy.lends == lends)
            })
        };
        let number = position(false).or_else(|| position(true))?;
        let number = self.live.remove(number);
        let copy = self.entries[number].copy.take()?;
        Some((number, copy))
    }

    /// Forgets the remaining copies. Those with destructors are leaked.
    pub(super) fn forget_copies(&mut self) {
        for number in self.live.drain(..) {
            let entry = &mut self.entries[number];
            if let Some(copy) = entry.copy.take()
                && !copy.drops
                && !copy.is_guarded()
            {
                entry.block = Some(copy.block);
            }
        }
    }

    /// Returns the copy's memory for reuse.
    pub(super) fn give_back(&mut self, number: usize, copy: &PrivateCopy) {
        self.entries[number].block = Some(copy.block);
    }
}

impl Drop for Statics {
    fn drop(&mut self) {
        let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        for (word, &number) in self.numbers.iter().enumerate() {
            let entry = number.checked_sub(1).map(|n| &mut self.entries[n as usize]);
            if let Some(block) = entry.and_then(|entry| entry.block.take()) {
                blocks.entry(word).or_default().push(block);
            }
        }
    }
}

impl PrivateCopy {
    pub(super) fn is_guarded(&self) -> bool {
        // SAFETY: the function needs the pointer of a live value: a copy is one until it is
        // dropped.
        unsafe { (self.value.is_guarded)(&self.value.pointer) }
    }

    /// # Safety
    ///
    /// Called once, while no guard exists.
    pub(super) unsafe fn drop_value(&self) {
        // SAFETY: the caller guarantees that the value is alive and not guarded.
        unsafe { (self.value.drop)(&self.value.pointer) }
    }
}

impl Block {
    fn take(word: usize, layout: Layout) -> Self {
        let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = blocks.get_mut(&word).and_then(Vec::pop);
        if let Some(block) = kept.filter(|block| block.layout == layout) {
            return block;
        }
        // SAFETY: every controlled value has an identity, so the size is not zero.
        let base = unsafe { std::alloc::alloc(layout) };
        if base.is_null() {
            handle_alloc_error(layout);
        }
        Block { base, layout }
    }
}

impl Erased {
    fn new<V: Virtual + ?Sized>(pointer: *mut V) -> Self {
        let mut erased = [const { MaybeUninit::uninit() }; 2];
        // SAFETY: the array must have room for the pointer: pointers consist of one word or two.
        unsafe { erased.as_mut_ptr().cast::<*mut V>().write(pointer) };
        Erased {
            pointer: erased,
            // SAFETY: the pointer is that of a live `V`.
            drop: |erased| unsafe { restore::<V>(erased).drop_in_place() },
            // SAFETY: the pointer is that of a `V` that lives until `drop` is called.
            is_guarded: |erased| unsafe { (*restore::<V>(erased)).is_guarded() },
        }
    }
}

/// # Safety
///
/// The pointer must have been one to a `V`.
unsafe fn restore<V: ?Sized>(erased: &[MaybeUninit<*mut u8>; 2]) -> *mut V {
    const { assert!(size_of::<*mut V>() <= 2 * size_of::<*mut u8>()) };
    // SAFETY: the caller guarantees that the pointer was one to a `V`.
    unsafe { erased.as_ptr().cast::<*mut V>().read() }
}

/// Returns a pointer to a value of the same type at another address; for unsized types with the
/// same length or methods.
fn with_base<V: ?Sized>(value: &V, base: *mut u8) -> *mut V {
    let mut pointer = std::ptr::from_ref(value).cast_mut();
    // SAFETY: a pointer to an unsized value begins with the address.
    unsafe { (&raw mut pointer).cast::<*mut u8>().write(base) };
    pointer
}
