//! Places in the user's source as small integers.

use std::panic::Location;

use raddle_engine::SiteId;

/// Every place seen so far in this check. Looked up by the address of the `Location`, which the
/// compiler makes once for each call site, so a lookup is one multiplication and one comparison.
pub(crate) struct Sites {
    places: Vec<&'static Location<'static>>,
    /// What was asked for last, by some bits of the address.
    recent: [Option<(&'static Location<'static>, SiteId)>; RECENT],
    /// Open addressing; the length is a power of two and at least twice the number of places.
    table: Vec<Option<SiteId>>,
}

const RECENT: usize = 64;

impl Sites {
    pub(crate) fn new() -> Self {
        Sites {
            places: Vec::new(),
            recent: [None; RECENT],
            table: vec![None; 64],
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

    fn find(&mut self, place: &'static Location<'static>) -> SiteId {
        let mut slot = self.first_slot(place);
        loop {
            match self.table[slot] {
                Some(id) if std::ptr::eq(self.places[id.index()], place) => return id,
                Some(_) => slot = (slot + 1) & (self.table.len() - 1),
                None => return self.insert(slot, place),
            }
        }
    }

    pub(crate) fn place(&self, site: SiteId) -> Option<&'static Location<'static>> {
        self.places.get(site.index()).copied()
    }

    fn first_slot(&self, place: &'static Location<'static>) -> usize {
        let address = std::ptr::from_ref(place) as usize as u64;
        let hash = (address >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.table.len() - 1)
    }

    #[cold]
    fn insert(&mut self, slot: usize, place: &'static Location<'static>) -> SiteId {
        let id = SiteId::new(self.places.len());
        self.places.push(place);
        self.table[slot] = Some(id);
        if self.places.len() * 2 > self.table.len() {
            self.table = vec![None; self.table.len() * 2];
            for (index, place) in self.places.iter().enumerate() {
                let mut slot = self.first_slot(place);
                while self.table[slot].is_some() {
                    slot = (slot + 1) & (self.table.len() - 1);
                }
                self.table[slot] = Some(SiteId::new(index));
            }
        }
        id
    }
}
