//! A linked program or library: its sections, functions and imports.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget,
    SectionFlags, SectionKind, SymbolKind,
};

use crate::Error;
use crate::exceptions::{self, LandingPads};

struct Section<'d> {
    address: u64,
    data: &'d [u8],
    is_constant: bool,
    is_code: bool,
}

/// A function, by its symbol or its unwind information.
pub(crate) struct Function {
    pub(crate) end: u64,
    pub(crate) name: Option<String>,
}

/// The program or library.
pub(crate) struct Image<'d> {
    sections: Vec<Section<'d>>,
    pub(crate) functions: BTreeMap<u64, Function>,
    /// Slots of the global offset table that the loader fills with a symbol of another file.
    imports: HashMap<u64, String>,
    /// Slots that it fills with an address of this one.
    relative: HashMap<u64, u64>,
    pub(crate) landing_pads: LandingPads,
    pub(crate) build_id: Option<Vec<u8>>,
    /// Functions that other files may call, by their name or a pointer in memory.
    pub(crate) exported: BTreeSet<u64>,
}

/// Destination of a call or a jump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Function(u64),
    /// A function of another file, or of ThreadSanitizer's interface.
    Import(String),
    Unknown,
}

impl<'d> Image<'d> {
    pub(crate) fn parse(file: &'d [u8]) -> Result<Self, Error> {
        let object = object::File::parse(file).map_err(|error| Error::new(&error.to_string()))?;
        if object.architecture() != Architecture::X86_64 {
            return Err(Error::new("it is not for x86-64"));
        }
        let mut sections = Vec::new();
        for section in object.sections().filter(|section| section.address() != 0) {
            const WRITABLE: u64 = object::elf::SHF_WRITE as u64;
            let is_read_only = matches!(section.flags(), SectionFlags::Elf { sh_flags } if sh_flags & WRITABLE == 0);
            // The loader writes to these, and the program does not.
            let name = section.name().unwrap_or_default();
            let is_loaders = name.starts_with(".got") || name.starts_with(".data.rel.ro");
            // Memory that is zero at first has no data.
            let data = section.data().unwrap_or_default();
            sections.push(Section {
                address: section.address(),
                data,
                is_constant: is_read_only || is_loaders,
                is_code: section.kind() == SectionKind::Text,
            });
        }
        let mut image = Self {
            sections,
            functions: BTreeMap::new(),
            imports: HashMap::new(),
            relative: HashMap::new(),
            landing_pads: LandingPads::default(),
            build_id: object.build_id().ok().flatten().map(<[u8]>::to_vec),
            exported: BTreeSet::new(),
        };
        let (landing_pads, extents) = exceptions::read(&object);
        image.landing_pads = landing_pads;
        for (start, end) in extents {
            image.functions.insert(start, Function { end, name: None });
        }
        for symbol in object.symbols().chain(object.dynamic_symbols()) {
            if symbol.is_definition() && symbol.kind() == SymbolKind::Text {
                image.add(symbol.address(), symbol.size(), symbol.name().ok());
            }
        }
        if let (Some(relocations), Some(symbols)) =
            (object.dynamic_relocations(), object.dynamic_symbol_table())
        {
            for (slot, relocation) in relocations {
                match relocation.target() {
                    RelocationTarget::Symbol(index) => {
                        let symbol = symbols.symbol_by_index(index);
                        let name = symbol.as_ref().ok().and_then(|symbol| symbol.name().ok());
                        image
                            .imports
                            .insert(slot, name.unwrap_or_default().to_owned());
                    }
                    _ => {
                        image.relative.insert(slot, relocation.addend() as u64);
                    }
                }
            }
        }
        let exported = object
            .dynamic_symbols()
            .filter(|symbol| symbol.is_definition());
        image.exported = exported.map(|symbol| symbol.address()).collect();
        image.exported.insert(object.entry());
        image.exported.extend(image.relative.values());
        image.exported.extend(image.words());
        Ok(image)
    }

    /// Returns the words of data that are addresses of functions.
    fn words(&self) -> Vec<u64> {
        let data = self.sections.iter().filter(|section| !section.is_code);
        let words = data.flat_map(|section| section.data.as_chunks().0);
        let words = words.map(|&chunk| u64::from_le_bytes(chunk));
        words
            .filter(|word| self.functions.contains_key(word))
            .collect()
    }

    fn add(&mut self, start: u64, size: u64, name: Option<&str>) {
        let name = name.map(str::to_owned);
        let known = self.functions.get_mut(&start);
        match known {
            Some(known) => {
                known.end = known.end.max(start + size);
                known.name = known.name.take().or(name);
            }
            None if size > 0 => {
                let end = start + size;
                self.functions.insert(start, Function { end, name });
            }
            None => {}
        }
    }

    pub(crate) fn name(&self, function: u64) -> Option<&str> {
        self.functions.get(&function)?.name.as_deref()
    }

    fn section(&self, address: u64) -> Option<&Section<'d>> {
        let mut sections = self.sections.iter();
        sections.find(|section| {
            let end = section.address + section.data.len() as u64;
            (section.address..end).contains(&address)
        })
    }

    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.section(address).is_some_and(|section| section.is_code)
    }

    /// True if the program cannot write to the address.
    pub(crate) fn is_constant(&self, address: u64) -> bool {
        self.section(address)
            .is_some_and(|section| section.is_constant)
    }

    fn bytes(&self, address: u64) -> &'d [u8] {
        self.section(address).map_or(&[], |section| {
            &section.data[(address - section.address) as usize..]
        })
    }

    /// Returns the address that the loader stores at an address.
    pub(crate) fn pointer(&self, address: u64) -> Option<u64> {
        self.relative.get(&address).copied()
    }

    /// Returns an entry of a table of constants, with its sign.
    pub(crate) fn entry(&self, address: u64, size: u8) -> Option<i64> {
        let bytes = self.bytes(address);
        match size {
            4 => bytes
                .first_chunk()
                .map(|&chunk| i32::from_le_bytes(chunk).into()),
            8 => match self.relative.get(&address) {
                Some(&target) => Some(target as i64),
                None => bytes.first_chunk().map(|&chunk| i64::from_le_bytes(chunk)),
            },
            _ => None,
        }
    }

    /// Decodes the instruction at an address.
    pub(crate) fn decode(&self, address: u64) -> Option<Instruction> {
        let bytes = self.bytes(address);
        let longest = &bytes[..bytes.len().min(15)];
        let mut decoder = Decoder::with_ip(64, longest, address, DecoderOptions::NONE);
        let instruction = decoder.decode();
        (!instruction.is_invalid()).then_some(instruction)
    }

    /// Returns all instructions of a function, in the order of their addresses.
    pub(crate) fn instructions(
        &self,
        function: u64,
    ) -> impl Iterator<Item = Instruction> + use<'d> {
        let end = self.functions.get(&function).map_or(0, |known| known.end);
        let bytes = self.bytes(function);
        let length = bytes
            .len()
            .min(usize::try_from(end.saturating_sub(function)).unwrap_or(0));
        Decoder::with_ip(64, &bytes[..length], function, DecoderOptions::NONE).into_iter()
    }

    fn slot(&self, slot: u64) -> Target {
        match (self.imports.get(&slot), self.relative.get(&slot)) {
            (Some(name), _) => Target::Import(name.clone()),
            (None, Some(&target)) => self.target_at(target),
            (None, None) => Target::Unknown,
        }
    }

    /// Returns the function at an address of code, which may be a stub that jumps to an import.
    pub(crate) fn target_at(&self, address: u64) -> Target {
        if let Some(function) = self.functions.get(&address) {
            return match &function.name {
                Some(name) if name.starts_with("__tsan_") => Target::Import(name.clone()),
                _ => match self.stub(address) {
                    Target::Unknown => Target::Function(address),
                    import => import,
                },
            };
        }
        self.stub(address)
    }

    fn stub(&self, address: u64) -> Target {
        let mut next = address;
        for _ in 0..3 {
            let Some(instruction) = self.decode(next) else {
                break;
            };
            if instruction.mnemonic() == Mnemonic::Jmp && instruction.is_ip_rel_memory_operand() {
                return self.slot(instruction.memory_displacement64());
            }
            if instruction.mnemonic() != Mnemonic::Endbr64 {
                break;
            }
            next = instruction.next_ip();
        }
        Target::Unknown
    }

    /// Returns the destination of a call or a jump that says it.
    pub(crate) fn target(&self, instruction: &Instruction) -> Target {
        match instruction.flow_control() {
            FlowControl::Call
            | FlowControl::UnconditionalBranch
            | FlowControl::ConditionalBranch => self.target_at(instruction.near_branch64()),
            _ if instruction.is_ip_rel_memory_operand() => {
                self.slot(instruction.memory_displacement64())
            }
            _ => Target::Unknown,
        }
    }
}
