//! The least number of preemptions over all orders in which an outline can be run.
//!
//! A search over cuts and the thread that runs there, cheapest first. The worst case is all cuts, of
//! which there are as many as the product of the threads' lengths. Far fewer are looked at, because a
//! thread whose next step is ready is only left in two places:
//!
//! - where it has just let others go first, which costs nothing;
//! - before a step that may let another thread go on, because the other can be left for nothing as long
//!   as it must wait.
//!
//! Anywhere else the thread might as well have done the step before it was left: no other thread's
//! switches cost more for that, and to leave it one step later costs no more either.

use std::collections::HashSet;

use super::outline::Outline;

/// A cut, and last the thread that does the next step.
type Place = Box<[u32]>;

impl Outline<'_> {
    /// Whether some order has at most so many preemptions; `None` if that takes more effort than
    /// this.
    pub(super) fn costs_at_most(&self, preemptions: u32, effort: usize) -> Option<bool> {
        let mut walk = Walk {
            outline: self,
            seen: HashSet::new(),
            now: Vec::new(),
            later: Vec::new(),
        };
        walk.now.push(vec![0; self.steps.len() + 1].into());
        for _ in 0..=preemptions {
            while let Some(place) = walk.now.pop() {
                if walk.seen.len() > effort {
                    return None;
                }
                if walk.go_on(place) {
                    return Some(true);
                }
            }
            std::mem::swap(&mut walk.now, &mut walk.later);
        }
        Some(false)
    }
}

struct Walk<'a> {
    outline: &'a Outline<'a>,
    seen: HashSet<Place>,
    /// Places to go on from that cost as much as the present one.
    now: Vec<Place>,
    /// Places that cost one more.
    later: Vec<Place>,
}

impl Walk<'_> {
    /// Lets the thread go as far as it can; whether that is the end. Notes where others could take
    /// over.
    fn go_on(&mut self, mut place: Place) -> bool {
        let outline = self.outline;
        if !self.seen.insert(place.clone()) {
            return false;
        }
        let (thread, cut) = place.split_last_mut().expect("a place has a thread");
        let thread = *thread as usize;
        if cut[thread] as usize == outline.steps[thread].len() {
            return outline.is_complete(cut);
        }
        // Whoever takes over does at least one step.
        cut[thread] += 1;
        loop {
            let step = outline.next(thread, &place);
            let ready = step.filter(|step| outline.is_ready(step, &place));
            let last = place[thread].checked_sub(1);
            let makes_way = last.is_some_and(|last| outline.steps[thread][last as usize].makes_way);
            let Some(step) = ready else {
                if outline.is_complete(&place[..place.len() - 1]) {
                    return true;
                }
                let interrupted = !makes_way && outline.can_go_on(thread, &place);
                self.take_over(&place, interrupted);
                return false;
            };
            if makes_way || step.releases {
                if !self.seen.insert(place.clone()) {
                    return false;
                }
                self.take_over(&place, !makes_way);
            }
            place[thread] += 1;
        }
    }

    /// Every other thread that can takes over.
    fn take_over(&mut self, place: &Place, interrupted: bool) {
        let (&thread, cut) = place.split_last().expect("a place has a thread");
        let others = (0..cut.len()).filter(|&other| other != thread as usize);
        for other in others {
            let next = self.outline.next(other, cut);
            if next.is_some_and(|step| self.outline.is_ready(step, cut)) {
                let mut place = place.clone();
                *place.last_mut().expect("a place has a thread") = other as u32;
                let places = match interrupted {
                    true => &mut self.later,
                    false => &mut self.now,
                };
                places.push(place);
            }
        }
    }
}
