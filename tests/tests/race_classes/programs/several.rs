//! Programs with a multi-data block race.

use raddle::FailureKind::MultiDataBlockRace;
use raddle::atomic_block as block;

use super::super::world::World;
use super::Program;
use super::parts::{deposit_in_two, nothing, pair, put, sum, transfer, unless};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "a transfer between two locked values",
        kind: MultiDataBlockRace,
        race: "A writes x, B reads x, B reads y, A writes y",
        first: |w| w.set('x', 10),
        parts: &[transfer::<'x', 'y'>, sum::<'x', 'y'>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                transfer::<'x', 'y'>(w)
            },
            |w| {
                let _m = w.hold('m');
                sum::<'x', 'y'>(w)
            },
        ],
        last: nothing,
    },
    Program {
        name: "a transfer between two atomics",
        kind: MultiDataBlockRace,
        race: "A writes a, B reads a, B reads b, A writes b",
        first: |w| w.set('a', 10),
        parts: &[transfer::<'a', 'b'>, sum::<'a', 'b'>],
        twin: &[
            |w| {
                let _n = w.hold('n');
                transfer::<'a', 'b'>(w)
            },
            |w| {
                let _n = w.hold('n');
                sum::<'a', 'b'>(w)
            },
        ],
        last: nothing,
    },
    Program {
        name: "a point that is moved",
        kind: MultiDataBlockRace,
        race: "A writes u, B reads u, B reads v, A writes v",
        first: nothing,
        parts: &[put::<'u', 'v', 1>, pair::<'u', 'v'>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                put::<'u', 'v', 1>(w)
            },
            |w| {
                let _m = w.hold('m');
                pair::<'u', 'v'>(w)
            },
        ],
        last: nothing,
    },
    Program {
        name: "a point that is moved, under locks that nest",
        kind: MultiDataBlockRace,
        race: "A writes x, B reads x, B reads y, A writes y",
        first: nothing,
        parts: &[put::<'x', 'y', 1>, pair::<'x', 'y'>],
        twin: &[
            |w| {
                block!("put", {
                    let (mut x, mut y) = (w.lock('x'), w.lock('y'));
                    (*x, *y) = (1, 1);
                });
            },
            |w| {
                block!("pair", {
                    let (x, y) = (w.lock('x'), w.lock('y'));
                    (*x, *y)
                });
            },
        ],
        last: nothing,
    },
    Program {
        name: "two writers of two locked values",
        kind: MultiDataBlockRace,
        race: "A writes x, B writes x, B writes y, A writes y",
        first: nothing,
        parts: &[put::<'x', 'y', 1>, put::<'x', 'y', 2>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                put::<'x', 'y', 1>(w)
            },
            |w| {
                let _m = w.hold('m');
                put::<'x', 'y', 2>(w)
            },
        ],
        last: |w| both(w, ['x', 'y']),
    },
    Program {
        name: "two writers of two atomics",
        kind: MultiDataBlockRace,
        race: "A writes a, B writes a, B writes b, A writes b",
        first: nothing,
        parts: &[put::<'a', 'b', 1>, put::<'a', 'b', 2>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                put::<'a', 'b', 1>(w)
            },
            |w| {
                let _m = w.hold('m');
                put::<'a', 'b', 2>(w)
            },
        ],
        last: |w| both(w, ['a', 'b']),
    },
    Program {
        name: "two who give way to each other, under locks",
        kind: MultiDataBlockRace,
        race: "A reads x, B reads y, B writes x, A writes y",
        first: nothing,
        parts: &[unless::<'x', 'y'>, unless::<'y', 'x'>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                unless::<'x', 'y'>(w)
            },
            |w| {
                let _m = w.hold('m');
                unless::<'y', 'x'>(w)
            },
        ],
        last: nothing,
    },
    Program {
        name: "two who give way to each other, with atomics",
        kind: MultiDataBlockRace,
        race: "A reads a, B reads b, B writes a, A writes b",
        first: nothing,
        parts: &[unless::<'a', 'b'>, unless::<'b', 'a'>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                unless::<'a', 'b'>(w)
            },
            |w| {
                let _m = w.hold('m');
                unless::<'b', 'a'>(w)
            },
        ],
        last: nothing,
    },
    Program {
        name: "a length and a value of different sorts",
        kind: MultiDataBlockRace,
        race: "A writes x, B reads x, B reads a, A writes a",
        first: nothing,
        parts: &[put::<'x', 'a', 3>, pair::<'x', 'a'>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                put::<'x', 'a', 3>(w)
            },
            |w| {
                let _m = w.hold('m');
                pair::<'x', 'a'>(w)
            },
        ],
        last: nothing,
    },
    Program {
        name: "a reader in the other order",
        kind: MultiDataBlockRace,
        race: "A writes x, B reads y, B reads x, A writes y",
        first: nothing,
        parts: &[put::<'x', 'y', 1>, pair::<'y', 'x'>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                put::<'x', 'y', 1>(w)
            },
            |w| {
                let _m = w.hold('m');
                pair::<'y', 'x'>(w)
            },
        ],
        last: nothing,
    },
    Program {
        name: "a transfer that the order of two flags hides",
        kind: MultiDataBlockRace,
        race: "A writes b, B reads b, B reads c, A writes c",
        first: |w| w.set('b', 4),
        parts: &[transfer::<'b', 'c'>, sum::<'b', 'c'>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                let _n = w.hold('n');
                transfer::<'b', 'c'>(w)
            },
            |w| {
                let _n = w.hold('n');
                sum::<'b', 'c'>(w)
            },
        ],
        last: nothing,
    },
    Program {
        name: "a deposit in two critical sections",
        kind: MultiDataBlockRace,
        race: "A reads y, B reads x, B writes y, A writes x",
        first: |w| w.locked_set(['x', 'y']),
        parts: &[deposit_in_two, |w| {
            let _m = w.hold('m');
            unless::<'x', 'y'>(w)
        }],
        twin: &[
            |w| {
                let _m = w.hold('m');
                unless::<'y', 'x'>(w)
            },
            |w| {
                let _m = w.hold('m');
                unless::<'x', 'y'>(w)
            },
        ],
        last: nothing,
    },
];

/// Returns the values of two variables at the end as a block of main.
fn both(w: &World, names: [char; 2]) {
    block!("end", { names.map(|name| w.get(name)) });
}
