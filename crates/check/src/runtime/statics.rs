//! Statics inside a check: every execution has its own.
//!
//! A controlled value is a static if the `image` of the program's data has a value of its kind,
//! built at the same place in the source, where the value is. Then what an execution uses is not
//! the static but a copy of its initial bytes, made at the first use in the execution and dropped
//! when the threads are gone (`sweep.rs`). A value without data (an atomic, a `Condvar`) needs no
//! copy: what it is in the execution is found by where it is. The static itself is not touched, so
//! checks that run side by side, and code outside, never meet in it.
//!
//! Borrows. A guard that somebody kept beyond the execution has the copy locked; such a copy is
//! left alone for ever. `OnceLock` and `LazyLock` hand out borrows that live as long as the static,
//! and nobody can know where they are: they are good until the end of the execution, and the book
//! says so. The memory of a copy is never used for anything but copies of the same static.

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
    /// Whether it hands out borrows of its data that live as long as itself.
    const LENDS: bool;
    /// Whether its data has a destructor.
    const DROPS: bool;

    /// Which one it is in the running execution.
    fn identity(&self) -> &Identity;

    /// Its kind, and where it was made.
    fn made(&self) -> &Made;

    /// Whether a guard of it is around.
    fn is_guarded(&self) -> bool;

    /// It is the copy with this number, and nobody but one execution will use it.
    fn adopt(&mut self, _number: CopyNumber) {}
}

/// Names a copy in a check.
#[derive(Clone, Copy)]
pub struct CopyNumber(usize);

/// The statics that a check has used.
#[derive(Default)]
pub(super) struct Statics {
    /// For every word of the image: one more than the entry of the static that has its identity
    /// there. Empty until the first static is used.
    numbers: Vec<u32>,
    entries: Vec<Entry>,
    /// The entries with copies, those that were made last (for a cell: written last) at the end.
    live: Vec<usize>,
}

struct Entry {
    /// Which location or object it is, in the execution with this stamp.
    thing: (u64, usize),
    copy: Option<PrivateCopy>,
    /// Where its copies are put.
    block: Option<Block>,
}

/// The copy that the running execution uses.
pub(super) struct PrivateCopy {
    /// Where the static is.
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

/// Memory for copies of one static, never given back: somebody may still borrow from it.
#[derive(Clone, Copy)]
struct Block {
    base: *mut u8,
    layout: Layout,
}

// SAFETY: memory that nobody uses while it changes hands.
unsafe impl Send for Block {}

/// Blocks that no check uses at the moment, by the word of the image that has the identity of the static.
static BLOCKS: Mutex<BTreeMap<usize, Vec<Block>>> = Mutex::new(BTreeMap::new());

/// Which word of the image has the identity, if it is that of a value which the compiler built.
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

/// The initial bytes of a static; `None` if the value is not one.
///
/// A value in the image is of the same type as the one that is there now if it is of the same kind
/// and was built at the same place in the source. Where they differ, a program has put another
/// value into a static itself.
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

/// A static as it was before the program ran; `None` if the value is not a static.
#[inline]
pub fn initial<V>(value: &V, identity: &Identity, made: &Made) -> Option<ManuallyDrop<V>> {
    image::offset(identity.address())?;
    let bytes = initial_bytes(value, identity, made)?;
    // SAFETY: these are the bytes of a `V` that a `const` expression built and nobody has used;
    // it is not dropped, and may be copied again.
    Some(unsafe { bytes.cast::<ManuallyDrop<V>>().read() })
}

/// Whether the value with this identity is a static that the compiler built.
#[inline]
pub fn is_static(identity: &Identity) -> bool {
    word(identity).is_some()
}

impl Context {
    /// What the execution uses instead of `value`: a copy of its own if that is a static, else the
    /// value itself.
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
        let number = statics.number(word);
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
        // SAFETY: the copy is a value of this type. It stays where it is until the threads of the
        // execution are gone, and longer if it is guarded; borrows that may be around even then
        // are the business of the program, as the module comment says.
        Some(unsafe { &*with_base(value, copy.block.base) })
    }

    /// A cell that was copied has been written: it may refer to those written before.
    pub fn copy_was_written(&self, CopyNumber(number): CopyNumber) {
        let _aside = alloc::aside();
        let live = &mut self.statics.borrow_mut().live;
        live.retain(|&other| other != number);
        live.push(number);
    }

    /// Which location or object a static is; `register` gives it a number at its first use in the
    /// execution.
    #[cold]
    pub(super) fn static_thing(
        &self,
        identity: &Identity,
        register: impl FnOnce() -> usize,
    ) -> usize {
        let word = word(identity).expect("raddle: not a static");
        let mut statics = self.statics.borrow_mut();
        let number = statics.number(word);
        let thing = &mut statics.entries[number].thing;
        if thing.0 != self.stamp() {
            *thing = (self.stamp(), register());
        }
        thing.1
    }
}

impl Statics {
    /// The entry of the static whose identity is in this word of the image.
    fn number(&mut self, word: usize) -> usize {
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
        // SAFETY: the block has room for the value, nobody uses it, and the bytes are those of a
        // value that nobody has used.
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

    /// The copy to be dropped next, of those with destructors. Locks come first, because cells may
    /// be borrowed by what is in them; cells in the opposite order of their writing.
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

    /// Forgets the copies that are left. With destructors they are left alone for ever.
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

    /// The copy's memory can be used for the next.
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
        // SAFETY: a copy is a live value until it is dropped.
        unsafe { (self.value.is_guarded)(&self.value.pointer) }
    }

    /// # Safety
    ///
    /// The first and last time, with no guard around.
    pub(super) unsafe fn drop_value(&self) {
        // SAFETY: vouched for by the caller.
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
        // SAFETY: pointers consist of one word or two.
        unsafe { erased.as_mut_ptr().cast::<*mut V>().write(pointer) };
        Erased {
            pointer: erased,
            // SAFETY: the pointer is that of a live `V`.
            drop: |erased| unsafe { restore::<V>(erased).drop_in_place() },
            // SAFETY: as above.
            is_guarded: |erased| unsafe { (*restore::<V>(erased)).is_guarded() },
        }
    }
}

/// # Safety
///
/// The pointer must have been one to a `V`.
unsafe fn restore<V: ?Sized>(erased: &[MaybeUninit<*mut u8>; 2]) -> *mut V {
    const { assert!(size_of::<*mut V>() <= 2 * size_of::<*mut u8>()) };
    // SAFETY: vouched for by the caller.
    unsafe { erased.as_ptr().cast::<*mut V>().read() }
}

/// A pointer to a value of the same type, and for unsized types with the same length or methods, at
/// another place.
fn with_base<V: ?Sized>(value: &V, base: *mut u8) -> *mut V {
    let mut pointer = std::ptr::from_ref(value).cast_mut();
    // SAFETY: a pointer to an unsized value begins with the address.
    unsafe { (&raw mut pointer).cast::<*mut u8>().write(base) };
    pointer
}
