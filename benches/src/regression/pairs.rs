//! Pairs of versions, chosen before the search was tuned.
//!
//! These are all stories whose bug a check without knowledge of the change needed at least eight executions to find, in the
//! mean of eight seeds, with all other parts beside them: a bug that is found at once cannot be found sooner. In the order
//! of the catalogue, every second one is for tuning; the others were measured once, afterwards.

/// Returns the names of the stories of these pairs; `None` for another word.
pub(super) fn half(word: &str) -> Option<Vec<&'static str>> {
    match word {
        "tuning" => Some(TUNING.to_vec()),
        "held-out" => Some(HELD_OUT.to_vec()),
        "both" => Some([TUNING, HELD_OUT].concat()),
        _ => None,
    }
}

const TUNING: &[&str] = &[
    "merge_sort",
    "semaphore_two_stage",
    "semaphore_crowd",
    "two_stage",
    "down_to_two",
    "cursor_6",
    "driver",
    "work_stealing",
    "pool_factory",
    "hazard",
    "hyman",
    "if_not_while",
    "dirty_flag",
    "torn_snapshot",
    "audit",
    "page_busy",
];

const HELD_OUT: &[&str] = &[
    "reorder_10",
    "semaphore_unlocked",
    "semaphore_8",
    "two_stage_8",
    "cursor_5",
    "cursor_8",
    "driver_busy",
    "string_buffer",
    "branch",
    "peterson_swapped",
    "bakery",
    "stale_cache",
    "file_swapped",
    "double_collect",
    "failover",
];
