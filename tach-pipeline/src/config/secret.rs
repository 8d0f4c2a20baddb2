//! Values that may be secrets, or stand where a secret belongs. No error prints them.

use core::fmt;
use core::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, Expected, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

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

    fn visit_i64<E: Error>(self, _: i64) -> Result<T, E> {
        Err(no_number(&self))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<T, E> {
        Err(no_number(&self))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<T, E> {
        Err(no_number(&self))
    }

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

    fn visit_i64<E: Error>(self, _: i64) -> Result<String, E> {
        Err(no_number(&self))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<String, E> {
        Err(no_number(&self))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<String, E> {
        Err(no_number(&self))
    }
}

fn no_number<E: Error>(expected: &dyn Expected) -> E {
    E::invalid_type(Unexpected::Other("a number"), expected)
}
