//! Unwind information: bounds of functions, and where exceptions land.

use std::collections::{BTreeMap, BTreeSet};

use gimli::{
    BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, Pointer, Reader, UnwindSection,
};
use object::{Object, ObjectSection};

/// Landing pads of ranges of calls.
#[derive(Default)]
pub(crate) struct LandingPads {
    /// By the begin of a range: its end and its pad.
    ranges: BTreeMap<u64, (u64, u64)>,
    /// Functions whose table could not be read.
    unread: BTreeSet<u64>,
}

impl LandingPads {
    /// Returns the landing pad of a call.
    pub(crate) fn of(&self, call: u64) -> Option<u64> {
        let (_, &(end, pad)) = self.ranges.range(..=call).next_back()?;
        (call < end).then_some(pad)
    }

    /// True if the landing pads of a function are unknown.
    pub(crate) fn is_unread(&self, function: u64) -> bool {
        self.unread.contains(&function)
    }
}

/// Returns the landing pads and the bounds of all functions with unwind information.
pub(crate) fn read(object: &object::File) -> (LandingPads, Vec<(u64, u64)>) {
    let mut pads = LandingPads::default();
    let mut extents = Vec::new();
    let Some(section) = object.section_by_name(".eh_frame") else {
        return (pads, extents);
    };
    let frames = EhFrame::new(section.data().unwrap_or_default(), LittleEndian);
    let text = object.section_by_name(".text");
    let bases = BaseAddresses::default()
        .set_eh_frame(section.address())
        .set_text(text.map_or(0, |text| text.address()));
    let mut entries = frames.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else {
            continue;
        };
        let start = fde.initial_address();
        extents.push((start, start + fde.len()));
        let is_read = match fde.lsda() {
            None => true,
            Some(Pointer::Direct(table)) => read_table(object, table, start, &mut pads).is_some(),
            Some(Pointer::Indirect(_)) => false,
        };
        if !is_read {
            pads.unread.insert(start);
        }
    }
    (pads, extents)
}

/// Reads the call sites of a function (the language-specific data area of the Itanium ABI for C++).
fn read_table(
    object: &object::File,
    table: u64,
    function: u64,
    pads: &mut LandingPads,
) -> Option<()> {
    const OMITTED: u8 = 0xff;
    let section = object.sections().find(|section| {
        let end = section.address() + section.size();
        section.address() != 0 && (section.address()..end).contains(&table)
    })?;
    let data = section.data().ok()?;
    let data = data.get((table - section.address()) as usize..)?;
    let mut reader = EndianSlice::new(data, LittleEndian);
    // Another base of the pads is of functions in several parts, and unknown here.
    if reader.read_u8().ok()? != OMITTED {
        return None;
    }
    if reader.read_u8().ok()? != OMITTED {
        reader.read_uleb128().ok()?;
    }
    let encoding = reader.read_u8().ok()?;
    let length = reader.read_uleb128().ok()?;
    let mut sites = reader.split(usize::try_from(length).ok()?).ok()?;
    while !sites.is_empty() {
        let mut next = || match encoding {
            0x01 => sites.read_uleb128().ok(),
            0x03 | 0x0b => sites.read_u32().ok().map(u64::from),
            _ => None,
        };
        let (start, length, pad) = (next()?, next()?, next()?);
        sites.read_uleb128().ok()?;
        if pad != 0 {
            let start = function + start;
            pads.ranges.insert(start, (start + length, function + pad));
        }
    }
    Some(())
}
