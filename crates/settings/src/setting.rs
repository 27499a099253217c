//! The table as data.

use crate::kind::SettingKind;
// The types that rows name.
use crate::table::*;

/// One row of the table: a setting and the surfaces on which it can be set. A surface without it
/// has the reason.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name of the method of `Checker` and of the option of the attribute.
    pub name: &'static str,
    /// Checks that the environment variable and the flag apply to.
    pub scope: Scope,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Kind of its values.
    pub kind: SettingKind,
    /// Parameter of the method of `Checker`.
    pub method: Result<&'static str, &'static str>,
    /// Value in examples of the option of `#[raddle::test]`, as it is written there.
    pub option: Result<&'static str, &'static str>,
    /// Environment variable.
    pub variable: Result<&'static str, &'static str>,
    /// Flag of `cargo raddle`.
    pub flag: Result<Flag, &'static str>,
    /// Default, in the words of the book.
    pub default: &'static str,
    /// Continuation of the summary in the book, with links relative to the book; may be empty.
    pub book: &'static str,
}

/// A flag of `cargo raddle test` and `cargo raddle run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Name without `--`.
    pub name: &'static str,
    /// Placeholder of the value in the help; empty for a switch.
    pub value: &'static str,
}

/// Checks that a setting applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All checks.
    Check,
    /// Checks of programs and tests that do not use raddle.
    Native,
}

macro_rules! place {
    (is($text:literal)) => {
        Ok($text)
    };
    (is($name:literal, $value:literal)) => {
        Ok(Flag {
            name: $name,
            value: $value,
        })
    };
    (not($why:literal)) => {
        Err($why)
    };
}

macro_rules! method {
    () => {
        Err("it is made by other means")
    };
    ($argument:ty) => {
        Ok(stringify!($argument))
    };
}

macro_rules! table {
    (
        checks {$(
            #[doc = $summary:literal] $(#[doc = $more:literal])*
            $name:ident $(($argument:ty $(as $value:ty)?))?: $field:ty = $initial:expr
                $(, then $other:ident = $then:expr)?;
            {
                kind: $kind:expr,
                option: $option_is:ident $option:tt,
                variable: $variable_is:ident $variable:tt,
                flag: $flag_is:ident $flag:tt,
                default: $default:literal,
                book: $book:literal,
            }
        )*}
        native {$(
            #[doc = $native_summary:literal]
            $native_name:ident: $native_type:ty;
            {
                kind: $native_kind:expr,
                variable: $native_variable:literal,
                flag: $native_flag_is:ident $native_flag:tt,
                default: $native_default:literal,
                book: $native_book:literal,
            }
        )*}
    ) => {
        /// Every setting, in the order of the reference page.
        pub const TABLE: &[Setting] = &[
            $(Setting {
                name: stringify!($name),
                scope: Scope::Check,
                summary: $summary.trim_ascii(),
                kind: $kind,
                method: method!($($argument)?),
                option: place!($option_is $option),
                variable: place!($variable_is $variable),
                flag: place!($flag_is $flag),
                default: $default,
                book: $book,
            },)*
            $(Setting {
                name: stringify!($native_name),
                scope: Scope::Native,
                summary: $native_summary.trim_ascii(),
                kind: $native_kind,
                method: Err(NATIVE),
                option: Err(NATIVE),
                variable: Ok($native_variable),
                flag: place!($native_flag_is $native_flag),
                default: $native_default,
                book: $native_book,
            },)*
        ];
    };
}

const NATIVE: &str = "the program does not use raddle";

crate::settings!(table);

/// Returns the setting with this name.
pub fn setting(scope: Scope, name: &str) -> Option<&'static Setting> {
    let mut settings = TABLE.iter();
    settings.find(|setting| setting.scope == scope && setting.name == name)
}
