//! The programs, a file for each or for each family.

mod ab_ba;
mod aba;
mod alarm_clock;
mod audit;
mod bank;
mod barrier;
mod branch;
mod busy;
mod cached_hash;
mod callback;
mod check_then_act;
mod clean;
mod counters;
mod cursor;
mod deque;
mod dirty_bit;
mod driver;
mod exclusion;
mod failover;
mod feature_flag;
mod handmade_lock;
mod handmade_weak;
mod hazard;
mod last_job;
mod linked_list;
mod logger;
mod merge_sort;
mod monitors;
mod order;
mod permits;
mod philosophers;
mod piper;
mod pool_factory;
mod prelude;
mod published;
mod rate_limiter;
mod reorder;
mod resize;
mod resurrection;
mod ring_list;
mod semaphore;
mod shutdown;
mod snapshot;
mod stale;
mod store_buffer;
mod string_buffer;
mod turns;
mod two_stage;
mod upgrade;
mod woken;
mod wrong_lock;

use super::Story;

/// All stories, in the order of the catalogue: those of cooperative testing, the others, and those
/// that need weak memory.
pub fn all() -> Vec<Story> {
    let families = [
        alarm_clock::STORIES,
        cached_hash::STORIES,
        bank::STORIES,
        clean::STORIES,
        philosophers::STORIES,
        linked_list::STORIES,
        merge_sort::STORIES,
        piper::STORIES,
        reorder::STORIES,
        semaphore::STORIES,
        two_stage::STORIES,
        wrong_lock::STORIES,
        counters::STORIES,
        ab_ba::STORIES,
        check_then_act::STORIES,
        cursor::STORIES,
        aba::STORIES,
        dirty_bit::STORIES,
        driver::STORIES,
        deque::STORIES,
        string_buffer::STORIES,
        pool_factory::STORIES,
        branch::STORIES,
        hazard::STORIES,
        exclusion::STORIES,
        rate_limiter::STORIES,
        callback::STORIES,
        last_job::STORIES,
        feature_flag::STORIES,
        logger::STORIES,
        barrier::STORIES,
        turns::STORIES,
        handmade_lock::STORIES,
        woken::STORIES,
        upgrade::STORIES,
        shutdown::STORIES,
        permits::STORIES,
        stale::STORIES,
        order::STORIES,
        ring_list::STORIES,
        resurrection::STORIES,
        snapshot::STORIES,
        audit::STORIES,
        failover::STORIES,
        resize::STORIES,
        monitors::STORIES,
        busy::STORIES,
        published::STORIES,
        store_buffer::STORIES,
        handmade_weak::STORIES,
    ];
    families.concat()
}
