//! The analysis of a program: functions from callees to callers, until no summary changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use crate::flow::callbacks::is_read;
use crate::flow::{Shared, Visit};
use crate::image::{Image, Target};
use crate::sets::Sets;
use crate::summary::{Effects, Sink, Summary};
use crate::{Analysis, Read, UnseenLoad, Verdict};

/// Functions without callbacks are followed up to this number of instructions; longer ones are unknown.
const LONGEST_UNINSTRUMENTED: usize = 300;
/// Analyses of a function after which it counts as unknown.
const MOST_ANALYSES: usize = 40;

/// What a look at all instructions of a function finds.
#[derive(Default)]
struct Scan {
    callees: BTreeSet<u64>,
    /// Return addresses of the callbacks of reads.
    reads: BTreeSet<u64>,
    is_instrumented: bool,
    length: usize,
    /// Functions whose address an instruction contains.
    pointed_at: BTreeSet<u64>,
    /// True if an instruction accesses memory through a pointer.
    uses_pointers: bool,
    /// Variables that instructions access by their address, with sizes.
    variables: BTreeSet<(u64, u64)>,
}

/// Records the memory that an instruction accesses, unless it is on the stack.
fn note_memory(found: &mut Scan, instruction: &Instruction) {
    let has_memory =
        (0..instruction.op_count()).any(|it| instruction.op_kind(it) == OpKind::Memory);
    let is_no_access = matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
    if instruction.is_string_instruction() {
        found.uses_pointers = true;
    } else if !has_memory || is_no_access {
        // Nothing is loaded.
    } else if instruction.is_ip_rel_memory_operand() {
        let size = instruction.memory_size().size() as u64;
        let address = instruction.memory_displacement64();
        found.variables.insert((address, size));
    } else {
        use Register::{None, RBP, RSP};
        let is_own = |register| matches!(register, None | RBP | RSP);
        found.uses_pointers |=
            !is_own(instruction.memory_base()) || instruction.memory_index() != None;
    }
}

/// Returns the constants of an instruction that may be addresses.
fn constants(instruction: &Instruction) -> impl Iterator<Item = u64> {
    let is_relative = instruction.is_ip_rel_memory_operand();
    let memory = is_relative.then(|| instruction.memory_displacement64());
    let operands = 0..instruction.op_count();
    let immediates = operands.filter_map(move |index| instruction.try_immediate(index).ok());
    memory.into_iter().chain(immediates)
}

fn scan(image: &Image, function: u64) -> Scan {
    let mut found = Scan::default();
    for instruction in image.instructions(function) {
        found.length += 1;
        note_memory(&mut found, &instruction);
        let constants = constants(&instruction);
        let pointed_at = constants.filter(|address| image.functions.contains_key(address));
        found.pointed_at.extend(pointed_at);
        let leaves = match instruction.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => true,
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => false,
            _ => continue,
        };
        match image.target(&instruction) {
            Target::Function(callee) => {
                found.callees.insert(callee);
            }
            Target::Import(name) if leaves => {
                if let Some(callback) = name.strip_prefix("__tsan_") {
                    found.is_instrumented = true;
                    if is_read(callback) {
                        found.reads.insert(instruction.next_ip());
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// The functions of a file.
struct Functions {
    /// Those with callbacks, and short ones that they call.
    followed: BTreeMap<u64, Scan>,
    called_elsewhere: BTreeSet<u64>,
    /// Number of the others that access memory through pointers, and variables that they access.
    hidden: usize,
    hidden_variables: BTreeSet<(u64, u64)>,
}

fn functions(image: &Image) -> Functions {
    let mut scans: BTreeMap<u64, Scan> = image
        .functions
        .keys()
        .map(|&function| (function, scan(image, function)))
        .collect();
    let instrumented = scans.iter().filter(|(_, scan)| scan.is_instrumented);
    let mut todo: Vec<u64> = instrumented.map(|(&function, _)| function).collect();
    let mut followed: BTreeSet<u64> = todo.iter().copied().collect();
    while let Some(function) = todo.pop() {
        for &callee in &scans[&function].callees {
            let is_short = |scan: &Scan| scan.length <= LONGEST_UNINSTRUMENTED;
            if scans.get(&callee).is_some_and(is_short) && followed.insert(callee) {
                todo.push(callee);
            }
        }
    }
    let mut called_elsewhere = image.exported.clone();
    let (mut hidden, mut hidden_variables) = (0, BTreeSet::new());
    for (function, scan) in &scans {
        called_elsewhere.extend(&scan.pointed_at);
        if !followed.contains(function) {
            called_elsewhere.extend(&scan.callees);
            hidden += usize::from(scan.uses_pointers);
            hidden_variables.extend(&scan.variables);
        }
    }
    scans.retain(|function, _| followed.contains(function));
    Functions {
        followed: scans,
        called_elsewhere,
        hidden,
        hidden_variables,
    }
}

/// Records that callers that are not followed may do anything with what a function gives back.
fn give_to_unknown_callers(shared: &mut Shared, summary: &Summary, function: u64) {
    let Summary {
        results,
        vector_results,
        others,
        outputs,
        ..
    } = summary;
    let given = results.iter().chain(vector_results).chain([others]);
    let sink = Sink {
        kind: Sink::UNKNOWN,
        places: shared.places.one((Sink::UNKNOWN, function)),
    };
    for &set in given.chain(outputs.values()) {
        shared
            .effects
            .sink(&shared.labels.members(set), sink, &mut shared.places);
    }
}

/// Returns the position of each function in an order in which callees come before callers, but for recursions.
fn order(scans: &BTreeMap<u64, Scan>) -> HashMap<u64, usize> {
    let mut positions = HashMap::new();
    let mut seen = BTreeSet::new();
    for &root in scans.keys() {
        let mut path = vec![(root, false)];
        while let Some((function, is_done)) = path.pop() {
            if is_done {
                positions.insert(function, positions.len());
            } else if let Some(scan) = scans.get(&function)
                && seen.insert(function)
            {
                path.push((function, true));
                path.extend(scan.callees.iter().map(|&callee| (callee, false)));
            }
        }
    }
    positions
}

pub(crate) fn analyse(image: &Image) -> Analysis {
    let Functions {
        followed: scans,
        mut called_elsewhere,
        hidden,
        hidden_variables,
    } = functions(image);
    let positions = order(&scans);
    let mut callers: HashMap<u64, Vec<u64>> = HashMap::new();
    for (&function, scan) in &scans {
        for &callee in &scan.callees {
            callers.entry(callee).or_default().push(function);
        }
    }
    let mut shared = Shared {
        image,
        labels: Sets::new(),
        places: Sets::new(),
        summaries: scans
            .keys()
            .map(|&function| (function, Summary::default()))
            .collect(),
        effects: Effects::default(),
        factory: InstructionInfoFactory::new(),
        decoded: HashMap::new(),
    };
    let mut waiting: BTreeSet<(usize, u64)> = scans
        .keys()
        .map(|function| (positions[function], *function))
        .collect();
    let mut analyses: HashMap<u64, usize> = HashMap::new();
    while let Some((_, function)) = waiting.pop_first() {
        let times = analyses.entry(function).or_default();
        *times += 1;
        let earlier = shared.summaries[&function].clone();
        let mut summary = match *times > MOST_ANALYSES {
            true => Summary {
                is_opaque: true,
                ..Summary::default()
            },
            false => Visit::run(&mut shared, function),
        };
        summary.include(&earlier, &mut shared.labels, &mut shared.places);
        if summary != earlier {
            shared.summaries.insert(function, summary);
            for caller in callers.get(&function).into_iter().flatten() {
                waiting.insert((positions[caller], *caller));
            }
        }
    }
    for (function, summary) in &shared.summaries {
        if summary.is_opaque {
            called_elsewhere.extend(&scans[function].callees);
        }
    }
    for function in called_elsewhere {
        if let Some(summary) = shared.summaries.get(&function).cloned() {
            give_to_unknown_callers(&mut shared, &summary, function);
        }
    }
    let mut analysis = conclude(&shared, &scans);
    analysis.hidden_functions = hidden;
    let loads = hidden_variables
        .into_iter()
        .filter(|&(address, _)| !image.is_constant(address));
    analysis
        .unseen_loads
        .extend(loads.map(|(address, size)| UnseenLoad {
            code: 0,
            address: Some(address),
            size,
            verdict: Verdict {
                is_unknown: true,
                ..Verdict::default()
            },
        }));
    analysis
}

fn conclude(shared: &Shared, scans: &BTreeMap<u64, Scan>) -> Analysis {
    let effects = &shared.effects;
    let mut reads = Vec::new();
    for (&function, scan) in scans {
        let is_opaque = shared.summaries[&function].is_opaque;
        let name = shared.image.name(function).map(str::to_owned);
        // Copies of memory are reads unless they are of the frame; only those that were found are.
        let found = effects.reads.iter();
        let found = found.filter(|(_, read)| read.function == function);
        let sites: BTreeSet<u64> = found.map(|(&site, _)| site).collect();
        for &site in sites.union(&scan.reads) {
            let known = effects.reads.get(&site);
            if known.is_some_and(|read| read.function != function) {
                continue;
            }
            let sink = effects.sinks.get(&site).copied().unwrap_or_default();
            let mut verdict = verdict(shared, sink);
            verdict.is_unknown |= known.is_none() || is_opaque;
            reads.push(Read {
                code: site,
                function: name.clone(),
                variable: known.and_then(|read| read.variable),
                is_atomic: known.is_some_and(|read| read.is_atomic),
                is_update: known.is_some_and(|read| read.is_update),
                verdict,
            });
        }
    }
    reads.sort_by_key(|read| read.code);
    Analysis {
        build_id: shared.image.build_id.clone(),
        reads,
        functions: scans.len(),
        unknown_functions: shared
            .summaries
            .values()
            .filter(|summary| summary.is_opaque)
            .count(),
        hidden_functions: 0,
        unseen_loads: effects
            .unseen
            .iter()
            .map(|(&code, &(address, size))| {
                let sink = effects.unseen_sinks.get(&code).copied();
                UnseenLoad {
                    code,
                    address,
                    size: size as u64,
                    verdict: verdict(shared, sink.unwrap_or_default()),
                }
            })
            .collect(),
    }
}

fn verdict(shared: &Shared, sink: Sink) -> Verdict {
    let places = shared.places.members(sink.places);
    let of = |kind| {
        let places = places.iter().filter(move |place| place.0 == kind);
        places.map(|place| place.1).collect()
    };
    Verdict {
        is_unknown: sink.kind & Sink::UNKNOWN != 0,
        is_in_address: sink.kind & Sink::ADDRESS != 0,
        branches: of(Sink::BRANCH),
        stores: of(Sink::STORE),
        unknown_at: of(Sink::UNKNOWN),
    }
}
