use std::collections::BTreeMap;

use super::*;
use crate::random_inputs::Inputs;

fn shadow() -> Shadow {
    let mut shadow = Shadow::empty();
    shadow.stamp = FIRST_STAMP;
    shadow
}

#[test]
fn each_word_has_a_granule_of_its_own() {
    let mut shadow = shadow();
    let mut inputs = Inputs::new(9);
    let mut owners = BTreeMap::new();
    for _ in 0..20_000 {
        // Pages with the same slot among the recent ones replace each other.
        let page = inputs.below(4) as usize * RECENT + inputs.below(3) as usize;
        let word = page * PAGE + inputs.below((PAGE / WORD) as u64) as usize * WORD;
        let granule = shadow.granule(word);
        assert_eq!(*owners.entry(granule).or_insert(word), word);
    }
}

#[test]
fn halves_have_the_past_of_the_whole() {
    let mut shadow = shadow();
    let whole = shadow.granule(0x4000);
    shadow.get(whole).set_write(LastAccess {
        thread: 3,
        index: 40,
        site: 500,
    });
    let mut pieces = vec![(whole, 0x4000, WORD)];
    let mut seen = vec![whole];
    for _ in 0..3 {
        let halves = |(granule, start, size): (*mut Granule, usize, usize)| {
            let first = shadow.split(granule, start, size);
            let half = size / 2;
            [
                (first, start, half),
                (first.wrapping_add(1), start + half, half),
            ]
        };
        pieces = pieces.into_iter().flat_map(halves).collect();
        for &(granule, ..) in &pieces {
            assert!(!seen.contains(&granule), "granules are used once");
            let write = shadow.get(granule).write();
            assert_eq!((write.thread, write.index, write.site), (3, 40, 500));
        }
        seen.extend(pieces.iter().map(|piece| piece.0));
    }
    let starts: Vec<usize> = pieces.iter().map(|piece| piece.1).collect();
    assert_eq!(
        starts,
        (0x4000..0x4008).collect::<Vec<_>>(),
        "down to bytes"
    );
    assert_eq!(
        shadow.split(whole, 0x4000, WORD),
        seen[1],
        "a split granule stays split"
    );
}

#[test]
fn granules_of_the_last_execution_are_empty() {
    let mut shadow = shadow();
    let granule = shadow.granule(64);
    shadow.get(granule).set_read(LastAccess {
        thread: 1,
        index: 2,
        site: 3,
    });
    shadow.split(granule, 64, WORD);
    shadow.stamp += FIRST_STAMP;
    let found = shadow.get(granule);
    assert!(!found.is_split());
    assert_eq!(
        (found.write_thread, found.read_thread),
        (NO_THREAD, NO_THREAD)
    );
}
