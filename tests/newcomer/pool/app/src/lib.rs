#![deny(warnings)]

use pool::Pool;

/// Uses a thing of the pool for a moment.
pub fn borrow(pool: &Pool) {
    if let Some(thing) = pool.take() {
        pool.give_back(thing);
    }
}

#[cfg(test)]
mod tests {
    #[raddle::test]
    fn two_may_borrow_at_once() {
        let pool = pool::Pool::default();
        pool.give_back(1);
        raddle::thread::scope(|scope| {
            scope.spawn(|| super::borrow(&pool));
            scope.spawn(|| super::borrow(&pool));
        });
    }
}
