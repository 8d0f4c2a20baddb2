//! Values that may be secrets, or stand where a secret belongs. No error prints them.

use core::fmt;
use core::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// The visits of numbers, as errors that don't print them. YAML reads a key of digits as a number.
macro_rules! hide_numbers {
    () => {
        hide_numbers!(visit_i64(i64), visit_u64(u64), visit_f64(f64));
        hide_numbers!(visit_i128(i128), visit_u128(u128));
    };
    ($($visit:ident($number:ty)),+) => {
        $(fn $visit<E: Error>(self, _: $number) -> Result<Self::Value, E> {
            Err(E::invalid_type(Unexpected::Other("a number"), &self))
        })+
    };
}

/// Reads a table with secrets. A text or a number in its place may be a secret too.
pub(super) fn table<'de, D, T>(from: D, expected: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    from.deserialize_any(Table(expected, PhantomData))
}

struct Table<T>(&'static str, PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Table<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<T, E> {
        Err(E::invalid_type(Unexpected::Other("a text"), &self))
    }

    hide_numbers!();

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(table))
    }
}

/// A text that no error prints.
pub(super) struct Secret(pub(super) String);

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Formats print a number themselves if a text is asked for.
        from.deserialize_any(Text).map(Self)
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    hide_numbers!();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::de::value::{self, F64Deserializer, I128Deserializer, U64Deserializer};
    use serde::de::value::{I64Deserializer, StrDeserializer, U128Deserializer};

    use super::*;

    #[track_caller]
    fn assert_hidden<'de>(from: impl Deserializer<'de, Error = value::Error> + Clone) {
        let text = Secret::deserialize(from.clone()).err().map(|it| it.to_string());
        let table = table::<_, BTreeMap<String, Secret>>(from, "names").err().unwrap().to_string();
        for error in text.into_iter().chain([table]) {
            assert!(error.starts_with("invalid type: a "), "{error}");
            assert!(!error.contains("71077"), "{error}");
        }
    }

    #[test]
    fn no_error_prints_a_secret() {
        assert_hidden(StrDeserializer::new("71077"));
        assert_hidden(U64Deserializer::new(71_077));
        assert_hidden(I64Deserializer::new(-71_077));
        assert_hidden(F64Deserializer::new(71_077.5));
        assert_hidden(U128Deserializer::new(71_077));
        assert_hidden(I128Deserializer::new(-71_077));
    }
}
