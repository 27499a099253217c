//! Information of the substrate besides operations: the locations and objects of the program, their
//! names, and panics of threads.

use super::ignored::Served;
use super::strategy::Dispatch;
use super::{Calls, World};
use crate::base::ids::{LocationId, ObjectId, PortListId, SiteId, ThreadId};
use crate::model::fault::Panic;
use crate::model::location::Location;
use crate::model::operation::Operation;
use crate::object::Object;

impl<D: Dispatch> World<D> {
    /// Adds a location, with its value outside the execution.
    pub fn add_location(&mut self, initial: u64) -> LocationId {
        let locations = &mut self.state.execution.locations;
        locations.push(Location::new(initial));
        let location = LocationId::new(locations.len() - 1);
        self.state.views.add_location(location, initial);
        location
    }

    /// Records the program's declaration that the value of a location decides nothing: no branch,
    /// address, operation or result depends on it.
    pub fn ignore_location(&mut self, location: LocationId) {
        self.state.execution.locations[location.index()].is_ignored = true;
        self.state.has_ignored = true;
    }

    /// Records that the value of the load that a thread is about to request decides nothing. Under sequential consistency
    /// a search with [`Reductions::paths`](crate::strategy::Reductions::paths) then leaves the load out, although the
    /// location is not ignored. The load is relaxed.
    pub fn ignore_next_read(&mut self, thread: ThreadId) {
        self.state.ignore_next_read(thread);
    }

    /// True when the execution has used an ignored location.
    pub fn has_ignored(&self) -> bool {
        self.state.has_ignored
    }

    /// True when the execution has performed a fence.
    pub fn has_fence(&self) -> bool {
        let mut events = self.state.execution.events.iter();
        events.any(|event| matches!(event.operation, Operation::Fence { .. }))
    }

    /// Serves other values of ignored locations from now on.
    pub fn serve(&mut self, served: Served) {
        self.served = Some(Box::new(served));
    }

    /// Returns the value that a read of an ignored location has for the program, given the one that
    /// it has read.
    pub fn served(&mut self, location: LocationId, value: u64) -> u64 {
        match &mut self.served {
            Some(served) => served.value(location, value),
            None => value,
        }
    }

    /// Records the site where a location was created.
    #[inline]
    pub fn made_at(&mut self, location: LocationId, site: SiteId) {
        self.state.execution.locations[location.index()].made = Some(site);
    }

    /// Adds an object, in its state outside the execution.
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

    /// Records the kind of a location, in the program's words.
    #[inline]
    pub fn name_location(&mut self, location: LocationId, kind: &'static str) {
        let names = &mut self.state.execution.location_names;
        names.set_kind(location.index(), kind);
    }

    /// Records the kind of an object, in the program's words.
    #[inline]
    pub fn name_object(&mut self, object: ObjectId, kind: &'static str) {
        let names = &mut self.state.execution.object_names;
        names.set_kind(object.index(), kind);
    }

    /// Records a name that the program gave a location.
    pub fn label_location(&mut self, location: LocationId, label: String) {
        let execution = &mut self.state.execution;
        let names = &mut execution.location_names;
        names.add_label(location.index(), label, execution.events.len());
    }

    /// Records a name that the program gave an object.
    pub fn label_object(&mut self, object: ObjectId, label: String) {
        let execution = &mut self.state.execution;
        let names = &mut execution.object_names;
        names.add_label(object.index(), label, execution.events.len());
    }

    /// Records the name of a location in the program's source, and the line where it was created;
    /// `None` if its address identifies it.
    pub fn call_location(&mut self, location: LocationId, name: String, line: Option<u32>) {
        let names = &mut self.state.execution.location_names;
        names.set_variable(location.index(), name, line);
    }

    /// Records the name of an object in the program's source, and the line where it was created;
    /// `None` if its address identifies it.
    pub fn call_object(&mut self, object: ObjectId, name: String, line: Option<u32>) {
        let names = &mut self.state.execution.object_names;
        names.set_variable(object.index(), name, line);
    }

    /// Adds a list of ports, for receives from several.
    pub fn add_ports(&mut self, ports: &[ObjectId]) -> PortListId {
        let lists = &mut self.state.execution.port_lists;
        let known = lists.iter().position(|list| list == ports);
        PortListId::new(known.unwrap_or_else(|| {
            lists.push(ports.to_vec());
            lists.len() - 1
        }))
    }

    /// Adds a sender to an ordered port.
    pub fn add_sender(&mut self, port: ObjectId) {
        self.state.port_mut(port).add_sender();
    }

    /// Records the name that the program gave a thread.
    pub fn name_thread(&mut self, thread: ThreadId, name: String) {
        self.state.execution.threads[thread.index()].name = Some(name);
    }

    /// Records that a thread ended by a panic.
    pub fn add_panic(&mut self, panic: Panic) {
        self.state.execution.panics.push(panic);
    }

    /// Removes all panics, because they were expected.
    pub fn forgive_panics(&mut self) {
        self.state.execution.panics.clear();
    }

    /// Records that `joiner` received the panic of `thread`, if there is one that no join has
    /// returned; true if so.
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
