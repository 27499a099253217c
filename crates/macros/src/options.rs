//! The options of the attribute.
//!
//! [`SETTINGS`] lists the options that call a setter of `Checker`; a new one is one line there. The only
//! other option is `crate`.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Lit, Path, Result, Token};

use crate::faults::Faults;

/// The parsed options.
#[derive(Default)]
pub struct Options {
    /// Path of the crate, if it is not `::raddle`.
    pub crate_path: Option<TokenStream>,
    /// Calls that configure the checker, in the order of the options.
    pub calls: Vec<Call>,
}

/// A call of one of the checker's setters.
pub struct Call {
    /// The method, with the span of the option, so that errors point there.
    pub setter: Ident,
    /// The user's expression.
    pub value: TokenStream,
}

/// An option that calls a setter.
struct Setting {
    name: &'static str,
    setter: &'static str,
    value: ValueKind,
    /// Value in error messages.
    example: &'static str,
}

#[derive(Clone, Copy)]
enum ValueKind {
    Text,
    Integer,
    IntegerExpression,
    Boolean,
}

static SETTINGS: [Setting; 24] = [
    setting(
        "strategy",
        "strategy_named",
        ValueKind::Text,
        "\"exhaustive\"",
    ),
    setting(
        "max_executions",
        "max_executions",
        ValueKind::Integer,
        "50_000",
    ),
    setting("max_time", "max_time_text", ValueKind::Text, "\"20s\""),
    setting("max_events", "max_events", ValueKind::Integer, "100_000"),
    setting("seed", "seed", ValueKind::Integer, "7"),
    setting("workers", "workers", ValueKind::Integer, "2"),
    setting("memory", "memory_named", ValueKind::Text, "\"rc11\""),
    setting(
        "classes",
        "classes_named",
        ValueKind::Text,
        "\"reads-from\"",
    ),
    setting("preemptions", "preemptions", ValueKind::Integer, "2"),
    setting(
        "verify_completeness",
        "verify_completeness",
        ValueKind::Boolean,
        "true",
    ),
    setting("keep_going", "keep_going", ValueKind::Boolean, "true"),
    setting(
        "spurious_wakeups",
        "spurious_wakeups",
        ValueKind::Boolean,
        "false",
    ),
    setting("timeouts", "timeouts", ValueKind::Boolean, "false"),
    setting("weak_cas", "weak_cas", ValueKind::Boolean, "false"),
    setting(
        "known_schedules",
        "known_schedules",
        ValueKind::Boolean,
        "false",
    ),
    setting(
        "lock_order",
        "lock_order_named",
        ValueKind::Text,
        "\"deny\"",
    ),
    setting("leaks", "leaks_named", ValueKind::Text, "\"deny\""),
    setting("coverage", "coverage", ValueKind::Boolean, "true"),
    setting("remember", "remember", ValueKind::Boolean, "true"),
    setting("shorten", "shorten", ValueKind::Boolean, "false"),
    setting("page", "page", ValueKind::Boolean, "false"),
    setting("watchdog", "watchdog_text", ValueKind::Text, "\"30s\""),
    setting("reduce", "reduce_named", ValueKind::Text, "\"symmetry\""),
    setting(
        "stack_size",
        "stack_size",
        ValueKind::IntegerExpression,
        "256 * 1024",
    ),
];

const CRATE: &str = "crate";
const CRATE_EXAMPLE: &str = "my_raddle";

const fn setting(
    name: &'static str,
    setter: &'static str,
    value: ValueKind,
    example: &'static str,
) -> Setting {
    Setting {
        name,
        setter,
        value,
        example,
    }
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let assignments = Punctuated::<Assignment, Token![,]>::parse_terminated(input)?;
        let mut options = Self::default();
        let mut faults = Faults::default();
        let mut seen = Vec::new();
        for Assignment { name, value } in &assignments {
            if seen.contains(&name) {
                faults.add(name, &format!("`{name}` is given twice: remove one"));
            } else if let Err(error) = options.set(name, value) {
                faults.add_error(error);
            }
            seen.push(name);
        }
        faults.unless_any(options)
    }
}

impl Options {
    fn set(&mut self, name: &Ident, value: &Expr) -> Result<()> {
        let value = without_parentheses(value);
        if name == CRATE {
            self.crate_path = Some(crate_path(value)?);
        } else {
            let setting = setting_named(name).ok_or_else(|| unknown_option(name))?;
            let setter = Ident::new(setting.setter, name.span());
            self.calls.push(Call {
                setter,
                value: setting.argument(value)?,
            });
        }
        Ok(())
    }
}

/// `name = value`, with any expression as the value.
struct Assignment {
    name: Ident,
    value: Expr,
}

impl Parse for Assignment {
    fn parse(input: ParseStream) -> Result<Self> {
        if !input.peek(Ident::peek_any) {
            return Err(input.error(format!("expected an option; {}", list_of_options())));
        }
        // `parse_any` accepts the keyword `crate`.
        let name = input.call(Ident::parse_any)?;
        let equals = input.parse::<Option<Token![=]>>()?;
        if equals.is_none() || input.is_empty() || input.peek(Token![,]) {
            return Err(missing_value(&name));
        }
        Ok(Self {
            name,
            value: input.parse()?,
        })
    }
}

impl Setting {
    /// The value as an argument of the setter, or an error if it has the wrong kind.
    fn argument(&self, value: &Expr) -> Result<TokenStream> {
        match (self.value, literal(value)) {
            (ValueKind::Text, Some(Lit::Str(text))) if text.value().trim().is_empty() => {
                Err(self.error(value, "is empty", ", or leave it out"))
            }
            (ValueKind::Text, Some(Lit::Str(_)))
            | (ValueKind::Integer | ValueKind::IntegerExpression, Some(Lit::Int(_)))
            | (ValueKind::IntegerExpression, None)
            | (ValueKind::Boolean, Some(Lit::Bool(_))) => Ok(value.to_token_stream()),
            _ => Err(self.error(value, self.value.rule(), "")),
        }
    }

    fn error(&self, value: &Expr, problem: &str, alternative: &str) -> Error {
        let (name, example) = (self.name, self.example);
        let message = format!("`{name}` {problem}: write `{name} = {example}`{alternative}");
        Error::new_spanned(value, message)
    }
}

impl ValueKind {
    fn rule(self) -> &'static str {
        match self {
            Self::Text => "takes a string",
            Self::Integer => "takes a non-negative integer",
            Self::IntegerExpression => "takes an integer expression",
            Self::Boolean => "takes `true` or `false`",
        }
    }
}

fn crate_path(value: &Expr) -> Result<TokenStream> {
    let path = match (value, literal(value)) {
        (Expr::Path(path), _) if path.qself.is_none() => Some(path.to_token_stream()),
        (_, Some(Lit::Str(text))) => text
            .parse_with(Path::parse_mod_style)
            .ok()
            .map(Path::into_token_stream),
        _ => None,
    };
    path.ok_or_else(|| {
        let message = format!("`{CRATE}` takes a path: write `{CRATE} = {CRATE_EXAMPLE}`");
        Error::new_spanned(value, message)
    })
}

/// Removes invisible groups around values from other macros, and parentheses, which the compiler would
/// report as unused around an argument.
fn without_parentheses(mut value: &Expr) -> &Expr {
    loop {
        value = match value {
            Expr::Group(group) => &group.expr,
            Expr::Paren(parenthesised) => &parenthesised.expr,
            _ => return value,
        }
    }
}

fn literal(value: &Expr) -> Option<&Lit> {
    match value {
        Expr::Lit(literal) => Some(&literal.lit),
        _ => None,
    }
}

fn setting_named(name: &Ident) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| name == setting.name)
}

fn missing_value(name: &Ident) -> Error {
    let example = match setting_named(name) {
        Some(setting) => setting.example,
        None if name == CRATE => CRATE_EXAMPLE,
        None => return unknown_option(name),
    };
    let message = format!("`{name}` needs a value: write `{name} = {example}`");
    Error::new(name.span(), message)
}

fn unknown_option(name: &Ident) -> Error {
    let message = format!("unknown option `{name}`; {}", list_of_options());
    Error::new(name.span(), message)
}

fn list_of_options() -> String {
    let names = SETTINGS.iter().map(|setting| setting.name).chain([CRATE]);
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    format!("the options are {}", names.join(", "))
}
