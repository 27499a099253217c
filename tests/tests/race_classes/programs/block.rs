//! Programs with a block race.

use raddle::FailureKind::BlockRace;
use raddle::atomic_block as block;

use super::Program;
use super::parts::{
    claim_at_once, count, count_at_once, insert, insert_at_once, look, nothing, raise, rewrite,
    switch, switch_at_once, twice, withdraw, withdraw_at_once,
};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "a withdrawal that checks first",
        kind: BlockRace,
        race: "A reads x, B writes x, A writes x",
        first: |w| w.set('x', 10),
        parts: &[withdraw::<'x', 10>, withdraw::<'x', 10>],
        twin: &[withdraw_at_once, withdraw_at_once],
        last: nothing,
    },
    Program {
        name: "an insertion that looks first",
        kind: BlockRace,
        race: "A reads x, B writes x, A writes x",
        first: nothing,
        parts: &[insert::<'x', 1>, insert::<'x', 2>],
        twin: &[insert_at_once::<1>, insert_at_once::<2>],
        last: nothing,
    },
    Program {
        name: "an insertion under a readers-writer lock",
        kind: BlockRace,
        race: "A reads u, B writes u, A writes u",
        first: nothing,
        parts: &[insert::<'u', 1>, insert::<'u', 2>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                insert::<'u', 1>(w)
            },
            |w| {
                let _m = w.hold('m');
                insert::<'u', 2>(w)
            },
        ],
        last: nothing,
    },
    Program {
        name: "a flag that is set by a load and a store",
        kind: BlockRace,
        race: "A reads a, B writes a, A writes a",
        first: nothing,
        parts: &[insert::<'a', 1>, insert::<'a', 2>],
        twin: &[claim_at_once, claim_at_once],
        last: nothing,
    },
    Program {
        name: "a counter under a lock",
        kind: BlockRace,
        race: "A reads x, B writes x, A writes x",
        first: nothing,
        parts: &[count::<'x'>, count::<'x'>],
        twin: &[count_at_once::<'x'>, count_at_once::<'x'>],
        last: nothing,
    },
    Program {
        name: "an atomic counter",
        kind: BlockRace,
        race: "A reads a, B writes a, A writes a",
        first: nothing,
        parts: &[count::<'a'>, count::<'a'>],
        twin: &[count_at_once::<'a'>, count_at_once::<'a'>],
        last: nothing,
    },
    Program {
        name: "numbers under a readers-writer lock",
        kind: BlockRace,
        race: "A reads v, B writes v, A writes v",
        first: nothing,
        parts: &[count::<'v'>, count::<'v'>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                count::<'v'>(w)
            },
            |w| {
                let _m = w.hold('m');
                count::<'v'>(w)
            },
        ],
        last: nothing,
    },
    Program {
        name: "a counter of three threads",
        kind: BlockRace,
        race: "A reads a, B writes a, A writes a",
        first: nothing,
        parts: &[count::<'a'>, count::<'a'>, count::<'a'>],
        twin: &[
            count_at_once::<'a'>,
            count_at_once::<'a'>,
            count_at_once::<'a'>,
        ],
        last: nothing,
    },
    Program {
        name: "a value that is read twice under its lock",
        kind: BlockRace,
        race: "A reads x, B writes x, A reads x",
        first: nothing,
        parts: &[twice::<'x'>, |w| w.set('x', 1)],
        twin: &[
            |w| {
                let x = w.lock('x');
                block!("twice", { *x });
            },
            |w| w.set('x', 1),
        ],
        last: nothing,
    },
    Program {
        name: "an atomic value that is read twice",
        kind: BlockRace,
        race: "A reads a, B writes a, A reads a",
        first: nothing,
        parts: &[twice::<'a'>, |w| w.set('a', 1)],
        twin: &[
            |w| {
                block!("once", { w.get('a') });
            },
            |w| w.set('a', 1),
        ],
        last: nothing,
    },
    Program {
        name: "a value that is read twice under a readers-writer lock",
        kind: BlockRace,
        race: "A reads w, B writes w, A reads w",
        first: nothing,
        parts: &[twice::<'w'>, |w| w.set('w', 1)],
        twin: &[twice::<'w'>, |w| {
            w.get('w');
        }],
        last: nothing,
    },
    Program {
        name: "an intermediate state under a lock",
        kind: BlockRace,
        race: "A writes x, B reads x, A writes x",
        first: nothing,
        parts: &[rewrite::<'x'>, look::<'x'>],
        twin: &[
            |w| {
                block!("rewrite", {
                    let mut x = w.lock('x');
                    *x = 1;
                    *x = 2;
                });
            },
            look::<'x'>,
        ],
        last: nothing,
    },
    Program {
        name: "an intermediate state of an atomic",
        kind: BlockRace,
        race: "A writes a, B reads a, A writes a",
        first: nothing,
        parts: &[rewrite::<'a'>, look::<'a'>],
        twin: &[
            |w| {
                block!("write", { w.set('a', 2) });
            },
            look::<'a'>,
        ],
        last: nothing,
    },
    Program {
        name: "a switch",
        kind: BlockRace,
        race: "A reads x, B writes x, A writes x",
        first: nothing,
        parts: &[switch, switch],
        twin: &[switch_at_once, switch_at_once],
        last: nothing,
    },
    Program {
        name: "a maximum",
        kind: BlockRace,
        race: "A reads a, B writes a, A writes a",
        first: nothing,
        parts: &[raise::<5>, raise::<9>],
        twin: &[
            |w| {
                let _m = w.hold('m');
                raise::<5>(w)
            },
            |w| {
                let _m = w.hold('m');
                raise::<9>(w)
            },
        ],
        last: nothing,
    },
];
