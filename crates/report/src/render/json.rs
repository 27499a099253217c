//! A JSON serializer.
//!
//! `serde_json` is not used, because its `PartialEq` implementations take part in type inference of
//! every crate that depends on it, even indirectly: `assert_eq!(numbers, [])` becomes ambiguous.
//! Depending on raddle must not break a user's test.

use std::fmt::{self, Display, Write};

use serde::{Serialize, ser};

/// Serializes a value as JSON, on one line.
///
/// # Panics
///
/// If the key of a map is neither a string nor a number, or if the value's `Serialize`
/// implementation fails. No type of this crate does.
pub fn to_json(value: &(impl Serialize + ?Sized)) -> String {
    let mut text = String::new();
    if let Err(error) = value.serialize(JsonWriter(&mut text)) {
        panic!("raddle: a report cannot be written as JSON: {error}");
    }
    text
}

/// Reason why a value cannot be serialized.
#[derive(Debug)]
pub(crate) struct JsonError(String);

impl Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for JsonError {}

impl ser::Error for JsonError {
    fn custom<T: Display>(message: T) -> Self {
        JsonError(message.to_string())
    }
}

type Result<T = ()> = std::result::Result<T, JsonError>;

/// Serializes one value.
struct JsonWriter<'a>(&'a mut String);

impl JsonWriter<'_> {
    fn plain(self, value: impl Display) -> Result {
        let _ = write!(self.0, "{value}");
        Ok(())
    }
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Serializes the elements of an array, or the members of an object.
struct JsonCompound<'a> {
    out: &'a mut String,
    is_first: bool,
    end: &'static str,
}

impl<'a> JsonCompound<'a> {
    fn begin(out: &'a mut String, begin: &str, end: &'static str) -> Self {
        out.push_str(begin);
        JsonCompound {
            out,
            is_first: true,
            end,
        }
    }

    /// Returns a writer for the next element, after a comma unless it is the first.
    fn next(&mut self) -> JsonWriter<'_> {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(',');
        }
        JsonWriter(self.out)
    }

    fn named(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result {
        quoted(name, self.next().0);
        self.out.push(':');
        value.serialize(JsonWriter(self.out))
    }

    fn finish(self) -> Result {
        self.out.push_str(self.end);
        Ok(())
    }
}

macro_rules! plain {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method(self, value: $type) -> Result {
            self.plain(value)
        }
    )*};
}

impl<'a> ser::Serializer for JsonWriter<'a> {
    type Ok = ();
    type Error = JsonError;
    type SerializeSeq = JsonCompound<'a>;
    type SerializeTuple = JsonCompound<'a>;
    type SerializeTupleStruct = JsonCompound<'a>;
    type SerializeTupleVariant = JsonCompound<'a>;
    type SerializeMap = JsonCompound<'a>;
    type SerializeStruct = JsonCompound<'a>;
    type SerializeStructVariant = JsonCompound<'a>;

    plain! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
    }

    fn serialize_f32(self, value: f32) -> Result {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result {
        match value.is_finite() {
            true => self.plain(format_args!("{value:?}")),
            false => self.serialize_unit(),
        }
    }

    fn serialize_char(self, value: char) -> Result {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result {
        quoted(value, self.0);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result {
        self.plain("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result {
        let mut object = JsonCompound::begin(self.0, "{", "}");
        object.named(variant, value)?;
        object.finish()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<JsonCompound<'a>> {
        Ok(JsonCompound::begin(self.0, "[", "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<JsonCompound<'a>> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<JsonCompound<'a>> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<JsonCompound<'a>> {
        self.0.push('{');
        quoted(variant, self.0);
        Ok(JsonCompound::begin(self.0, ":[", "]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<JsonCompound<'a>> {
        Ok(JsonCompound::begin(self.0, "{", "}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<JsonCompound<'a>> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<JsonCompound<'a>> {
        self.0.push('{');
        quoted(variant, self.0);
        Ok(JsonCompound::begin(self.0, ":{", "}}"))
    }
}

macro_rules! lists {
    ($($kind:ident: $method:ident,)*) => {$(
        impl ser::$kind for JsonCompound<'_> {
            type Ok = ();
            type Error = JsonError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
                value.serialize(self.next())
            }

            fn end(self) -> Result {
                self.finish()
            }
        }
    )*};
}
lists! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

macro_rules! objects {
    ($($kind:ident)*) => {$(
        impl ser::$kind for JsonCompound<'_> {
            type Ok = ();
            type Error = JsonError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result {
                self.named(name, value)
            }

            fn end(self) -> Result {
                self.finish()
            }
        }
    )*};
}
objects!(SerializeStruct SerializeStructVariant);

impl ser::SerializeMap for JsonCompound<'_> {
    type Ok = ();
    type Error = JsonError;

    /// Keys are strings; a number is quoted.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        let mut name = String::new();
        key.serialize(JsonWriter(&mut name))?;
        let out = self.next().0;
        match name.as_bytes() {
            [b'"', ..] => out.push_str(&name),
            [b'[' | b'{', ..] => return Err(JsonError(format!("{name} is not a valid key"))),
            _ => quoted(&name, out),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.out.push(':');
        value.serialize(JsonWriter(self.out))
    }

    fn end(self) -> Result {
        self.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;

    #[derive(Serialize)]
    struct Unit;
    #[derive(Serialize)]
    struct Wrapped(u8);
    #[derive(Serialize)]
    struct Pair(u8, char);

    #[derive(Serialize)]
    enum Each {
        Unit,
        One(i64),
        Two(bool, f32),
        Named { a: Option<u16>, b: () },
    }

    #[derive(Serialize)]
    struct All<'a> {
        text: &'a str,
        none: Option<i8>,
        numbers: BTreeMap<u32, f64>,
        names: BTreeMap<char, Vec<Each>>,
        nothing: BTreeMap<String, Unit>,
        wrapped: Wrapped,
        pair: Pair,
        tuple: (i16, i32, u64),
        time: Duration,
    }

    #[test]
    fn output_agrees_with_serde_json() {
        let all = All {
            text: "\"quotes\", \\ and \u{0}\u{1f}\u{7f}\n\t\r\u{8}\u{c} ä€𝄞\u{2028}</script>",
            none: None,
            numbers: BTreeMap::from([(7, 0.5), (8, 1.0), (9, f64::NAN), (10, -1.5e20)]),
            names: BTreeMap::from([
                (
                    '"',
                    vec![Each::Unit, Each::One(i64::MIN), Each::Two(true, 0.25)],
                ),
                ('b', vec![Each::Named { a: Some(3), b: () }]),
                ('c', Vec::new()),
            ]),
            nothing: BTreeMap::new(),
            wrapped: Wrapped(3),
            pair: Pair(0, '\n'),
            tuple: (-1, 2, u64::MAX),
            time: Duration::from_millis(1_500),
        };
        let read: serde_json::Value = serde_json::from_str(&to_json(&all)).unwrap();
        let expected = serde_json::to_value(&all).unwrap();
        assert_eq!(read, expected);
        assert!(!to_json(&all).contains('\n'));
    }
}
