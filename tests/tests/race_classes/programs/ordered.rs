//! Programs with a multi-data race or a data race.

use raddle::FailureKind::{DataRace, MultiDataRace};

use super::Program;
use super::parts::{alone, locked_alone, nothing, withdraw_cell};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "a balance and a debt under two locks",
        kind: MultiDataRace,
        race: "A writes y, B writes x",
        first: |w| w.locked_set(['x', 'y']),
        parts: &[alone::<'x', 'y'>, alone::<'y', 'x'>],
        twin: &[locked_alone::<'x', 'y'>, locked_alone::<'y', 'x'>],
        last: |w| assert!(w.get('x') == 0 || w.get('y') == 0),
    },
    Program {
        name: "a balance and a debt as atomics",
        kind: MultiDataRace,
        race: "A writes b, B writes a",
        first: |w| w.atomic_set(['a', 'b']),
        parts: &[alone::<'a', 'b'>, alone::<'b', 'a'>],
        twin: &[locked_alone::<'a', 'b'>, locked_alone::<'b', 'a'>],
        last: |w| assert!(w.get('a') == 0 || w.get('b') == 0),
    },
    Program {
        name: "two of three variables",
        kind: MultiDataRace,
        race: "A writes z, B writes y",
        first: |w| w.locked_set(['y', 'z']),
        parts: &[alone::<'y', 'z'>, alone::<'z', 'y'>, |w| w.set('x', 1)],
        twin: &[locked_alone::<'y', 'z'>, locked_alone::<'z', 'y'>, |w| {
            w.set('x', 1)
        }],
        last: |w| assert!(w.get('y') == 0 || w.get('z') == 0),
    },
    Program {
        name: "a value and its copy",
        kind: MultiDataRace,
        race: "A writes x, B reads y | A writes y, B reads x",
        first: |w| w.locked_set(['x', 'y']),
        parts: &[
            |w| {
                w.set('x', 1);
                w.set('y', 1);
            },
            |w| assert!(w.get('x') >= w.get('y')),
        ],
        twin: &[
            |w| {
                let _m = w.hold('m');
                w.set('x', 1);
                w.set('y', 1);
            },
            |w| {
                let _m = w.hold('m');
                assert!(w.get('x') >= w.get('y'));
            },
        ],
        last: nothing,
    },
    Program {
        name: "the ends of an interval",
        kind: MultiDataRace,
        race: "A writes x, B writes y",
        first: |w| {
            w.locked_set(['x', 'y']);
            w.set('y', 9);
        },
        parts: &[
            |w| {
                if w.get('y') >= 6 {
                    w.set('x', 6)
                }
            },
            |w| {
                if w.get('x') <= 3 {
                    w.set('y', 3)
                }
            },
        ],
        twin: &[
            |w| {
                let _m = w.hold('m');
                if w.get('y') >= 6 {
                    w.set('x', 6)
                }
            },
            |w| {
                let _m = w.hold('m');
                if w.get('x') <= 3 {
                    w.set('y', 3)
                }
            },
        ],
        last: |w| assert!(w.get('x') <= w.get('y')),
    },
    Program {
        name: "the ends of an interval as atomics",
        kind: MultiDataRace,
        race: "A writes b, B writes c",
        first: |w| {
            w.atomic_set(['b', 'c']);
            w.set('c', 9);
        },
        parts: &[
            |w| {
                if w.get('c') >= 6 {
                    w.set('b', 6)
                }
            },
            |w| {
                if w.get('b') <= 3 {
                    w.set('c', 3)
                }
            },
        ],
        twin: &[
            |w| {
                let _m = w.hold('m');
                if w.get('c') >= 6 {
                    w.set('b', 6)
                }
            },
            |w| {
                let _m = w.hold('m');
                if w.get('b') <= 3 {
                    w.set('c', 3)
                }
            },
        ],
        last: |w| assert!(w.get('b') <= w.get('c')),
    },
    Program {
        name: "seats and guests",
        kind: MultiDataRace,
        race: "A reads y, B writes x | A writes y, B writes x",
        first: |w| {
            w.locked_set(['x', 'y']);
            w.set('x', 2);
        },
        parts: &[
            |w| {
                if w.get('y') < w.get('x') {
                    w.add('y', 1);
                }
            },
            |w| {
                if w.get('y') == 0 {
                    w.set('x', 0);
                }
            },
        ],
        twin: &[
            |w| {
                let _n = w.hold('n');
                if w.get('y') < w.get('x') {
                    w.add('y', 1);
                }
            },
            |w| {
                let _n = w.hold('n');
                if w.get('y') == 0 {
                    w.set('x', 0);
                }
            },
        ],
        last: |w| assert!(w.get('y') <= w.get('x')),
    },
    Program {
        name: "a switch and what it turns on",
        kind: MultiDataRace,
        race: "A writes a, B reads b",
        first: |w| w.atomic_set(['a', 'b']),
        parts: &[
            |w| {
                w.set('a', 1);
                w.set('b', 1);
                w.set('b', 0);
                w.set('a', 0);
            },
            |w| {
                let on = w.get('a');
                assert!(w.get('b') <= on);
            },
        ],
        twin: &[
            |w| {
                let _m = w.hold('m');
                w.set('a', 1);
                w.set('b', 1);
                w.set('b', 0);
                w.set('a', 0);
            },
            |w| {
                let _m = w.hold('m');
                let on = w.get('a');
                assert!(w.get('b') <= on);
            },
        ],
        last: nothing,
    },
    Program {
        name: "a withdrawal without a lock",
        kind: DataRace,
        race: "p",
        first: |w| w.set('p', 10),
        parts: &[withdraw_cell, withdraw_cell],
        twin: &[
            |w| {
                let _m = w.hold('m');
                withdraw_cell(w)
            },
            |w| {
                let _m = w.hold('m');
                withdraw_cell(w)
            },
        ],
        last: nothing,
    },
    Program {
        name: "one access of each thread",
        kind: DataRace,
        race: "q",
        first: nothing,
        parts: &[
            |w| {
                w.get('q');
            },
            |w| w.set('q', 1),
        ],
        twin: &[
            |w| {
                w.get('q');
            },
            |w| {
                w.get('q');
            },
        ],
        last: nothing,
    },
    Program {
        name: "two locks for one value",
        kind: DataRace,
        race: "r",
        first: nothing,
        parts: &[
            |w| {
                let _m = w.hold('m');
                w.set('r', 1);
            },
            |w| {
                let _n = w.hold('n');
                w.set('r', 2);
            },
        ],
        twin: &[
            |w| {
                let _m = w.hold('m');
                w.set('r', 1);
            },
            |w| {
                let _m = w.hold('m');
                w.set('r', 2);
            },
        ],
        last: nothing,
    },
    Program {
        name: "a write behind a critical section",
        kind: DataRace,
        race: "p",
        first: nothing,
        parts: &[
            |w| {
                w.set('p', 1);
                w.set('x', 1);
            },
            |w| {
                w.set('x', 2);
                w.set('p', 2);
            },
        ],
        twin: &[
            |w| {
                w.set('p', 1);
                w.set('x', 1);
            },
            |w| {
                if w.get('x') == 1 {
                    w.set('p', 2);
                }
            },
        ],
        last: nothing,
    },
    Program {
        name: "a read without the lock of the writer",
        kind: DataRace,
        race: "q",
        first: nothing,
        parts: &[
            |w| {
                let _x = w.lock('x');
                w.set('q', 1);
            },
            |w| {
                w.get('q');
            },
        ],
        twin: &[
            |w| {
                let _x = w.lock('x');
                w.set('q', 1);
            },
            |w| {
                let _x = w.lock('x');
                w.get('q');
            },
        ],
        last: nothing,
    },
];
