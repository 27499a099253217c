//! What is found in each test of the crates of `tests/native-rust/`.

/// What is to be found.
#[derive(Debug)]
pub enum Found {
    /// Nothing, in all executions that there are.
    Nothing,
    /// Nothing, in those that were run.
    NothingSoFar,
    /// This kind of failure; the text of a line that is marked, if it is one of the crate.
    Failure(&'static str, Option<&'static str>),
}

use Found::{Failure, Nothing, NothingSoFar};

pub const fn panic(line: &'static str) -> Found {
    Failure("Panic", Some(line))
}

pub const fn deadlock(line: &'static str) -> Found {
    Failure("Deadlock", Some(line))
}

pub const fn race(line: &'static str) -> Found {
    Failure("DataRace", Some(line))
}

/// In a crate of the registry.
const DEADLOCK_INSIDE: Found = Failure("Deadlock", None);

/// By crate and test.
pub const EXPECTED: &[(&str, &[(&str, Found)])] = &[
    (
        "bank",
        &[
            ("money_is_moved", Nothing),
            (
                "money_is_moved_in_any_order",
                deadlock("let mut target = self.accounts[to].lock().unwrap();"),
            ),
            ("nobody_takes_too_much", Nothing),
            (
                "nobody_takes_too_much_in_two_steps",
                panic("assert!(bank.balance(0) >= 0, \"overdrawn\");"),
            ),
        ],
    ),
    (
        "bounded-queue",
        &[
            ("items_come_in_order", Nothing),
            (
                "items_come_in_silence",
                deadlock("items = self.not_full.wait(items).unwrap();"),
            ),
            ("each_consumer_gets_one", Nothing),
            (
                "each_consumer_gets_one_without_loop",
                panic("items.pop_front().expect(\"there is an item\")"),
            ),
        ],
    ),
    (
        "config-swap",
        &[
            ("settings_are_read_as_a_whole", NothingSoFar),
            ("both_changes_are_kept", NothingSoFar),
            (
                "both_changes_are_kept_by_store",
                panic("assert_eq!(*current.get(), expected, \"a change was lost\");"),
            ),
        ],
    ),
    (
        "connection-pool",
        &[
            ("one_serves_two", Nothing),
            (
                "one_serves_two_in_silence",
                deadlock("self.returned.wait(&mut free);"),
            ),
            ("moving_while_one_is_taken", Nothing),
            (
                "closing_while_one_is_taken",
                deadlock("*self.free.lock() = 0;"),
            ),
        ],
    ),
    (
        "epoch-list",
        &[
            ("what_is_read_is_whole", NothingSoFar),
            ("both_updates_count", NothingSoFar),
            (
                "both_updates_count_by_set",
                panic("assert_eq!(versions.get(), 2, \"an update was lost\");"),
            ),
        ],
    ),
    (
        "event-bus",
        &[
            ("events_come_in_order", Nothing),
            ("subscribers_may_leave", Nothing),
            ("subscribing_while_publishing", Nothing),
            (
                "subscribing_while_publishing_under_the_lock",
                deadlock("let _ = subscriber.send(event);"),
            ),
        ],
    ),
    (
        "hit-counter",
        &[
            ("all_are_counted", Nothing),
            (
                "all_are_counted_slowly",
                panic("assert_eq!(together(Hits::add_slowly, Hits::add_slowly).count(), 2);"),
            ),
            ("many_counters_are_given_back", Nothing),
            ("the_largest_is_kept", Nothing),
            ("the_largest_is_kept_by_exchange", Nothing),
            (
                "the_largest_is_kept_by_store",
                panic("assert_eq!(hits.largest(), 5, \"a larger value was overwritten\");"),
            ),
        ],
    ),
    (
        "idle-pool",
        &[
            ("a_job_is_done_once", NothingSoFar),
            ("two_threads_stay_idle", NothingSoFar),
            ("a_shared_queue_is_polled", NothingSoFar),
            (
                "work_that_is_left_is_done",
                panic(
                    "pool.run(0, move || assert_eq!(seen.load(SeqCst), 0, \"the test is over\"));",
                ),
            ),
        ],
    ),
    (
        "job-queue",
        &[
            ("urgent_jobs_come_first", Nothing),
            ("no_job_is_lost", Nothing),
            (
                "no_job_is_lost_if_there_is_room",
                panic("false => self.urgent.push(job).expect(\"there was room\"),"),
            ),
        ],
    ),
    (
        "lazy-settings",
        &[
            ("a_once_lock_is_filled_once", Nothing),
            ("a_static_is_filled_once", Nothing),
            ("a_once_runs_once", Nothing),
            ("checked_twice", Nothing),
            (
                "checked_twice_without_ordering",
                race("unsafe { *self.limit.get() = 42 };"),
            ),
        ],
    ),
    (
        "object-pool",
        &[
            ("one_object_serves_two", Nothing),
            ("who_waits_is_told_of_the_end", Nothing),
            (
                "who_waits_is_told_of_the_end_without_lock",
                Failure(
                    "LostWakeup",
                    Some("free = self.returned.wait(free).unwrap();"),
                ),
            ),
        ],
    ),
    (
        "oneshot",
        &[
            ("the_value_arrives", Nothing),
            ("the_value_arrives_late", deadlock("thread::park();")),
            ("two_values_arrive", Nothing),
            (
                "two_values_arrive_at_once",
                panic("self.value.lock().unwrap().take().expect(\"it was filled\")"),
            ),
        ],
    ),
    (
        "phases",
        &[
            ("neighbours_wait_for_each_other", Nothing),
            (
                "neighbours_do_not_wait_for_each_other",
                race("unsafe { *self.cells[number].get() += left };"),
            ),
            (
                "one_does_not_come",
                deadlock("self.barrier.wait().is_leader()"),
            ),
        ],
    ),
    (
        "pipeline",
        &[
            ("squares", NothingSoFar),
            ("squares_without_room", DEADLOCK_INSIDE),
            ("all_is_summed", NothingSoFar),
            (
                "all_is_summed_from_the_shorter",
                panic("assert_eq!(sum(&left, &right), 3);"),
            ),
        ],
    ),
    (
        "pub-sub",
        &[
            ("messages_come_in_order", Nothing),
            ("new_listeners_are_kept", Nothing),
            (
                "new_listeners_are_kept_in_two_steps",
                panic("assert_eq!(messages.recv(), Ok(1));"),
            ),
            ("two_wait_for_each_other", DEADLOCK_INSIDE),
        ],
    ),
    (
        "rate-limiter",
        &[
            ("one_of_two", Nothing),
            (
                "one_of_two_in_two_steps",
                panic("assert_eq!(admitted(Limiter::admit_in_two_steps), 1);"),
            ),
            ("refilled_in_between", Nothing),
        ],
    ),
    (
        "refcount",
        &[
            ("dropped_by_the_last", Nothing),
            (
                "dropped_by_the_last_without_ordering",
                race("let sum: u32 = self.0.iter().map(Cell::get).sum();"),
            ),
            (
                "dropped_by_the_last_in_two_steps",
                Failure(
                    "UseAfterFree",
                    Some("drop(unsafe { Box::from_raw(self.inner.as_ptr()) });"),
                ),
            ),
        ],
    ),
    (
        "registry",
        &[
            ("all_agree", NothingSoFar),
            (
                "all_agree_in_two_steps",
                panic("self.name.set(name).expect(\"nobody was in charge\");"),
            ),
        ],
    ),
    (
        "same-locks",
        &[
            ("with_std::three_lock", Nothing),
            ("with_std::one_tries", Nothing),
            ("with_std::two_read_and_one_writes", Nothing),
            ("with_std::one_tries_to_read_and_one_to_write", Nothing),
            ("with_parking_lot::three_lock", Nothing),
            ("with_parking_lot::one_tries", Nothing),
            ("with_parking_lot::two_read_and_one_writes", Nothing),
            (
                "with_parking_lot::one_tries_to_read_and_one_to_write",
                Nothing,
            ),
            ("one_waits_in_time", Nothing),
            ("one_locks_in_time", Nothing),
            ("notifying_says_who_was_woken_up", Nothing),
        ],
    ),
    (
        "semaphore",
        &[
            ("one_at_a_time", Nothing),
            (
                "two_where_one_may",
                panic("assert!(inside <= limit, \"too many inside\");"),
            ),
            ("both_are_let_in", Nothing),
            (
                "both_are_let_in_if_there_was_none",
                deadlock(".wait_while(permits, |permits| *permits == 0)"),
            ),
        ],
    ),
    (
        "seqlock",
        &[
            ("both_are_of_one_version", Nothing),
            (
                "both_are_of_one_version_or_odd",
                panic("assert_eq!(one, other, \"half of it is new\");"),
            ),
            // Wants weak memory.
            ("both_are_of_one_version_without_fence", Nothing),
        ],
    ),
    (
        "shared-handles",
        &[
            ("the_last_one_closes", Nothing),
            (
                "whoever_works_last_closes",
                panic("assert_eq!(closed_by_then, 1, \"the other still had it\");"),
            ),
            ("the_last_one_closes_what_is_inside", Nothing),
            ("the_last_one_closes_whoever_leaves_first", Nothing),
            ("one_of_two_gets_the_value", Nothing),
            (
                "one_of_two_gets_the_value_by_trying",
                panic("assert!(mine != theirs, \"both have tried while there were two\");"),
            ),
            ("after_joining_there_is_one", Nothing),
            (
                "before_joining_there_may_be_one",
                panic("assert_eq!(Arc::strong_count(&value), 2, \"the other was faster\");"),
            ),
            ("two_users_have_a_session", Nothing),
            ("two_users_have_one_session", panic("assert_eq!(")),
        ],
    ),
    (
        "spin-lock",
        &[
            ("one_after_the_other", NothingSoFar),
            (
                "one_after_the_other_without_ordering",
                race("twice(|lock| lock.with_relaxed(|value| *value += 1));"),
            ),
            ("a_group_is_waited_for", Nothing),
        ],
    ),
    (
        "spsc-ring",
        &[
            ("values_come_in_order", Nothing),
            (
                "values_come_in_order_without_ordering",
                race("unsafe { (*self.slots[tail % N].get()).write(value) };"),
            ),
            (
                "values_come_in_order_too_early",
                race("Some(unsafe { (*self.slots[head % N].get()).assume_init_read() })"),
            ),
        ],
    ),
    (
        "stampede",
        &[
            ("computed_once", Nothing),
            (
                "computed_once_in_a_hurry",
                panic("assert_eq!(computed.load(SeqCst), 1, \"computed more than once\");"),
            ),
            (
                "computed_once_by_upgrade",
                deadlock("self.values.write().unwrap().insert(key, value);"),
            ),
        ],
    ),
    (
        "thread-logger",
        &[
            ("lines_are_written_when_threads_end", Nothing),
            ("blocks_stay_together", Nothing),
            (
                "blocks_stay_together_line_by_line",
                panic(
                    "assert_eq!(*sink.lock().unwrap(), [\"begin\", \"end\", \"begin\", \"end\"]);",
                ),
            ),
        ],
    ),
    (
        "thread-pool",
        &[
            ("all_jobs_are_done", Nothing),
            (
                "all_jobs_are_done_with_open_queue",
                deadlock("let job = queue.lock().unwrap().recv();"),
            ),
        ],
    ),
    (
        "treiber-stack",
        &[
            ("each_value_is_popped_once", Nothing),
            (
                "each_value_is_popped_once_by_store",
                race("unsafe { (*node.value.get()).take() }"),
            ),
            ("values_come_whole", Nothing),
            (
                "values_come_whole_without_ordering",
                race("let node = Box::leak(Box::new(Node {"),
            ),
        ],
    ),
    (
        "word-count",
        &[
            ("all_are_counted", NothingSoFar),
            (
                "all_are_counted_in_two_steps",
                panic("assert_eq!(words.count(\"word\"), 2, \"not all were counted\");"),
            ),
            ("seen_while_reading", DEADLOCK_INSIDE),
        ],
    ),
    (
        "work-stealing",
        &[
            ("no_task_is_done_twice", Nothing),
            ("the_end_is_the_end", Nothing),
            (
                "the_end_is_early",
                panic("assert_eq!(done.load(SeqCst), 5, \"not all is done\");"),
            ),
        ],
    ),
];
