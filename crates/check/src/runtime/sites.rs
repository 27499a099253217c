//! Places in the user's source as small integers.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_engine::SiteId;
use raddle_report::Place;

use crate::program::Program;

/// The sites that this worker has used in its check. They are looked up by the address of the
/// `Location`, which the compiler makes once for each call site, so a lookup is one multiplication
/// and one comparison. Only sites new to a worker are looked up in the table that all workers
/// share.
pub(crate) struct Sites {
    places: Arc<Places>,
    known: Vec<(&'static Location<'static>, SiteId)>,
    /// The last lookups, by some bits of the address.
    recent: [Option<(&'static Location<'static>, SiteId)>; RECENT],
    /// Indices of `known`, by open addressing; the length is a power of two and at least twice the
    /// number of places.
    table: Vec<Option<u32>>,
    /// Sites of instructions in a native program.
    codes: BTreeMap<usize, SiteId>,
    recent_code: [Option<(usize, SiteId)>; RECENT],
}

const RECENT: usize = 64;

/// The places that the workers of a check have used, with the same numbers for all.
pub(crate) struct Places {
    program: &'static dyn Program,
    list: Mutex<Vec<KnownPlace>>,
}

/// A place in this program, or one that was read from a file.
enum KnownPlace {
    Here(&'static Location<'static>),
    Read(Position),
    /// An instruction of a native program.
    Code(usize),
}

#[derive(PartialEq, Eq)]
struct Position {
    file: String,
    line: u32,
    column: u32,
}

impl Places {
    pub(crate) fn new(program: &'static dyn Program) -> Self {
        let list = Mutex::default();
        Places { program, list }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<KnownPlace>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    fn intern(&self, place: &'static Location<'static>) -> SiteId {
        let mut list = self.lock();
        // The compiler may emit one place several times.
        let same = |known: &KnownPlace| match known {
            KnownPlace::Here(other) => *other == place,
            KnownPlace::Read(position) => {
                position.line == place.line()
                    && position.column == place.column()
                    && position.file == place.file()
            }
            KnownPlace::Code(_) => false,
        };
        let index = list.iter().position(same).unwrap_or(list.len());
        match list.get_mut(index) {
            Some(known) => *known = KnownPlace::Here(place),
            None => list.push(KnownPlace::Here(place)),
        }
        SiteId::new(index)
    }

    #[cold]
    fn intern_code(&self, code: usize) -> SiteId {
        let mut list = self.lock();
        let same = |known: &KnownPlace| matches!(known, KnownPlace::Code(other) if *other == code);
        let known = list
            .iter()
            .position(same)
            .or_else(|| self.read_before(code, &list));
        let index = known.unwrap_or(list.len());
        match list.get_mut(index) {
            Some(known) => *known = KnownPlace::Code(code),
            None => list.push(KnownPlace::Code(code)),
        }
        SiteId::new(index)
    }

    /// Returns the index of the place of an instruction, if it was read from a file and has no instruction yet. Debug
    /// information is read only if there are such places.
    fn read_before(&self, code: usize, list: &[KnownPlace]) -> Option<usize> {
        let is_read = |known: &KnownPlace| matches!(known, KnownPlace::Read(_));
        if !list.iter().any(is_read) {
            return None;
        }
        let Place { file, line, column } = self.program.place(code)?;
        let position = Position { file, line, column };
        let same = |known: &KnownPlace| matches!(known, KnownPlace::Read(it) if *it == position);
        list.iter().position(same)
    }

    pub(crate) fn place(&self, site: SiteId) -> Option<Place> {
        let list = self.lock();
        match list.get(site.index())? {
            KnownPlace::Here(location) => Some(super::place(location)),
            KnownPlace::Read(position) => Some(Place {
                file: position.file.clone(),
                line: position.line,
                column: position.column,
            }),
            KnownPlace::Code(code) => self.program.place(*code),
        }
    }

    /// Returns the instruction of a site in a native program.
    pub(crate) fn code(&self, site: SiteId) -> Option<usize> {
        match self.lock().get(site.index())? {
            KnownPlace::Code(code) => Some(*code),
            KnownPlace::Here(_) | KnownPlace::Read(_) => None,
        }
    }

    /// Returns the calls that led to a site in a native program.
    pub(crate) fn chain(&self, site: SiteId) -> Option<String> {
        match self.lock().get(site.index())? {
            KnownPlace::Code(code) => self.program.call_chain(*code),
            _ => None,
        }
    }

    /// Returns a place as text for files.
    pub(crate) fn to_text(&self, site: SiteId) -> Option<String> {
        let list = self.lock();
        match list.get(site.index())? {
            KnownPlace::Here(location) => Some(location.to_string()),
            KnownPlace::Read(Position { file, line, column }) => {
                Some(format!("{file}:{line}:{column}"))
            }
            KnownPlace::Code(code) => {
                let Place { file, line, column } = self.program.place(*code)?;
                Some(format!("{file}:{line}:{column}"))
            }
        }
    }

    /// Returns the site of a place from a file.
    pub(crate) fn of_text(&self, text: &str) -> SiteId {
        let mut parts = text.rsplitn(3, ':');
        let mut number = || parts.next().and_then(|part| part.parse().ok());
        let (column, line) = (number().unwrap_or(0), number().unwrap_or(0));
        let file = parts.next().unwrap_or(text).to_owned();
        let position = Position { file, line, column };
        let mut list = self.lock();
        let same = |known: &KnownPlace| match known {
            KnownPlace::Here(location) => location.to_string() == text,
            KnownPlace::Read(other) => *other == position,
            KnownPlace::Code(_) => false,
        };
        let index = list.iter().position(same).unwrap_or(list.len());
        if index == list.len() {
            list.push(KnownPlace::Read(position));
        }
        SiteId::new(index)
    }
}

impl Sites {
    pub(crate) fn new(places: Arc<Places>) -> Self {
        Sites {
            places,
            known: Vec::new(),
            recent: [None; RECENT],
            table: vec![None; 64],
            codes: BTreeMap::new(),
            recent_code: [None; RECENT],
        }
    }

    #[inline]
    pub(crate) fn intern(&mut self, place: &'static Location<'static>) -> SiteId {
        let slot = std::ptr::from_ref(place) as usize / size_of::<Location<'_>>() % RECENT;
        match self.recent[slot] {
            Some((recent, id)) if std::ptr::eq(recent, place) => id,
            _ => {
                let id = self.find(place);
                self.recent[slot] = Some((place, id));
                id
            }
        }
    }

    /// Returns the site of an instruction.
    #[inline]
    pub(crate) fn intern_code(&mut self, code: usize) -> SiteId {
        let slot = (code ^ code >> 48) % RECENT;
        match self.recent_code[slot] {
            Some((recent, id)) if recent == code => id,
            _ => {
                let places = &self.places;
                let known = self.codes.entry(code);
                let id = *known.or_insert_with(|| places.intern_code(code));
                self.recent_code[slot] = Some((code, id));
                id
            }
        }
    }

    fn find(&mut self, place: &'static Location<'static>) -> SiteId {
        let mut slot = self.first_slot(place);
        loop {
            match self.table[slot].map(|index| self.known[index as usize]) {
                Some((known, id)) if std::ptr::eq(known, place) => return id,
                Some(_) => slot = (slot + 1) & (self.table.len() - 1),
                None => return self.insert(slot, place),
            }
        }
    }

    /// Returns the places that all workers of the check share.
    pub(crate) fn places(&self) -> &Arc<Places> {
        &self.places
    }

    fn first_slot(&self, place: &'static Location<'static>) -> usize {
        let address = std::ptr::from_ref(place) as usize as u64;
        let hash = (address >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.table.len() - 1)
    }

    #[cold]
    fn insert(&mut self, slot: usize, place: &'static Location<'static>) -> SiteId {
        let _aside = crate::runtime::alloc::aside();
        let id = self.places.intern(place);
        self.table[slot] = Some(self.known.len() as u32);
        self.known.push((place, id));
        if self.known.len() * 2 > self.table.len() {
            self.table = vec![None; self.table.len() * 2];
            for (index, (place, _)) in self.known.iter().enumerate() {
                let mut slot = self.first_slot(place);
                while self.table[slot].is_some() {
                    slot = (slot + 1) & (self.table.len() - 1);
                }
                self.table[slot] = Some(index as u32);
            }
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Library;

    #[test]
    fn a_place_from_a_file_is_the_same_place_here() {
        let places = Arc::new(Places::new(&Library));
        let here = Location::caller();
        let read = places.of_text(&here.to_string());
        let windows = places.of_text(r"C:\a b.rs:7:9");
        let mut sites = Sites::new(Arc::clone(&places));
        assert_eq!(sites.intern(here), read);
        assert_eq!(sites.intern(here), read);
        assert_eq!(places.of_text(&here.to_string()), read);
        assert_eq!(places.to_text(read), Some(here.to_string()));
        assert_eq!(places.to_text(windows).unwrap(), r"C:\a b.rs:7:9");
        let place = places.place(windows).unwrap();
        assert_eq!((place.file.as_str(), place.line), (r"C:\a b.rs", 7));
    }

    #[test]
    fn workers_call_places_the_same() {
        let places = Arc::new(Places::new(&Library));
        let mut one = Sites::new(Arc::clone(&places));
        let mut other = Sites::new(Arc::clone(&places));
        let (a, b) = (Location::caller(), std::panic::Location::caller());
        let (a_one, b_one) = (one.intern(a), one.intern(b));
        assert_eq!((other.intern(b), other.intern(a)), (b_one, a_one));
    }
}
