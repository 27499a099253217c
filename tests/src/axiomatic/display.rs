//! Litmus programs as text: the expression that builds them.

use std::fmt;

use super::program::{Litmus, Location, Operation, R0, Register, Statement, Value};

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["X", "Y", "Z"][self.0])
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "R{}", self.0)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.register {
            Some(register) => write!(f, "{register} + {}", self.constant),
            None => write!(f, "{}", self.constant),
        }
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (into, operation) = match self {
            Statement::Perform(into, operation) => (into.unwrap_or(R0), operation),
            Statement::When(register, value, then) => {
                return write!(f, "when({register}, {value}, {})", List(then));
            }
        };
        match operation {
            Operation::Load(x, ordering) => write!(f, "load({into}, {x}, {ordering:?})"),
            Operation::Store(x, value, ordering) => write!(f, "store({x}, {value}, {ordering:?})"),
            Operation::FetchAdd(x, value, ordering) => {
                write!(f, "fetch_add({into}, {x}, {value}, {ordering:?})")
            }
            Operation::Swap(x, value, ordering) => {
                write!(f, "swap({into}, {x}, {value}, {ordering:?})")
            }
            Operation::CompareExchange(x, expected, new, success, failure) => write!(
                f,
                "compare_exchange({into}, {x}, {expected}, {new}, {success:?}, {failure:?})"
            ),
            Operation::Fence(ordering) => write!(f, "fence({ordering:?})"),
        }
    }
}

struct List<'a>(&'a [Statement]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statements: Vec<_> = self.0.iter().map(Statement::to_string).collect();
        write!(f, "[{}]", statements.join(", "))
    }
}

impl fmt::Display for Litmus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "litmus([")?;
        for body in &self.threads {
            writeln!(f, "    vec!{},", List(body))?;
        }
        write!(f, "])")?;
        let main = [
            ("before", &self.before),
            ("beside", &self.beside),
            ("after", &self.after),
        ];
        for (name, body) in main.into_iter().filter(|(_, body)| !body.is_empty()) {
            write!(f, "\n.{name}({})", List(body))?;
        }
        Ok(())
    }
}
