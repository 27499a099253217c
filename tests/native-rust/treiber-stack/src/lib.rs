//! A stack without locks. Nodes are never freed, so that a late reader finds them as they were.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

struct Node<T> {
    value: UnsafeCell<Option<T>>,
    next: *mut Node<T>,
}

pub struct Stack<T> {
    head: AtomicPtr<Node<T>>,
}

// SAFETY: the value of a node is its finder's alone.
unsafe impl<T: Send> Send for Stack<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Stack<T> {}

impl<T> Stack<T> {
    pub fn new() -> Self {
        Stack {
            head: AtomicPtr::new(ptr::null_mut()),
        }
    }

    pub fn push(&self, value: T) {
        self.push_with(value, Ordering::Release);
    }

    /// Who pops may see the node before what is in it.
    pub fn push_relaxed(&self, value: T) {
        self.push_with(value, Ordering::Relaxed);
    }

    fn push_with(&self, value: T, publish: Ordering) {
        let mut head = self.head.load(Ordering::Relaxed);
        let node = Box::leak(Box::new(Node {
            value: UnsafeCell::new(Some(value)),
            next: head,
        }));
        while let Err(now) = self
            .head
            .compare_exchange(head, node, publish, Ordering::Relaxed)
        {
            head = now;
            node.next = head;
        }
    }

    pub fn pop(&self) -> Option<T> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            // SAFETY: nodes are never freed.
            let node = unsafe { head.as_ref()? };
            match self
                .head
                .compare_exchange(head, node.next, Ordering::Acquire, Ordering::Acquire)
            {
                // SAFETY: the thread that unlinked the node is its only owner.
                Ok(_) => return unsafe { (*node.value.get()).take() },
                Err(now) => head = now,
            }
        }
    }

    /// Takes the first node even if another thread takes it at the same time.
    pub fn pop_by_store(&self) -> Option<T> {
        let head = self.head.load(Ordering::Acquire);
        // SAFETY: nodes are never freed.
        let node = unsafe { head.as_ref()? };
        self.head.store(node.next, Ordering::Release);
        // SAFETY: none, another thread may have the node, too.
        unsafe { (*node.value.get()).take() }
    }
}

impl<T> Default for Stack<T> {
    fn default() -> Self {
        Stack::new()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn each_value_is_popped_once() {
        let stack = Stack::new();
        stack.push(1);
        stack.push(2);
        thread::scope(|scope| {
            let one = scope.spawn(|| stack.pop().unwrap());
            let other = stack.pop().unwrap();
            assert_eq!(one.join().unwrap() + other, 3);
        });
    }

    #[test]
    fn each_value_is_popped_once_by_store() {
        let stack = Stack::new();
        stack.push(1);
        stack.push(2);
        thread::scope(|scope| {
            scope.spawn(|| stack.pop_by_store());
            stack.pop_by_store();
        });
    }

    fn pushed_and_popped(push: fn(&Stack<u32>, u32)) {
        let stack = Stack::new();
        thread::scope(|scope| {
            scope.spawn(|| push(&stack, 1));
            assert!(matches!(stack.pop(), None | Some(1)));
        });
    }

    #[test]
    fn values_come_whole() {
        pushed_and_popped(Stack::push);
    }

    #[test]
    fn values_come_whole_without_ordering() {
        pushed_and_popped(Stack::push_relaxed);
    }
}
