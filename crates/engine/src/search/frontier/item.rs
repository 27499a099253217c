//! A part of the search that can be run on its own, and its text form.
//!
//! The text contains the decisions of the search: events with their sources and outcomes, insertion
//! order, coherence, arrival order, and branches. Clocks, states of objects and logs by location or
//! object follow from that.

use std::fmt::Write;

use super::{Problem, VERSION};
use crate::base::ids::{EventId, ObjectId, SiteId, ThreadId};
use crate::base::words::{Limits, Reader, Words, unknown};
use crate::object::Object;
use crate::search::explore::frame::{Branch, Frame};
use crate::search::graph::{Graph, LocationLog, Node, NodeKind, ObjectLog, ThreadLog};
use crate::search::reduce::Reductions;

/// A part of the search tree: a graph, and branches from it.
#[derive(Debug)]
pub struct Item(pub(crate) Frame);

impl Item {
    /// Returns the number of untried branches.
    pub fn branches(&self) -> usize {
        self.0.branches.len()
    }

    /// Writes the text; `place` returns the source location of a site as one word.
    pub fn to_text(&self, place: impl Fn(SiteId) -> Option<String>) -> String {
        let graph = &self.0.graph;
        let mut sites = Sites {
            known: Vec::new(),
            places: Vec::new(),
            place: &place,
        };
        let mut body = String::new();
        for line in &graph.threads {
            write_line(&mut body, line, &mut sites);
        }
        for cell in &graph.locations {
            body += "location";
            cell.initial.write(&mut body);
            cell.is_reserved().write(&mut body);
            cell.writes.iter().for_each(|write| write.write(&mut body));
            body += "\n";
        }
        for machine in &graph.objects {
            body += "object";
            machine.states.first().cloned().write(&mut body);
            let sends = machine.port.sends.iter();
            sends.for_each(|send| send.write(&mut body));
            body += "\n";
        }
        for list in &graph.port_lists {
            body += "ports";
            list.iter().for_each(|port| port.write(&mut body));
            body += "\n";
        }
        for Branch { keep, change } in &self.0.branches {
            body += "branch";
            keep.write(&mut body);
            change.write(&mut body);
            body += "\n";
        }
        let mut text = format!(
            "item {VERSION} weak {} threads {} locations {} objects {} lists {} sites {}\n",
            u32::from(graph.weak),
            graph.threads.len(),
            graph.locations.len(),
            graph.objects.len(),
            graph.port_lists.len(),
            sites.places.len(),
        );
        for place in &sites.places {
            let _ = writeln!(text, "site {place}");
        }
        text + &body + "end\n"
    }

    /// Reads one item from the lines of a text; `site` interns a source location.
    pub fn read<'a>(
        lines: &mut impl Iterator<Item = &'a str>,
        mut site: impl FnMut(&str) -> SiteId,
    ) -> Result<Self, Problem> {
        let (weak, limits) = header(lines.next().ok_or(Problem::TextEnds)?)?;
        let mut graph = Graph::new(Reductions::default());
        graph.weak = weak;
        (graph.threads, graph.locations, graph.canonical) = Default::default();
        let (mut places, mut branches) = (Vec::new(), Vec::new());
        let mut messages: Vec<Vec<EventId>> = Vec::new();
        loop {
            let line = lines.next().ok_or(Problem::TextEnds)?;
            let mut words = Reader::new(line, limits);
            match words.word()? {
                "site" => {
                    // Paths may contain spaces.
                    places.push(site(line.trim_start_matches("site").trim()));
                    continue;
                }
                "thread" => graph.threads.push(ThreadLog {
                    ended: words.read()?,
                    place: place(&mut words, &places)?,
                    ..ThreadLog::default()
                }),
                "event" => {
                    let (node, at) = read_event(&mut words, &places)?;
                    let line = graph.threads.last_mut().ok_or(Problem::Events)?;
                    line.nodes.push(node);
                    line.sites.push(at);
                    continue;
                }
                "location" => graph.locations.push(LocationLog::written(
                    words.read()?,
                    words.read()?,
                    rest(&mut words)?,
                )),
                "object" => {
                    let state: Option<Object> = words.read()?;
                    graph.objects.push(ObjectLog {
                        states: state.into_iter().collect(),
                        ..ObjectLog::default()
                    });
                    messages.push(rest(&mut words)?);
                }
                "ports" => graph.port_lists.push(rest(&mut words)?),
                "branch" => branches.push(Branch {
                    keep: words.read()?,
                    change: words.read()?,
                }),
                "end" => break,
                word => return Err(unknown(word)),
            }
            words.end()?;
        }
        let has = Limits {
            threads: graph.threads.len(),
            locations: graph.locations.len(),
            objects: graph.objects.len(),
            port_lists: graph.port_lists.len(),
            sites: places.len(),
        };
        if has != limits || has.threads == 0 {
            return Err(Problem::Events);
        }
        graph.rebuild(&messages)?;
        graph.weakness = graph.find_weakness();
        let fits = |branch: &Branch| branch.keep <= graph.order.len();
        if !branches.iter().all(fits) {
            return Err(Problem::Events);
        }
        Ok(Item(Frame {
            graph,
            is_mixed: true,
            branches,
            ..Frame::default()
        }))
    }
}

/// Source locations in the order of first use, each once.
struct Sites<'a> {
    known: Vec<SiteId>,
    places: Vec<String>,
    place: &'a dyn Fn(SiteId) -> Option<String>,
}

impl Sites<'_> {
    fn write(&mut self, site: Option<SiteId>, out: &mut String) {
        let number = site.and_then(|site| {
            let known = self.known.iter().position(|&other| other == site);
            known.or_else(|| {
                self.places.push((self.place)(site)?);
                self.known.push(site);
                Some(self.known.len() - 1)
            })
        });
        number.write(out);
    }
}

fn place(words: &mut Reader<'_>, places: &[SiteId]) -> Result<Option<SiteId>, Problem> {
    let number: Option<SiteId> = words.read()?;
    let known = |number: SiteId| places.get(number.index()).copied();
    number
        .map(|number| known(number).ok_or(Problem::Events))
        .transpose()
}

/// Reads whether the graph is weak, and the numbers of its threads, locations, objects and port
/// lists.
fn header(line: &str) -> Result<(bool, Limits), Problem> {
    let mut words = Reader::new(line, Limits::default());
    let mut number = |name: &str| {
        let word = words.word()?;
        if word != name {
            return Err(unknown(word));
        }
        words.read::<u32>().map(|number| number as usize)
    };
    let version = number("item")?;
    if version != VERSION as usize {
        return Err(Problem::Version(version.to_string()));
    }
    let weak = number("weak")? != 0;
    let limits = Limits {
        threads: number("threads")?,
        locations: number("locations")?,
        objects: number("objects")?,
        port_lists: number("lists")?,
        sites: number("sites")?,
    };
    Ok((weak, limits))
}

fn rest<T: Words>(words: &mut Reader<'_>) -> Result<Vec<T>, Problem> {
    let mut list = Vec::new();
    while !words.is_empty() {
        list.push(words.read()?);
    }
    Ok(list)
}

fn write_line(out: &mut String, line: &ThreadLog, sites: &mut Sites<'_>) {
    *out += "thread";
    line.ended.write(out);
    sites.write(line.place, out);
    *out += "\n";
    for (index, node) in line.nodes.iter().enumerate() {
        *out += "event";
        node.stamp.write(out);
        node.kind.write(out);
        node.source.write(out);
        node.outcome.write(out);
        node.written().write(out);
        node.oldest.write(out);
        node.strength.write(out);
        node.failure.write(out);
        sites.write(line.sites.get(index).copied().flatten(), out);
        *out += "\n";
    }
}

fn read_event(
    words: &mut Reader<'_>,
    places: &[SiteId],
) -> Result<(Node, Option<SiteId>), Problem> {
    let (stamp, kind, source, outcome) =
        (words.read()?, words.read()?, words.read()?, words.read()?);
    let written: Option<u64> = words.read()?;
    let node = Node {
        stamp,
        kind,
        source,
        outcome,
        value: written.unwrap_or_default(),
        is_unknown: written.is_none(),
        oldest: words.read()?,
        strength: words.read()?,
        failure: words.read()?,
        run: 0,
        place: 0,
        unread: 0,
    };
    // Only a store may have no value.
    if node.is_unknown && !matches!(node.kind, NodeKind::Write { .. }) {
        return Err(unknown("-"));
    }
    Ok((node, place(words, places)?))
}

impl Graph {
    /// Derives all data that follow from events, coherence and arrival order.
    fn rebuild(&mut self, messages: &[Vec<EventId>]) -> Result<(), Problem> {
        self.find_order()?;
        while self.width < self.threads.len() {
            self.width *= 2;
        }
        self.revive(ThreadId::MAIN, None);
        for stamp in 0..self.order.len() {
            let id = self.order[stamp];
            let run = self.run_before(stamp as u32, id);
            let Node { kind, source, .. } = *self.node(id);
            self.node_mut(id).run = run;
            if source.is_some_and(|source| !self.has(source)) {
                return Err(Problem::Events);
            }
            self.note(id, kind);
            match kind {
                NodeKind::Spawn { child } => self.revive(child, Some(id)),
                NodeKind::Completion { object } => self.object_mut(object).completions.push(id),
                NodeKind::Pass { barrier } if source.is_none() => {
                    self.object_mut(barrier).completions.push(id);
                }
                _ => {}
            }
        }
        for (index, sends) in messages.iter().enumerate() {
            self.put_in_order(ObjectId::new(index), sends)?;
        }
        for index in 0..self.locations.len() {
            for position in 0..self.locations[index].writes.len() {
                let write = self.locations[index].writes[position];
                if !self.has(write) {
                    return Err(Problem::Events);
                }
                self.node_mut(write).place = position as u32;
            }
        }
        self.complete_again()?;
        self.find_clocks();
        Ok(())
    }

    fn has(&self, id: EventId) -> bool {
        let line = self.threads.get(id.thread.index());
        line.is_some_and(|line| (id.index as usize) < line.nodes.len())
    }

    fn find_order(&mut self) -> Result<(), Problem> {
        let count = self.threads.iter().map(|line| line.nodes.len()).sum();
        let mut order = vec![None; count];
        for (thread, line) in self.threads.iter().enumerate() {
            let thread = ThreadId::new(thread);
            for (index, node) in line.nodes.iter().enumerate() {
                let index = index as u32;
                let slot = order.get_mut(node.stamp as usize).ok_or(Problem::Events)?;
                if slot.replace(EventId { thread, index }).is_some() {
                    return Err(Problem::Events);
                }
            }
        }
        self.order = order.into_iter().flatten().collect();
        Ok(())
    }

    /// Sets the arrival order of an ordered port.
    fn put_in_order(&mut self, port: ObjectId, sends: &[EventId]) -> Result<(), Problem> {
        let inbox = self.port_mut(port);
        let is_known = |send: &EventId| inbox.sends.contains(send);
        if sends.len() != inbox.sends.len() || !sends.iter().all(is_known) {
            return Err(Problem::Events);
        }
        inbox.sends = sends.to_vec();
        Ok(())
    }

    /// Sorts completions and passes, and derives the states of objects.
    fn complete_again(&mut self) -> Result<(), Problem> {
        for index in 0..self.objects.len() {
            let object = ObjectId::new(index);
            let mut completions = std::mem::take(&mut self.objects[index].completions);
            completions.sort_by_key(|&id| self.node(id).value);
            let position =
                |(position, &id): (usize, &EventId)| self.node(id).value == position as u64;
            if !completions.iter().enumerate().all(position) {
                return Err(Problem::Events);
            }
            for &id in &completions {
                let node = *self.node(id);
                let NodeKind::Completion { .. } = node.kind else {
                    continue;
                };
                let Some(index) = id.index.checked_sub(1) else {
                    return Err(Problem::Events);
                };
                let NodeKind::Call { call, .. } = self.node(EventId { index, ..id }).kind else {
                    return Err(Problem::Events);
                };
                let machine = self.object_mut(object);
                let mut state = machine.states.last().ok_or(Problem::Events)?.clone();
                if !state.takes(call) {
                    return Err(Problem::Events);
                }
                let reply = state.apply(call, id.thread, node.outcome.outcome());
                machine
                    .synchronizations
                    .push(state.synchronization(call, reply));
                machine.states.push(state);
            }
            self.objects[index].completions = completions;
        }
        Ok(())
    }
}
