//! The options in the attribute's parentheses.
//!
//! `SETTINGS` lists those that call a setter of `Checker`: a new one is one line there. The only
//! other option is `crate`.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Lit, Path, Result, Token};

use crate::faults::Faults;

/// What the user asked for.
#[derive(Default)]
pub struct Options {
    /// Where `raddle` is, if not at `::raddle`.
    pub crate_path: Option<TokenStream>,
    /// The calls that configure the checker, in the order they were written.
    pub calls: Vec<Call>,
}

/// A call of one of the checker's setters.
pub struct Call {
    /// The method, with the span of the option so that an error about it points there.
    pub setter: Ident,
    /// Its argument, as the user wrote it.
    pub value: TokenStream,
}

struct Setting {
    name: &'static str,
    setter: &'static str,
    takes: Takes,
    example: &'static str,
}

#[derive(Clone, Copy)]
enum Takes {
    Text,
    Integer,
    IntegerExpression,
    Boolean,
}

static SETTINGS: [Setting; 24] = [
    setting("strategy", "strategy_named", Takes::Text, "\"exhaustive\""),
    setting("max_executions", "max_executions", Takes::Integer, "50_000"),
    setting("max_time", "max_time_text", Takes::Text, "\"20s\""),
    setting("max_events", "max_events", Takes::Integer, "100_000"),
    setting("seed", "seed", Takes::Integer, "7"),
    setting("workers", "workers", Takes::Integer, "2"),
    setting("memory", "memory_named", Takes::Text, "\"rc11\""),
    setting("classes", "classes_named", Takes::Text, "\"reads-from\""),
    setting("preemptions", "preemptions", Takes::Integer, "2"),
    setting(
        "verify_completeness",
        "verify_completeness",
        Takes::Boolean,
        "true",
    ),
    setting("keep_going", "keep_going", Takes::Boolean, "true"),
    setting(
        "spurious_wakeups",
        "spurious_wakeups",
        Takes::Boolean,
        "false",
    ),
    setting("timeouts", "timeouts", Takes::Boolean, "false"),
    setting("weak_cas", "weak_cas", Takes::Boolean, "false"),
    setting(
        "known_schedules",
        "known_schedules",
        Takes::Boolean,
        "false",
    ),
    setting("lock_order", "lock_order_named", Takes::Text, "\"deny\""),
    setting("leaks", "leaks_named", Takes::Text, "\"deny\""),
    setting("coverage", "coverage", Takes::Boolean, "true"),
    setting("remember", "remember", Takes::Boolean, "true"),
    setting("shorten", "shorten", Takes::Boolean, "false"),
    setting("page", "page", Takes::Boolean, "false"),
    setting("watchdog", "watchdog_text", Takes::Text, "\"30s\""),
    setting("reduce", "reduce_named", Takes::Text, "\"symmetry\""),
    setting(
        "stack_size",
        "stack_size",
        Takes::IntegerExpression,
        "256 * 1024",
    ),
];

const CRATE: &str = "crate";
const CRATE_EXAMPLE: &str = "my_raddle";

const fn setting(
    name: &'static str,
    setter: &'static str,
    takes: Takes,
    example: &'static str,
) -> Setting {
    Setting {
        name,
        setter,
        takes,
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
                faults.add(name, &format!("`{name}` is given twice: keep one of them"));
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
            let setting = setting_named(name).ok_or_else(|| unknown(name))?;
            let setter = Ident::new(setting.setter, name.span());
            self.calls.push(Call {
                setter,
                value: setting.argument(value)?,
            });
        }
        Ok(())
    }
}

/// `name = value`, where the value is anything that has the shape of an expression.
struct Assignment {
    name: Ident,
    value: Expr,
}

impl Parse for Assignment {
    fn parse(input: ParseStream) -> Result<Self> {
        if !input.peek(Ident::peek_any) {
            return Err(input.error(format!("expected an option; {}", the_options_are())));
        }
        // `crate` is a keyword, which an identifier may otherwise not be.
        let name = input.call(Ident::parse_any)?;
        let equals = input.parse::<Option<Token![=]>>()?;
        if equals.is_none() || input.is_empty() || input.peek(Token![,]) {
            return Err(without_value(&name));
        }
        Ok(Self {
            name,
            value: input.parse()?,
        })
    }
}

impl Setting {
    /// The value as an argument of the setter, if it is of the right kind.
    fn argument(&self, value: &Expr) -> Result<TokenStream> {
        match (self.takes, literal(value)) {
            (Takes::Text, Some(Lit::Str(text))) if text.value().trim().is_empty() => {
                Err(self.error(value, "is empty", ", or leave it out"))
            }
            (Takes::Text, Some(Lit::Str(_)))
            | (Takes::Integer | Takes::IntegerExpression, Some(Lit::Int(_)))
            | (Takes::IntegerExpression, None)
            | (Takes::Boolean, Some(Lit::Bool(_))) => Ok(value.to_token_stream()),
            _ => Err(self.error(value, self.takes.rule(), "")),
        }
    }

    fn error(&self, value: &Expr, what_is_wrong: &str, alternative: &str) -> Error {
        let (name, example) = (self.name, self.example);
        let message = format!("`{name}` {what_is_wrong}: write `{name} = {example}`{alternative}");
        Error::new_spanned(value, message)
    }
}

impl Takes {
    fn rule(self) -> &'static str {
        match self {
            Self::Text => "takes a string",
            Self::Integer => "takes an integer that is not negative",
            Self::IntegerExpression => "takes an integer or an expression that gives one",
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

/// A value that came through another macro is in an invisible group; real parentheses would be
/// reported as unused around an argument.
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

fn without_value(name: &Ident) -> Error {
    let example = match setting_named(name) {
        Some(setting) => setting.example,
        None if name == CRATE => CRATE_EXAMPLE,
        None => return unknown(name),
    };
    let message = format!("`{name}` needs a value: write `{name} = {example}`");
    Error::new(name.span(), message)
}

fn unknown(name: &Ident) -> Error {
    let message = format!("unknown option `{name}`; {}", the_options_are());
    Error::new(name.span(), message)
}

fn the_options_are() -> String {
    let names = SETTINGS.iter().map(|setting| setting.name).chain([CRATE]);
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    format!("the options are {}", names.join(", "))
}
