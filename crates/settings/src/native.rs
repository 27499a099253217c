//! Settings of native programs, read from the environment.

use std::fmt;

// The types that rows name.
use crate::kind::{BadValue, FromValue};
use crate::setting::{Scope, setting};
use crate::table::*;

/// An error: an environment variable with a value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadVariable {
    /// The variable.
    pub variable: &'static str,
    /// Reason why it cannot be used, with the allowed values.
    pub problem: String,
}

impl BadVariable {
    /// Creates the error of a variable whose text is not a value of its kind.
    pub fn new(variable: &'static str, error: &BadValue) -> Self {
        BadVariable {
            variable,
            problem: error.to_string(),
        }
    }
}

impl fmt::Display for BadVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.variable, self.problem)
    }
}

impl std::error::Error for BadVariable {}

macro_rules! native {
    (
        checks $checks:tt
        native {$(
            #[doc = $summary:literal]
            $name:ident: $type:ty;
            $details:tt
        )*}
    ) => {
        /// Settings of native programs; `None` if the environment does not have the variable.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Native {
            $(#[doc = $summary] pub $name: Option<$type>,)*
        }

        impl Native {
            /// Reads every variable once.
            ///
            /// # Errors
            ///
            /// If the value of a variable cannot be used.
            pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self, BadVariable> {
                let mut native = Native::default();
                $({
                    let row = setting(Scope::Native, stringify!($name)).expect("a row");
                    let variable = row.variable.expect("native settings have a variable");
                    if let Some(text) = get(variable).filter(|text| !text.trim().is_empty()) {
                        let value = row.kind.parse(&text);
                        let value = value.map_err(|error| BadVariable::new(variable, &error))?;
                        native.$name = Some(<$type>::from_value(value));
                    }
                })*
                Ok(native)
            }
        }
    };
}

crate::settings!(native);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Native, String> {
        let native = Native::read(|asked| (asked == name).then(|| value.to_owned()));
        native.map_err(|error| error.to_string())
    }

    #[test]
    fn variables_are_read_by_name() {
        let native = |change: fn(&mut Native)| {
            let mut native = Native::default();
            change(&mut native);
            Ok(native)
        };
        assert_eq!(read("RADDLE_PLAIN", ""), Ok(Native::default()));
        assert_eq!(
            read("RADDLE_PLAIN", "promote"),
            native(|it| it.plain = Some(Plain::Promote))
        );
        assert_eq!(
            read("RADDLE_HEAP", "64M"),
            native(|it| it.heap = Some(64 << 20))
        );
        assert_eq!(
            read("RADDLE_RESTART", "exec"),
            Err("RADDLE_RESTART: `exec` is not one of: snapshot, fork, loop".to_owned())
        );
    }
}
