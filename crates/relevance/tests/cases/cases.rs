// What the values of reads can do in Rust; see cases.c.
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

// These are in the other object, so that the compiler knows nothing of their values.
unsafe extern "C" {
    static COUNT: AtomicUsize;
    static mut PLAIN: usize;
    static mut OTHER: usize;
    static mut BYTES: [u8; 16];
}

// decides: PLAIN=B
#[inline(never)]
#[unsafe(no_mangle)]
pub fn decides() {
    unsafe {
        if PLAIN == 7 {
            OTHER = 1;
        }
    }
}

// copies: PLAIN=S
#[inline(never)]
#[unsafe(no_mangle)]
pub fn copies() {
    unsafe { OTHER = PLAIN }
}

// bounds: PLAIN=ABU|ABSU|AB *=S|SU
#[inline(never)]
#[unsafe(no_mangle)]
pub fn bounds() {
    unsafe {
        let bytes = &raw const BYTES;
        OTHER = (*bytes)[PLAIN].into();
    }
}

#[inline(never)]
fn first(values: &[usize; 3]) -> usize {
    values[0]
}

// by_reference: PLAIN=S|SU
#[inline(never)]
#[unsafe(no_mangle)]
pub fn by_reference() {
    unsafe {
        let values = black_box([PLAIN, 2, 3]);
        OTHER = first(&values);
    }
}

// Without optimisation the read is in a function of std.
// counts: COUNT=S|none
#[inline(never)]
#[unsafe(no_mangle)]
pub fn counts() {
    unsafe { COUNT.fetch_add(1, Relaxed) };
}

fn main() {
    decides();
    copies();
    bounds();
    by_reference();
    counts();
}
