//! What the substrate tells the world of beside operations: things that the program has, what it calls them, and
//! how its threads ended.

use super::strategy::Dispatch;
use super::{Calls, World};
use crate::base::ids::{LocationId, ObjectId, PortListId, SiteId, ThreadId};
use crate::model::fault::Panic;
use crate::model::location::Location;
use crate::object::Object;

impl<D: Dispatch> World<D> {
    /// Makes a location known, with the value it has outside the execution.
    pub fn add_location(&mut self, initial: u64) -> LocationId {
        let locations = &mut self.state.execution.locations;
        locations.push(Location::new(initial));
        let location = LocationId::new(locations.len() - 1);
        self.state.views.add_location(location, initial);
        location
    }

    /// Remembers where in the source a location was made.
    #[inline]
    pub fn made_at(&mut self, location: LocationId, site: SiteId) {
        self.state.execution.locations[location.index()].made = Some(site);
    }

    /// Makes an object known, in the state it has outside the execution.
    pub fn add_object(&mut self, object: Object) -> ObjectId {
        let state = &mut self.state;
        state.execution.first_states.push(object.clone());
        state.execution.objects.push(object);
        state.objects += 1;
        if state.calls.len() < state.objects {
            state.calls.push(Calls::default());
        }
        ObjectId::new(state.objects - 1)
    }

    /// Remembers what kind of location the program calls it.
    #[inline]
    pub fn name_location(&mut self, location: LocationId, kind: &'static str) {
        let names = &mut self.state.execution.location_names;
        names.set_kind(location.index(), kind);
    }

    /// Remembers what kind of object the program calls it.
    #[inline]
    pub fn name_object(&mut self, object: ObjectId, kind: &'static str) {
        let names = &mut self.state.execution.object_names;
        names.set_kind(object.index(), kind);
    }

    /// Remembers the name the program gave a location.
    pub fn label_location(&mut self, location: LocationId, label: String) {
        let execution = &mut self.state.execution;
        let names = &mut execution.location_names;
        names.add_label(location.index(), label, execution.events.len());
    }

    /// Remembers the name the program gave an object.
    pub fn label_object(&mut self, object: ObjectId, label: String) {
        let execution = &mut self.state.execution;
        let names = &mut execution.object_names;
        names.add_label(object.index(), label, execution.events.len());
    }

    /// Says what the program's source calls a location, and on which line it was made.
    pub fn call_location(&mut self, location: LocationId, name: String, line: u32) {
        let names = &mut self.state.execution.location_names;
        names.set_variable(location.index(), name, line);
    }

    /// Says what the program's source calls an object, and on which line it was made.
    pub fn call_object(&mut self, object: ObjectId, name: String, line: u32) {
        let names = &mut self.state.execution.object_names;
        names.set_variable(object.index(), name, line);
    }

    /// Makes a list of ports known, for a receive that looks at several.
    pub fn add_ports(&mut self, ports: &[ObjectId]) -> PortListId {
        let lists = &mut self.state.execution.port_lists;
        let known = lists.iter().position(|list| list == ports);
        PortListId::new(known.unwrap_or_else(|| {
            lists.push(ports.to_vec());
            lists.len() - 1
        }))
    }

    /// One more could send to an ordered port.
    pub fn add_sender(&mut self, port: ObjectId) {
        self.state.port_mut(port).add_sender();
    }

    /// Remembers the name the program gave a thread.
    pub fn name_thread(&mut self, thread: ThreadId, name: String) {
        self.state.execution.threads[thread.index()].name = Some(name);
    }

    /// Remembers that a thread ended by a panic.
    pub fn add_panic(&mut self, panic: Panic) {
        self.state.execution.panics.push(panic);
    }

    /// Forgets all panics: they were to be.
    pub fn forgive_panics(&mut self) {
        self.state.execution.panics.clear();
    }

    /// If `thread` ended by a panic that no join has returned, records that `joiner` got it.
    pub fn join_panic(&mut self, thread: ThreadId, joiner: ThreadId) -> bool {
        let panics = &mut self.state.execution.panics;
        let untaken = |panic: &&mut Panic| panic.thread == thread && panic.joined_by.is_none();
        panics
            .iter_mut()
            .find(untaken)
            .map(|panic| panic.joined_by = Some(joiner))
            .is_some()
    }
}
