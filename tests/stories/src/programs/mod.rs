//! The programs, a file for each or for each family.

mod prelude;
mod queue;

/// The modules, in the order of the catalogue.
macro_rules! stories {
    ($($module:ident)*) => {
        $(mod $module;)*

        /// All stories.
        pub fn all() -> Vec<super::Story> {
            [$($module::STORIES),*].concat()
        }
    };
}
stories! {
    alarm_clock
    cached_hash
    bank
    clean
    philosophers
    linked_list
    merge_sort
    piper
    reorder
    semaphore
    two_stage
    wrong_lock
    counters
    check_then_act
    cursor
    aba
    dirty_bit
    driver
    deque
    string_buffer
    pool_factory
    branch
    hazard
    exclusion
    rate_limiter
    callback
    last_job
    feature_flag
    logger
    barrier
    turns
    handmade_lock
    woken
    upgrade
    shutdown
    permits
    stale
    order
    ring_list
    resurrection
    snapshot
    audit
    failover
    resize
    monitors
    published
    store_buffer
    handmade_weak
}
