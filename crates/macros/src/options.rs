//! The options of the attribute: the rows of the table of settings that have one, and `crate`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use raddle_settings::{Scope, Setting, SettingKind, TABLE};
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
    /// The arguments, which have the user's expression.
    pub arguments: TokenStream,
}

/// The method for options whose value is a text: it takes the name of the option as well.
const TEXT_SETTER: &str = "set_option";

/// Expressions that an option takes.
#[derive(Clone, Copy)]
enum Literal {
    Text,
    Integer,
    IntegerExpression,
    Boolean,
}

const CRATE: &str = "crate";
const CRATE_EXAMPLE: &str = "my_raddle";

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
            let option = AttributeOption::named(name).ok_or_else(|| unknown_option(name))?;
            self.calls.push(option.call(name, value)?);
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

/// An option that makes a setting.
struct AttributeOption {
    setting: &'static Setting,
    /// Value in error messages.
    example: &'static str,
}

impl AttributeOption {
    /// All options, in the order of the table.
    fn all() -> impl Iterator<Item = Self> {
        let rows = TABLE.iter().filter(|row| row.scope == Scope::Check);
        rows.filter_map(|setting| {
            let example = setting.option.ok()?;
            Some(Self { setting, example })
        })
    }

    fn named(name: &Ident) -> Option<Self> {
        Self::all().find(|option| name == option.setting.name)
    }

    /// The call that makes the setting, or an error if the value cannot be used.
    fn call(&self, name: &Ident, value: &Expr) -> Result<Call> {
        self.check(value)?;
        let (setter, arguments) = match Literal::of(self.setting.kind) {
            Literal::Text => {
                let option = self.setting.name;
                (TEXT_SETTER, quote!(#option, #value))
            }
            _ => (self.setting.name, value.to_token_stream()),
        };
        Ok(Call {
            setter: Ident::new(setter, name.span()),
            arguments,
        })
    }

    fn check(&self, value: &Expr) -> Result<()> {
        let kind = self.setting.kind;
        let expected = Literal::of(kind);
        let text = match (expected, literal(value)) {
            (Literal::Text, Some(Lit::Str(text))) if text.value().trim().is_empty() => {
                return Err(self.error(value, "is empty", ", or leave it out"));
            }
            (Literal::Text, Some(Lit::Str(text))) => text.value(),
            (Literal::Integer, Some(Lit::Int(number))) => number.base10_digits().to_owned(),
            (Literal::IntegerExpression, Some(Lit::Int(_)) | None)
            | (Literal::Boolean, Some(Lit::Bool(_))) => return Ok(()),
            _ => return Err(self.error(value, &format!("takes {}", expected.rule()), "")),
        };
        let parsed = kind.parse(&text).map(|_| ());
        parsed.map_err(|error| self.error(value, &format!("takes {}", error.expected()), ""))
    }

    fn error(&self, value: &Expr, problem: &str, alternative: &str) -> Error {
        let (name, example) = (self.setting.name, self.example);
        let message = format!("`{name}` {problem}: write `{name} = {example}`{alternative}");
        Error::new_spanned(value, message)
    }
}

impl Literal {
    fn of(kind: SettingKind) -> Self {
        match kind {
            SettingKind::Number { .. } => Self::Integer,
            SettingKind::Size { .. } => Self::IntegerExpression,
            SettingKind::Switch | SettingKind::Metrics => Self::Boolean,
            SettingKind::Time { .. }
            | SettingKind::Choice(_)
            | SettingKind::List(_)
            | SettingKind::Names
            | SettingKind::Strategy
            | SettingKind::Guarantee
            | SettingKind::Schedule
            | SettingKind::Mutant
            | SettingKind::Name
            | SettingKind::Path => Self::Text,
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Integer => "a non-negative integer",
            Self::IntegerExpression => "an integer expression",
            Self::Boolean => "`true` or `false`",
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

fn missing_value(name: &Ident) -> Error {
    let example = match AttributeOption::named(name) {
        Some(option) => option.example,
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
    let names = AttributeOption::all().map(|option| option.setting.name);
    let names = names.chain([CRATE]);
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    format!("the options are {}", names.join(", "))
}
