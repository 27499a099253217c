//! The parts of the programs: what one thread does.

use raddle::atomic_block as block;

use super::super::world::World;

pub fn withdraw<const NAME: char, const SUM: i32>(w: &World) {
    block!("withdraw", {
        let has_enough = w.get(NAME) >= SUM;
        if has_enough {
            w.add(NAME, -SUM);
        }
        has_enough
    });
}

pub fn withdraw_at_once(w: &World) {
    block!("withdraw", {
        let mut x = w.lock('x');
        let has_enough = *x >= 10;
        if has_enough {
            *x -= 10;
        }
        has_enough
    });
}

pub fn withdraw_cell(w: &World) {
    block!("withdraw", {
        if w.get('p') >= 10 {
            w.set('p', w.get('p') - 10);
        }
    });
}

pub fn insert<const NAME: char, const VALUE: i32>(w: &World) {
    block!("insert", {
        let is_new = w.get(NAME) == 0;
        if is_new {
            w.set(NAME, VALUE);
        }
        is_new
    });
}

pub fn insert_at_once<const VALUE: i32>(w: &World) {
    block!("insert", {
        let mut x = w.lock('x');
        let is_new = *x == 0;
        if is_new {
            *x = VALUE;
        }
        is_new
    });
}

pub fn claim_at_once(w: &World) {
    block!("insert", { w.add('a', 1) == 0 });
}

pub fn count<const NAME: char>(w: &World) {
    block!("count", {
        let old = w.get(NAME);
        w.set(NAME, old + 1);
        old
    });
}

pub fn count_at_once<const NAME: char>(w: &World) {
    block!("count", { w.add(NAME, 1) });
}

pub fn twice<const NAME: char>(w: &World) {
    block!("twice", {
        let first = w.get(NAME);
        first == w.get(NAME)
    });
}

pub fn rewrite<const NAME: char>(w: &World) {
    block!("rewrite", {
        w.set(NAME, 1);
        w.set(NAME, 2);
    });
}

pub fn look<const NAME: char>(w: &World) {
    block!("look", { w.get(NAME) });
}

pub fn switch(w: &World) {
    block!("switch", {
        let new = 1 - w.get('x');
        w.set('x', new);
        new
    });
}

pub fn switch_at_once(w: &World) {
    block!("switch", {
        let mut x = w.lock('x');
        *x = 1 - *x;
        *x
    });
}

pub fn raise<const TO: i32>(w: &World) {
    block!("raise", {
        let old = w.get('a');
        if old < TO {
            w.set('a', TO);
        }
        old
    });
}

pub fn transfer<const FROM: char, const TO: char>(w: &World) {
    block!("transfer", {
        w.add(FROM, -3);
        w.add(TO, 3);
    });
}

pub fn sum<const FIRST: char, const SECOND: char>(w: &World) {
    block!("sum", { w.get(FIRST) + w.get(SECOND) });
}

pub fn put<const FIRST: char, const SECOND: char, const VALUE: i32>(w: &World) {
    block!("put", {
        w.set(FIRST, VALUE);
        w.set(SECOND, VALUE);
    });
}

pub fn pair<const FIRST: char, const SECOND: char>(w: &World) {
    block!("pair", { [w.get(FIRST), w.get(SECOND)] });
}

pub fn unless<const LOOKED_AT: char, const WRITTEN: char>(w: &World) {
    block!("unless", {
        let is_free = w.get(LOOKED_AT) == 0;
        if is_free {
            w.set(WRITTEN, 1);
        }
        is_free
    });
}

/// Deposits unless there is a debt, in two critical sections of one lock.
pub fn deposit_in_two(w: &World) {
    block!("deposit", {
        let is_free = {
            let _m = w.hold('m');
            w.get('y') == 0
        };
        if is_free {
            let _m = w.hold('m');
            w.set('x', 1);
        }
        is_free
    });
}

/// The same without a block.
pub fn alone<const LOOKED_AT: char, const WRITTEN: char>(w: &World) {
    if w.get(LOOKED_AT) == 0 {
        w.set(WRITTEN, 1);
    }
}

pub fn locked_alone<const LOOKED_AT: char, const WRITTEN: char>(w: &World) {
    let _m = w.hold('m');
    alone::<LOOKED_AT, WRITTEN>(w);
}

pub fn nothing(_: &World) {}
