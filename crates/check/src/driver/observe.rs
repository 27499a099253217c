//! Observing executions: a callback with a typed view of each class.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use raddle_report::Report;

use crate::driver::run::Stopped;
use crate::runtime::outside;
use crate::scheduler::Finished;
use crate::settings::checker::Checker;

impl Checker {
    /// Runs `body` as [`run`](Self::run) does, and passes an execution of every class that was run to `callback`: its
    /// events with their sources and labels, its happens-before order, its end.
    ///
    /// Executions of one class differ only in the order of independent operations, so the callback sees the first of them.
    /// Those that were cut or discarded belong to no class and are passed each. The check has one worker.
    ///
    /// ```
    /// use raddle::scheduler::OperationKind;
    /// use raddle::sync::Arc;
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    /// use raddle::{Checker, thread};
    ///
    /// let mut sources = Vec::new();
    /// let report = Checker::new().observe(
    ///     || {
    ///         let ready = Arc::new(AtomicU32::new(0));
    ///         let other = ready.clone();
    ///         thread::spawn(move || other.store(1, SeqCst));
    ///         ready.load(SeqCst);
    ///     },
    ///     |execution| {
    ///         let order = execution.happens_before();
    ///         let events = execution.events();
    ///         let load = events.iter().find(|it| it.operation().kind() == OperationKind::Load).unwrap();
    ///         let source = load.source();
    ///         assert!(source.is_none_or(|store| order.query(store, load)));
    ///         sources.push(source.map(|store| execution.thread_name(store.thread())));
    ///     },
    /// );
    /// report.assert_ok();
    /// sources.sort();
    /// assert_eq!(sources, [None, Some("main.1".to_owned())]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run) does.
    #[track_caller]
    pub fn observe(
        mut self,
        body: impl Fn() + Send + Sync,
        mut callback: impl FnMut(Finished<'_>) + Send,
    ) -> Report {
        self.keeps_labels = true;
        self.workers = NonZeroUsize::MIN;
        let mut seen = HashSet::new();
        self.run_observed(
            &body,
            Some(&mut |stopped: Stopped<'_>| {
                let finished = Finished::new(stopped.execution, stopped.ending, stopped.places);
                if !finished.is_whole() || seen.insert(finished.class()) {
                    outside(|| callback(finished));
                }
            }),
        )
    }
}
