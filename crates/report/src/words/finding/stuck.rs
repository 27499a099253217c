//! Messages for deadlocks, lost wake-ups, hangs, unreceived messages and endless executions.

use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

use raddle_engine::check::deadlock::{Blocked, blocked};
use raddle_engine::check::leak::{Leak, Undropped, Unreceived};
use raddle_engine::check::limit::Repeated;
use raddle_engine::check::lost_wakeup::{LostWakeup, Why};
use raddle_engine::check::notified;
use raddle_engine::object::{Call, Object, condvar, rwlock};
use raddle_engine::{Event, Execution, Operation, ThreadId};

use crate::words::finding::context::FindingContext;
use crate::words::number::{counted, grouped};

/// Advice for a thread that reads under a lock twice.
const READ_AGAIN: &str = "help: std leaves open whether a writer that waits keeps readers out, and systems \
     differ; do not read-lock again while a guard is held, keep one guard or pass it on";

impl FindingContext<'_> {
    /// Returns a line for each waiting thread.
    pub(crate) fn lines(&self, blocked: &[Blocked]) -> Vec<String> {
        let line = |one| self.waiting(one, blocked);
        blocked.iter().map(line).collect()
    }

    /// Describes a waiting thread: the locks it holds and the event it waits for. The place where a
    /// holder acquired a lock is left out if the holder is one of `others`, because its own line
    /// has it.
    fn waiting(&self, blocked: &Blocked, others: &[Blocked]) -> String {
        let mut text = self.trace.title(blocked.thread).to_owned();
        for (index, (object, _, site)) in blocked.holds.iter().enumerate() {
            let and = if index == 0 { " holds" } else { " and" };
            let _ = write!(text, "{and} {}", self.things.title(object.index()));
            if let Some(place) = self.names.place(*site) {
                let _ = write!(text, " (since {place})");
            }
        }
        if !blocked.holds.is_empty() {
            text.push(',');
        }
        let _ = write!(text, " waits{}", self.at(blocked.site));
        if let Some(what) = self.awaited(blocked) {
            let _ = write!(text, " for {what}");
        }
        let _ = match (&blocked.operation, blocked.waits_for) {
            (
                Operation::Call {
                    call: Call::Condvar(condvar::Call::Wake { .. }),
                    ..
                },
                _,
            ) => {
                // Threads that poll might notify after more rounds than were run.
                let tense = match self.execution.polls {
                    Some(_) => "has notified since",
                    None => "will notify",
                };
                write!(text, ", which no thread {tense}")
            }
            (
                Operation::Call {
                    call: Call::RwLock(rwlock::Call::ReadBehind),
                    ..
                },
                Some(writer),
            ) => write!(
                text,
                ": {} waits to write, and this system's lock lets no further reader in",
                self.trace.title(writer)
            ),
            (Operation::Join { .. }, _) | (_, None) => Ok(()),
            (_, Some(holder)) if holder == blocked.thread => {
                write!(text, ", which it holds itself")
            }
            (_, Some(holder)) => {
                let since = match others.iter().any(|other| other.thread == holder) {
                    true => None,
                    false => self.taken(blocked),
                };
                let since = since.map_or(String::new(), |place| format!(" (since {place})"));
                write!(text, ", held by {}{since}", self.trace.title(holder))
            }
        };
        text
    }

    /// Returns a line for each waiting thread, with notifications that woke other threads, and the
    /// advice for these.
    fn lines_with_others_woken(&self, blocked: &[Blocked]) -> (Vec<String>, Option<&'static str>) {
        let (mut lines, mut help) = (Vec::new(), None);
        for (one, line) in blocked.iter().zip(self.lines(blocked)) {
            lines.push(line);
            if let Some(line) = self.woken_instead(one) {
                lines.push(line);
                help = Some(
                    "help: that wakes only one waiting thread; if others can go on as well, notify all \
                     of them, or once for each",
                );
            }
        }
        (lines, help)
    }

    /// Describes the last notification that woke another thread while this one waited.
    fn woken_instead(&self, blocked: &Blocked) -> Option<String> {
        let Operation::Call {
            object,
            call: Call::Condvar(_),
        } = blocked.operation
        else {
            return None;
        };
        let other = notified::instead_of(self.execution, blocked.thread, object)?;
        let event = &self.execution.events[other.position];
        let woken: Vec<_> = other
            .reached
            .iter()
            .map(|&it| self.trace.title(it))
            .collect();
        Some(format!(
            "{} notified {}{}, while {} waited, and woke {}",
            self.trace.title(event.id.thread),
            self.things.title(object.index()),
            self.at(event.site),
            self.trace.title(blocked.thread),
            woken.join(" and "),
        ))
    }

    /// Returns a line for each thread that is neither blocked nor has ended.
    fn others(&self) -> impl Iterator<Item = String> {
        let goes_on = |&index: &usize| {
            let ended = self.execution.threads[index].end.is_some();
            !ended && self.execution.pending[index].is_none()
        };
        let threads = (0..self.execution.threads.len()).filter(goes_on);
        threads.map(|index| {
            let thread = ThreadId::new(index);
            let title = self.trace.title(thread);
            match self.polls(thread) {
                Some(polls) => format!("{title} only polls: {polls}"),
                None => format!("{title} keeps running"),
            }
        })
    }

    /// Describes a round of a thread that polls to the end of the execution.
    fn polls(&self, thread: ThreadId) -> Option<String> {
        let Execution {
            events,
            polls,
            spinning,
            ..
        } = self.execution;
        let spins = spinning.iter().find(|one| one.thread == thread);
        let from = match (spins, polls) {
            (Some(_), _) => 0,
            (None, Some(polls)) => polls.from,
            (None, None) => return None,
        };
        let is_part = |event: &&Event| match spins {
            Some(spins) => spins.events.contains(&event.id),
            None => event.id.thread == thread,
        };
        let mut steps: Vec<String> = Vec::new();
        for event in events[from..].iter().filter(is_part) {
            let what = (self.things).describe_pending(&event.operation, self.execution);
            let step = format!("{what}{}", self.at(event.site));
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
        let mut text = steps.join(", ");
        if let (None, Some(polls)) = (spins, polls) {
            let _ = write!(
                text,
                ", and nothing else in {} events",
                grouped(polls.events as u64)
            );
        }
        (!steps.is_empty()).then_some(text)
    }

    pub(crate) fn deadlock(&self, blocked: &[Blocked]) -> String {
        let (mut lines, help) = self.lines_with_others_woken(blocked);
        lines.extend(self.others());
        lines.extend(help.map(str::to_owned));
        let reads_behind = |one: &Blocked| {
            matches!(
                one.operation,
                Operation::Call {
                    call: Call::RwLock(rwlock::Call::ReadBehind),
                    ..
                }
            )
        };
        if blocked.iter().any(reads_behind) {
            lines.push(READ_AGAIN.to_owned());
        }
        lines.join("\n")
    }

    pub(crate) fn outlives(&self, blocked: &[Blocked]) -> String {
        let (lines, _) = self.lines_with_others_woken(blocked);
        let them = if blocked.len() == 1 { "it" } else { "them" };
        format!(
            "{}\n\
             the body of the check has ended, and no thread is left to wake {them}\n\
             help: join {them}, or tell {them} to stop, before the body ends",
            lines.join("\n"),
        )
    }

    pub(crate) fn lost_wakeup(&self, lost: &LostWakeup, blocked: &[Blocked]) -> String {
        let mut blocked = blocked.to_vec();
        blocked.sort_by_key(|one| one.thread != lost.waiter);
        let mut lines = self.lines(&blocked);
        let waiter = self.trace.title(lost.waiter);
        let (notifier, at) = match lost.notification {
            Some((thread, site)) => (self.trace.title(thread), self.at(site)),
            None => ("no thread", String::new()),
        };
        let name = self.things.title(lost.object.index());
        let is_condvar = matches!(
            self.execution.objects[lost.object.index()],
            Object::Condvar(_)
        );
        let notifies = if is_condvar { "notified" } else { "signalled" };
        let (fact, help) = match lost.why {
            Why::BeforeTheLock => (
                format!("{notifier} {notifies} {name}{at}, before {waiter} waited"),
                "check the condition under the lock, and wait only if it does not hold".to_owned(),
            ),
            Why::UnderTheLock { lock, since } => {
                let lock = self.things.title(lock.index());
                let since = self.names.place(since);
                let since = since.map_or(String::new(), |place| format!(", taken at {place}"));
                (
                    format!(
                        "{notifier} {notifies} {name}{at}, while {waiter} had {lock}{since}, and had \
                         not begun to wait"
                    ),
                    format!("change the condition under {lock}, and notify after that"),
                )
            }
            Why::BeforeTheChange { lock, by, taken } => {
                let lock = self.things.title(lock.index());
                let (by, taken) = (self.trace.title(by), self.at(taken));
                (
                    format!(
                        "{notifier} {notifies} {name}{at}, before {waiter} waited, and {by} took \
                         {lock}{taken} after that"
                    ),
                    "notify after the condition has changed, not before".to_owned(),
                )
            }
            Why::TokenThere => (
                format!(
                    "{notifier} unparked {waiter}{at}, when an earlier unpark had not been used up"
                ),
                "two unparks before a park count as one: check the condition before parking again"
                    .to_owned(),
            ),
            Why::NeverWoken => (
                format!("{notifier} calls its waker"),
                "register the waker before the last look at the condition, and call it after each \
                 change of the condition"
                    .to_owned(),
            ),
        };
        lines.insert(1, fact);
        lines.extend(self.others());
        lines.push(format!("help: {help}"));
        lines.join("\n")
    }

    pub(crate) fn hangs(&self, thread: ThreadId, limit: Duration) -> String {
        let events = &self.execution.events;
        let last = events.iter().rposition(|event| event.id.thread == thread);
        let last = last.map(|last| {
            let what = &self.trace.steps[last].what;
            format!("; the last was: {what}{}", self.at(events[last].site))
        });
        let dropped = match self.execution.pending.is_empty() {
            true => "",
            false => {
                "\nthe execution is over, and its threads are being unwound: a destructor hangs"
            }
        };
        let help = match self.names.is_native() {
            true => {
                "look for a loop without end that uses no atomic variable, and for a call that waits \
                 in the kernel. If it only takes so long, raise the limit with RADDLE_WATCHDOG"
            }
            false => {
                "look for a lock of std's, or of a crate that does not use raddle, that is taken \
                 twice or that another thread has; for a loop that waits and calls nothing that \
                 raddle controls; for a sleep or a read of std's. If it only takes so long, raise \
                 the limit with `watchdog` or RADDLE_WATCHDOG"
            }
        };
        format!(
            "{} has not come to a scheduling point for {limit:?}{}{dropped}\nhelp: {help}",
            self.trace.title(thread),
            last.unwrap_or_default(),
        )
    }

    pub(crate) fn leaks(&self, leaks: &[Leak]) -> String {
        let unreceived = |one: &Unreceived| {
            let port = self.things.title(one.port.index());
            let (sender, at) = (self.trace.title(one.sender), self.at(one.sent));
            match one.count {
                1 => format!("{port} has an unreceived message, sent by {sender}{at}"),
                count => format!(
                    "{port} has {count} unreceived messages, the first sent by {sender}{at}"
                ),
            }
        };
        let undropped = |one: &Undropped| {
            let (thread, at) = (self.trace.title(one.thread), self.at(one.made));
            let kind = one.kind;
            format!("{kind} leaked: {thread} made it{at}, and it is never dropped")
        };
        let line = |one: &Leak| match one {
            Leak::Unreceived(one) => unreceived(one),
            Leak::Undropped(one) => undropped(one),
        };
        let lines: Vec<_> = leaks.iter().map(line).collect();
        let is_message = |one: &Leak| matches!(one, Leak::Unreceived(_));
        let help = match leaks.iter().any(is_message) {
            true => "receive what is sent, or send no more than is wanted",
            false => "drop every handle; two values that refer to each other need a weak one",
        };
        format!(
            "{}\n\
             help: {help}; if it does not matter, `leaks(Level::Allow)`",
            lines.join("\n")
        )
    }

    /// Returns the positions of the threads that have not ended, each with all threads that are there.
    fn positions(&self) -> Vec<(String, Vec<ThreadId>)> {
        let mut positions: Vec<(String, Vec<ThreadId>)> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let all = self.execution.positions.iter().enumerate();
        for (index, (operation, site)) in all.filter_map(|(index, at)| Some((index, (*at)?))) {
            let what = self.things.describe_pending(&operation, self.execution);
            let is_at = match self.execution.pending.get(index) {
                Some(Some(_)) => "waits to",
                _ => "is about to",
            };
            let text = format!("{is_at} {what}{}", self.at(site));
            let at = *known.entry(text.clone()).or_insert(positions.len());
            if at == positions.len() {
                positions.push((text, Vec::new()));
            }
            positions[at].1.push(ThreadId::new(index));
        }
        positions
    }

    pub(crate) fn out_of_time(&self, limit: Option<Duration>) -> String {
        let events = counted(self.execution.events.len() as u64, "event", "events");
        let mut text = match limit {
            Some(limit) => format!(
                "an execution had not ended when the time of the check, {limit:?}, was over, after {events}"
            ),
            None => {
                format!("an execution had not ended when the check was stopped, after {events}")
            }
        };
        for (position, threads) in self.positions() {
            let title = self.trace.title(threads[0]);
            let _ = match threads.len() - 1 {
                0 => write!(text, "\n{title} {position}"),
                more => {
                    let more = counted(more as u64, "other thread", "other threads");
                    write!(text, "\n{title} and {more}: each {position}")
                }
            };
        }
        let setting = match self.names.is_native() {
            true => "`--budget`",
            false => "`max_time`",
        };
        text + &format!(
            "\nhelp: look for a loop that waits without end; if it must take so long, check a smaller case, \
             or raise {setting}"
        )
    }

    pub(crate) fn too_many_events(&self, limit: usize, repeated: &[Repeated]) -> String {
        let mut text = format!("one execution has more than {limit} events");
        if self.execution.is_over {
            text += ", because threads went on after the end of the program";
        }
        let mut before = None;
        for one in repeated {
            let what = self.things.describe_pending(&one.operation, self.execution);
            let at = self.at(one.site);
            let _ = match before.replace(one.thread) {
                Some(thread) if thread == one.thread => write!(text, ", {what}{at}"),
                _ => {
                    let thread = self.trace.title(one.thread);
                    write!(text, "\n{thread} repeats: {what}{at}")
                }
            };
        }
        if self.execution.is_over {
            return text
                + "\nhelp: stop and join these threads before the program ends; those that only wait or \
                   poll end with it";
        }
        for line in self.lines(&blocked(self.execution)) {
            text += "\n";
            text += &line;
        }
        let raise = match self.names.is_native() {
            true => {
                "if it must be so long, check a smaller case, or raise the limit with `--max-events`"
            }
            false => "if it must be so long, raise the limit with `max_events`",
        };
        text + &format!(
            "\nhelp: {raise}; a loop that waits for another thread never ends while that thread is \
             not scheduled"
        )
    }
}
