//! A text is appended to another: take its length, then copy that many letters. Both are under its
//! lock, but not together, and the text may have been shortened in between. Retells the well-known
//! bug of Java's `StringBuffer.append`, also a subject of coverage-guided testing.
//!
//! One preemption, between the length and the copy. The thread that shortens the text lengthens
//! it again, so the copy must fall between the two: a second preemption.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "string_buffer",
    pattern: "takes the length and the contents of a text one after the other",
    buggy: || {
        run(|text| {
            let length = text.lock().unwrap().len();
            let letters = text.lock().unwrap().get(..length).map(<[u8]>::to_vec);
            letters.expect("the text is that long")
        })
    },
    correct: || run(|text| text.lock().unwrap().clone()),
    facts: Facts::new(FailureKind::Panic, 2, 2),
}];

type Text = Mutex<Vec<u8>>;

/// Rewrites the text twice.
fn rewrite(text: &Text) {
    for _ in 0..2 {
        let letters = std::mem::take(&mut *text.lock().unwrap());
        *text.lock().unwrap() = letters;
    }
}

fn run(copy: fn(&Text) -> Vec<u8>) {
    let text = Arc::new(Mutex::new(b"letters".to_vec()));
    crowd(2, &text, move |text, number| match number {
        0 => rewrite(text),
        _ => assert!(copy(text).len() <= 7),
    });
}
