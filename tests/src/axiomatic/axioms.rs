//! The axioms, as they are written down.
//!
//! RC11 is the model of Lahav, Vafeiadis, Kang, Hur and Dreyer (Repairing Sequential Consistency in
//! C/C++11, PLDI 2017), with the release sequences of C++20. The order of SeqCst operations is that of
//! C++20 ([atomics.order], paragraph 4), or that of the paper. The names of the relations are those of the
//! paper. The code is slow and plain, because the search is measured against it.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst};

use super::graph::{Event, EventKind, Graph};
use super::relation::{Relation, Set};

fn is_read(event: &Event) -> bool {
    matches!(event.kind, EventKind::Read(_))
}

fn is_write(event: &Event) -> bool {
    matches!(event.kind, EventKind::Write(_))
}

fn is_fence(event: &Event) -> bool {
    event.kind == EventKind::Fence
}

fn is_release(event: &Event) -> bool {
    matches!(event.ordering, Some(Release | AcqRel | SeqCst))
}

fn is_acquire(event: &Event) -> bool {
    matches!(event.ordering, Some(Acquire | AcqRel | SeqCst))
}

fn is_sc(event: &Event) -> bool {
    event.ordering == Some(SeqCst)
}

impl Graph {
    fn only(&self, holds: impl Fn(&Event) -> bool) -> Relation {
        self.identity(self.set(holds))
    }

    fn identity(&self, set: Set) -> Relation {
        Relation::identity(self.events.len(), set)
    }

    /// True when `sb ∪ rf` is acyclic.
    pub fn is_grounded(&self) -> bool {
        let order = self.program.or(&self.threads).or(&self.reads_from);
        order.is_acyclic()
    }

    /// Returns `hb = (sb ∪ sw)+`, where starting and joining threads synchronises, and initial
    /// writes happen before everything.
    pub fn happens_before(&self) -> Relation {
        let (sb, rf, rmw) = (&self.program, &self.reads_from, &self.updates);
        // rs = [W] ; (rf ; rmw)*
        let rs = self
            .only(is_write)
            .then(&rf.then(rmw).repeated().optional());
        // sw = [W^rel or F^rel] ; ([F] ; sb)? ; rs ; rf ; [R] ; (sb ; [F])? ; [R^acq or F^acq]
        let sw = self
            .only(|event| is_release(event) && (is_write(event) || is_fence(event)))
            .then(&self.only(is_fence).then(sb).optional())
            .then(&rs)
            .then(rf)
            .then(&self.only(is_read))
            .then(&sb.then(&self.only(is_fence)).optional())
            .then(&self.only(|event| is_acquire(event) && (is_read(event) || is_fence(event))));
        sb.or(&self.threads).or(&sw).repeated()
    }

    /// Returns `rb = rf⁻¹ ; mo`.
    fn reads_before(&self, mo: &Relation) -> Relation {
        self.reads_from.inverse().then(mo)
    }

    /// True when no `rmw` edge is in `rb ; mo`: no write comes between the halves of an update.
    fn is_atomic(&self, mo: &Relation, rb: &Relation) -> bool {
        let between = rb.then(mo);
        let torn = self.updates.where_both(|a, b| between.has(a, b));
        torn == Relation::empty(self.events.len())
    }

    /// True when sequential consistency allows the graph: `sb ∪ rf ∪ mo ∪ rb` is acyclic.
    pub fn is_sequentially_consistent(&self, mo: &Relation) -> bool {
        let rb = self.reads_before(mo);
        let program = self.program.or(&self.threads);
        let order = program.or(&self.reads_from).or(mo).or(&rb);
        self.is_atomic(mo, &rb) && order.is_acyclic()
    }

    /// True when RC11 allows the graph, with `hb` from [`happens_before`](Graph::happens_before)
    /// and the order of SeqCst operations of C++20.
    pub fn is_rc11(&self, hb: &Relation, mo: &Relation) -> bool {
        let eco = self.extended_coherence(mo);
        self.is_coherent(hb, mo, &eco) && self.order_of_sc(hb, &eco).is_acyclic()
    }

    /// As [`is_rc11`](Graph::is_rc11), with the order of SeqCst operations of the paper.
    pub fn is_rc11_of_the_paper(&self, hb: &Relation, mo: &Relation) -> bool {
        let eco = self.extended_coherence(mo);
        let rb = self.reads_before(mo);
        self.is_coherent(hb, mo, &eco) && self.partial_sc(hb, mo, &rb, &eco).is_acyclic()
    }

    /// Returns `eco = (rf ∪ mo ∪ rb)+`.
    fn extended_coherence(&self, mo: &Relation) -> Relation {
        let rb = self.reads_before(mo);
        self.reads_from.or(mo).or(&rb).repeated()
    }

    fn is_coherent(&self, hb: &Relation, mo: &Relation, eco: &Relation) -> bool {
        hb.is_irreflexive()
            && hb.then(eco).is_irreflexive()
            && self.is_atomic(mo, &self.reads_before(mo))
    }

    /// Returns the pairs of SeqCst operations whose order in `S` C++20 determines. An update is one
    /// operation there, so both halves have the same predecessors and successors.
    fn order_of_sc(&self, hb: &Relation, eco: &Relation) -> Relation {
        let whole = self.updates.or(&self.updates.inverse()).optional();
        let sb = self.program.where_both(|a, b| !self.updates.has(a, b));
        // Strongly happens before; initial writes are before everything.
        let shb = sb.or(&sb.then(hb).then(&sb));
        // Coherence-ordered before, between operations.
        let eco = eco.where_both(|a, b| !whole.has(a, b));
        let accesses = self.only(|event| is_sc(event) && !is_fence(event));
        let fences = self.only(|event| is_sc(event) && is_fence(event));
        let between = |first: &Relation, order: &Relation, second: &Relation| {
            first.then(&shb.or(order)).then(second)
        };
        between(&accesses, &eco, &accesses)
            .or(&between(&accesses, &eco.then(hb), &fences))
            .or(&between(&fences, &hb.then(&eco), &accesses))
            .or(&between(&fences, &hb.then(&eco).then(hb), &fences))
            .then(&whole)
    }

    /// Returns `psc`, the partial order that SeqCst events must respect.
    fn partial_sc(&self, hb: &Relation, mo: &Relation, rb: &Relation, eco: &Relation) -> Relation {
        let sb = &self.program;
        // scb = sb ∪ (sb≠loc ; hb ; sb≠loc) ∪ hb|loc ∪ mo ∪ rb
        let elsewhere = sb.where_both(|a, b| !self.is_same_location(a, b));
        let scb = sb
            .or(&elsewhere.then(hb).then(&elsewhere))
            .or(&hb.where_both(|a, b| self.is_same_location(a, b)))
            .or(mo)
            .or(rb);
        let sc = self.only(is_sc);
        let fences = self.only(|event| is_sc(event) && is_fence(event));
        // ([E^sc] ∪ [F^sc] ; hb?) ; scb ; ([E^sc] ∪ hb? ; [F^sc])
        let base = sc
            .or(&fences.then(&hb.optional()))
            .then(&scb)
            .then(&sc.or(&hb.optional().then(&fences)));
        // [F^sc] ; (hb ∪ hb ; eco ; hb) ; [F^sc]
        let between = hb.or(&hb.then(eco).then(hb));
        base.or(&fences.then(&between).then(&fences))
    }
}
