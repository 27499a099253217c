//! Tasks. Each is a thread of its own, so that all orders of unordered tasks are explored.
//!
//! In a team of one thread a task is run at once by the thread that creates it.

use raddle_engine::{Operation, ThreadId};

use super::team::{put, with_member, with_state};
use crate::execution::running;
use crate::threads::guests::{self, ThreadEnd};
use crate::threads::life;

/// True if tasks of the running thread are run at once.
pub(super) fn are_done_at_once() -> bool {
    with_member(|team, _| team.size == 1)
}

/// Creates a task from a function of the program's, or of ours for guests, with its argument.
pub(super) fn spawn(function: usize, argument: usize, code: usize) {
    let pointer = life::create(function, argument, false, code);
    let task = guests::find(pointer).expect("raddle: a thread that was just created");
    let (team, number) = with_member(|_, member| {
        member.children.push(task);
        (member.team, member.number)
    });
    put(task, team, number);
}

/// Waits until a thread has ended.
pub(super) fn join(thread: ThreadId, code: usize) {
    let native = running();
    native.perform(code, |_| Operation::Join { target: thread });
    native.wait_as_long_as(thread);
    if guests::with(thread, |guest| guest.end) == ThreadEnd::Everything {
        guests::end_everything();
    }
}

/// Waits for a task; the tasks that it has created become the running thread's.
fn adopt(task: ThreadId, code: usize) {
    join(task, code);
    let left = with_state(|state| {
        let (_, member) = state.member(task);
        let mut left = std::mem::take(&mut member.children);
        left.append(&mut member.descendants);
        left
    });
    with_member(|_, member| member.descendants.extend(left));
}

/// Waits for the tasks that the running thread has created, but not for their descendants.
pub(super) fn wait_for_children(code: usize) {
    let children = with_member(|_, member| std::mem::take(&mut member.children));
    for child in children {
        adopt(child, code);
    }
    with_member(|_, member| {
        member.groups.iter_mut().for_each(|group| group.0 = 0);
    });
}

/// Waits for the tasks that the running thread has created, and for their descendants.
pub(super) fn wait_for_all(code: usize) {
    wait_for_children(code);
    while let Some(task) = with_member(|_, member| member.descendants.pop()) {
        adopt(task, code);
    }
}

/// Begins a group of tasks.
pub(super) fn begin_group() {
    with_member(|_, member| {
        let begun = (member.children.len(), member.descendants.len());
        member.groups.push(begun);
    });
}

/// Waits for the tasks created since the group began, and for their descendants.
pub(super) fn end_group(code: usize) {
    let (members, others) = with_member(|_, member| {
        let (children, descendants) = member.groups.pop().unwrap_or_default();
        let members = member
            .children
            .split_off(children.min(member.children.len()));
        let left = descendants.min(member.descendants.len());
        let ours = member.descendants.split_off(left);
        (members, std::mem::replace(&mut member.descendants, ours))
    });
    for task in members {
        adopt(task, code);
    }
    while let Some(task) = with_member(|_, member| member.descendants.pop()) {
        adopt(task, code);
    }
    with_member(|_, member| member.descendants = others);
}
