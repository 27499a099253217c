//! Litmus programs as data.
//!
//! A program is written with the functions here and printed as the same text, so that one found by
//! chance can be pasted into a test.

use std::ops::Add;
use std::sync::atomic::Ordering;

/// Maximum number of variables of a program; all are 0 at first.
pub const LOCATIONS: usize = 3;
/// Number of registers of each thread; all are 0 at first.
pub const REGISTERS: usize = 3;

/// One of the variables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Location(pub usize);

/// The first variable.
pub const X: Location = Location(0);
/// The second variable.
pub const Y: Location = Location(1);
/// The third variable.
pub const Z: Location = Location(2);

/// One of a thread's registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Register(pub usize);

/// The thread's first register.
pub const R0: Register = Register(0);
/// The thread's second register.
pub const R1: Register = Register(1);
/// The thread's third register.
pub const R2: Register = Register(2);

/// The operand of a write or a comparison: a constant, or a register and a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value {
    /// The register, if there is one.
    pub register: Option<Register>,
    /// The constant.
    pub constant: i32,
}

impl From<i32> for Value {
    fn from(constant: i32) -> Self {
        Value {
            register: None,
            constant,
        }
    }
}

impl From<Register> for Value {
    fn from(register: Register) -> Self {
        register + 0
    }
}

impl Add<i32> for Register {
    type Output = Value;

    fn add(self, constant: i32) -> Value {
        Value {
            register: Some(self),
            constant,
        }
    }
}

/// An access to the variables, with operands of some kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "named after the methods of std's atomics")]
pub enum Operation<V> {
    Load(Location, Ordering),
    Store(Location, V, Ordering),
    FetchAdd(Location, V, Ordering),
    Swap(Location, V, Ordering),
    CompareExchange(Location, V, V, Ordering, Ordering),
    Fence(Ordering),
}

/// A statement of a thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Statement {
    /// Performs an operation, and keeps the value read.
    Perform(Option<Register>, Operation<Value>),
    /// Runs the statements if the register has this value.
    When(Register, i32, Vec<Statement>),
}

/// Returns a read.
pub fn load(into: Register, from: Location, ordering: Ordering) -> Statement {
    Statement::Perform(Some(into), Operation::Load(from, ordering))
}

/// Returns a write.
pub fn store(to: Location, value: impl Into<Value>, ordering: Ordering) -> Statement {
    Statement::Perform(None, Operation::Store(to, value.into(), ordering))
}

/// Returns an addition that keeps the value before.
pub fn fetch_add(
    into: Register,
    to: Location,
    value: impl Into<Value>,
    ordering: Ordering,
) -> Statement {
    let operation = Operation::FetchAdd(to, value.into(), ordering);
    Statement::Perform(Some(into), operation)
}

/// Returns a write that keeps the value before.
pub fn swap(
    into: Register,
    to: Location,
    value: impl Into<Value>,
    ordering: Ordering,
) -> Statement {
    let operation = Operation::Swap(to, value.into(), ordering);
    Statement::Perform(Some(into), operation)
}

/// Returns a write of the second value if the first is found; it keeps the value found.
pub fn compare_exchange(
    into: Register,
    to: Location,
    expected: impl Into<Value>,
    new: impl Into<Value>,
    success: Ordering,
    failure: Ordering,
) -> Statement {
    let (expected, new) = (expected.into(), new.into());
    let operation = Operation::CompareExchange(to, expected, new, success, failure);
    Statement::Perform(Some(into), operation)
}

/// Returns a fence.
pub fn fence(ordering: Ordering) -> Statement {
    Statement::Perform(None, Operation::Fence(ordering))
}

/// Returns a conditional: the statements run if the register has this value.
pub fn when(register: Register, value: i32, then: impl Into<Vec<Statement>>) -> Statement {
    Statement::When(register, value, then.into())
}

/// A program: main runs statements, starts the threads, runs statements beside them, joins them,
/// and runs statements at the end.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Litmus {
    /// Statements of main before it starts the threads.
    pub before: Vec<Statement>,
    /// Statements of the threads.
    pub threads: Vec<Vec<Statement>>,
    /// Statements of main beside them.
    pub beside: Vec<Statement>,
    /// Statements of main after it has joined them.
    pub after: Vec<Statement>,
}

/// Returns a program of threads that are started and joined by a main without statements.
pub fn litmus<const N: usize>(threads: [Vec<Statement>; N]) -> Litmus {
    Litmus {
        threads: threads.into(),
        ..Litmus::default()
    }
}

impl Litmus {
    /// Sets the statements of main at the beginning.
    pub fn before(mut self, statements: impl Into<Vec<Statement>>) -> Self {
        self.before = statements.into();
        self
    }

    /// Sets the statements of main beside the threads.
    pub fn beside(mut self, statements: impl Into<Vec<Statement>>) -> Self {
        self.beside = statements.into();
        self
    }

    /// Sets the statements of main at the end.
    pub fn after(mut self, statements: impl Into<Vec<Statement>>) -> Self {
        self.after = statements.into();
        self
    }

    /// Returns the program with other statements in place of each that performs an operation.
    pub fn rewritten(&self, mut change: impl FnMut(&Statement) -> Vec<Statement>) -> Self {
        let mut litmus = self.clone();
        for body in litmus.bodies_mut() {
            *body = rewritten(body, &mut change);
        }
        litmus
    }

    /// Iterates over all lists of statements that are not inside others.
    pub fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Vec<Statement>> {
        let main = [&mut self.before, &mut self.beside, &mut self.after];
        self.threads.iter_mut().chain(main)
    }
}

fn rewritten(
    body: &[Statement],
    change: &mut impl FnMut(&Statement) -> Vec<Statement>,
) -> Vec<Statement> {
    let statements = body.iter().flat_map(|statement| match statement {
        Statement::Perform(..) => change(statement),
        Statement::When(register, value, then) => {
            vec![when(*register, *value, rewritten(then, change))]
        }
    });
    statements.collect()
}

/// Runs the statements, with the registers so far. `perform` returns the value read, or `None` to
/// stop; then this returns `None` too.
pub fn run(
    statements: &[Statement],
    registers: &mut [i32; REGISTERS],
    perform: &mut impl FnMut(Operation<i32>) -> Option<i32>,
) -> Option<()> {
    for statement in statements {
        match statement {
            Statement::Perform(into, operation) => {
                let read = perform(operation.evaluated(registers))?;
                if let Some(register) = into {
                    registers[register.0] = read;
                }
            }
            Statement::When(register, value, then) => {
                if registers[register.0] == *value {
                    run(then, registers, perform)?;
                }
            }
        }
    }
    Some(())
}

impl<V> Operation<V> {
    /// Passes the accessed variable to `visit`.
    pub fn visit(&mut self, visit: impl FnOnce(&mut Location)) {
        match self {
            Operation::Load(location, _)
            | Operation::Store(location, ..)
            | Operation::FetchAdd(location, ..)
            | Operation::Swap(location, ..)
            | Operation::CompareExchange(location, ..) => visit(location),
            Operation::Fence(_) => {}
        }
    }
}

impl Operation<Value> {
    fn evaluated(&self, registers: &[i32; REGISTERS]) -> Operation<i32> {
        let evaluated = |value: Value| {
            value.constant + value.register.map_or(0, |register| registers[register.0])
        };
        match *self {
            Operation::Load(location, ordering) => Operation::Load(location, ordering),
            Operation::Store(location, value, ordering) => {
                Operation::Store(location, evaluated(value), ordering)
            }
            Operation::FetchAdd(location, value, ordering) => {
                Operation::FetchAdd(location, evaluated(value), ordering)
            }
            Operation::Swap(location, value, ordering) => {
                Operation::Swap(location, evaluated(value), ordering)
            }
            Operation::CompareExchange(location, expected, new, success, failure) => {
                let (expected, new) = (evaluated(expected), evaluated(new));
                Operation::CompareExchange(location, expected, new, success, failure)
            }
            Operation::Fence(ordering) => Operation::Fence(ordering),
        }
    }
}
