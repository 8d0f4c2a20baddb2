//! Values of keys, and how they reach methods.

use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;
use std::collections::BTreeMap;

use log::Level;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Error, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// Calls `method` if the key has a value.
pub(super) fn set<B, V>(to: B, value: Option<V>, method: impl FnOnce(B, V) -> B) -> B {
    match value {
        Some(value) => method(to, value),
        None => to,
    }
}

/// Calls `method` if the key is `true`.
pub(super) fn turn_on<B>(to: B, is_on: bool, method: impl FnOnce(B) -> B) -> B {
    if is_on { method(to) } else { to }
}

/// # Errors
///
/// If two of the keys are `true`, of which each replaces the others.
pub(super) fn at_most_one(keys: &[(&str, bool)]) -> Result<(), String> {
    let mut given = keys.iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key);
    match (given.next(), given.next()) {
        (Some(first), Some(second)) => {
            Err(format!("`{first}` and `{second}` exclude each other, expected one of them"))
        }
        _ => Ok(()),
    }
}

/// Reads a duration for an optional key.
pub(super) fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    given_duration(from).map(Some)
}

pub(super) fn given_duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let expected = "a number with a unit, such as \"250ms\", \"5s\" or \"14days\"";
    from.deserialize_str(Text(expected, |text| humantime::parse_duration(text).ok()))
}

pub(super) fn level<'de, D: Deserializer<'de>>(from: D) -> Result<Level, D::Error> {
    let expected = "error, warn, info, debug or trace";
    from.deserialize_str(Text(expected, |text| text.parse().ok()))
}

pub(super) fn mode<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let expected = "an octal mode as a text, such as \"640\"";
    from.deserialize_str(Text(expected, |text| u32::from_str_radix(text, 8).ok())).map(Some)
}

/// A text that a function parses, and what errors say would be right.
struct Text<T>(&'static str, fn(&str) -> Option<T>);

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.1)(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Reads an enum from a table that has the name of one variant as its only key. The name alone
/// stands for that variant without options.
///
/// Each variant must have named fields, or a structure with named fields.
pub(super) fn choice<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    from.deserialize_any(Choice(PhantomData))
}

/// Like [`choice`], for an optional key.
pub(super) fn optional_choice<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    choice(from).map(Some)
}

struct Choice<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Choice<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name, or a table with that name and its options")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        let no_options = BTreeMap::<&str, &str>::new();
        let table = MapDeserializer::new([(name, no_options)].into_iter());
        T::deserialize(MapAccessDeserializer::new(table))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<T, A::Error> {
        let chosen = T::deserialize(MapAccessDeserializer::new(&mut table))?;
        match table.next_entry::<String, IgnoredAny>()? {
            None => Ok(chosen),
            Some((other, _)) => {
                Err(A::Error::custom(format!("`{other}` is a second choice, expected one")))
            }
        }
    }
}
