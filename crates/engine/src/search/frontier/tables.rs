//! The vocabulary of items: one table for each type, used for writing and for reading. Primitives
//! have their tables in their own files.

use std::sync::atomic::Ordering;

use crate::base::words::{Problem, Reader, Words, push, tables, unknown};
use crate::memory::Strength;
use crate::model::operation::{Ports, Update, UpdateKind};
use crate::search::explore::frame::Change;
use crate::search::graph::NodeKind;

tables! {
    NodeKind {
        "begin" => Begin,
        "end" => End { location },
        "spawn" => Spawn { child },
        "join" => Join { target },
        "local" => Local,
        "left-out" => LeftOut,
        "fence" => Fence,
        "choose" => Choose { alternatives },
        "read" => Read { location },
        "read-for-update" => ReadForUpdate { location, update },
        "write" => Write { location },
        "write-of-update" => WriteOfUpdate { location },
        "send" => Send { port },
        "receive" => Receive { ports, wait },
        "delivered" => Delivered { port },
        "hang-up" => HangUp { port, location },
        "meet" => Arrive { barrier },
        "met" => Pass { barrier },
        "leads" => AskLeader { barrier },
        "call" => Call { object, call },
        "silent" => Silent { object, call },
        "complete" => Completion { object },
    }
    Change {
        "source" => Source { read, source, outcome },
        "place" => Place { write, position },
        "place-for-read" => PlaceForRead { write, position, read, outcome },
        "complete" => Complete { stamp, call, outcome },
        "choose" => Choose { event, outcome },
        "take" => Take { receive, send },
        "group" => Regroup { stamp, group },
        "arrive" => Deliver { send, position },
        "gather" => RevisitGroup { pass, newest, companions },
        "revisit" => Revisit { receive, send },
    }
    UpdateKind {
        "swap" => Swap(value),
        "add" => Add(value),
        "sub" => Sub(value),
        "and" => And(value),
        "nand" => Nand(value),
        "or" => Or(value),
        "xor" => Xor(value),
        "max" => Max(value),
        "min" => Min(value),
        "signed-max" => SignedMax(value),
        "signed-min" => SignedMin(value),
        "compare-exchange" => CompareExchange { expected, new, weak },
    }
    Ports {
        "one" => One(port),
        "any" => Any(list),
    }
}

impl Words for Strength {
    fn write(&self, out: &mut String) {
        let word = match (self.acquires(), self.releases()) {
            _ if self.is_seq_cst() => "seq-cst",
            (true, true) => "acq-rel",
            (true, false) => "acquire",
            (false, true) => "release",
            (false, false) => "relaxed",
        };
        push(out, word);
    }

    fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(Strength::of(match words.word()? {
            "seq-cst" => Ordering::SeqCst,
            "acq-rel" => Ordering::AcqRel,
            "acquire" => Ordering::Acquire,
            "release" => Ordering::Release,
            "relaxed" => Ordering::Relaxed,
            word => return Err(unknown(word)),
        }))
    }
}

impl Words for Update {
    fn write(&self, out: &mut String) {
        self.bits.write(out);
        self.kind.write(out);
    }

    fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
        let bits: u8 = words.read()?;
        if !(1..=64).contains(&bits) {
            return Err(unknown(&bits.to_string()));
        }
        Ok(Update {
            bits,
            kind: words.read()?,
        })
    }
}
