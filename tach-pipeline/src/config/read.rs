//! Values of keys, and how they reach methods.

use core::marker::PhantomData;
use core::time::Duration;
use core::{fmt, iter};

use log::Level;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{
    DeserializeSeed, Error, Expected, IgnoredAny, IntoDeserializer, MapAccess, Unexpected, Visitor,
};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

const DURATION: &str = "a number with a unit, such as \"250ms\", \"5s\" or \"14days\"";

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
/// If two of the keys are `true`: each method replaces the value that the other one set.
pub(super) fn at_most_one(keys: &[(&str, bool)]) -> Result<(), String> {
    let mut given = keys.iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key);
    match (given.next(), given.next()) {
        (Some(first), Some(second)) => {
            Err(format!("`{first}` and `{second}` exclude each other, expected one of them"))
        }
        _ => Ok(()),
    }
}

/// Returns the state of a switch that has a method for each state, or `None` if no key names one.
/// `false` at the first key is `true` at the second.
pub(super) const fn switch(on: Option<bool>, off: bool) -> Option<bool> {
    if off { Some(false) } else { on }
}

/// Keys that may exclude each other.
pub(super) trait Check {
    /// # Errors
    ///
    /// If keys exclude each other.
    fn check(&self) -> Result<(), String>;
}

/// A table that was checked where it was read, so that an error has the path of the table.
pub(super) struct Checked<T>(pub(super) T);

impl<'de, T: Deserialize<'de> + Check> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let keys = T::deserialize(from)?;
        keys.check().map_err(D::Error::custom)?;
        Ok(Self(keys))
    }
}

/// A table without keys: the options of a choice that has none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an empty table")]
pub(super) struct NoOptions {}

/// Reads a duration for an optional key.
pub(super) fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    parsed(from, DURATION, |text| humantime::parse_duration(text).ok())
}

pub(super) fn given_duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    from.deserialize_str(Text(DURATION, |text| humantime::parse_duration(text).ok()))
}

pub(super) fn level<'de, D: Deserializer<'de>>(from: D) -> Result<Level, D::Error> {
    let expected = "error, warn, info, debug or trace";
    from.deserialize_str(Text(expected, |text| text.parse().ok()))
}

pub(super) fn mode<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let expected = "an octal mode as a text, such as \"640\"";
    parsed(from, expected, |text| u32::from_str_radix(text, 8).ok())
}

/// Reads a text for an optional key by `parse`. Errors say that `expected` would be right.
pub(super) fn parsed<'de, D, T>(
    from: D,
    expected: &'static str,
    parse: fn(&str) -> Option<T>,
) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
{
    from.deserialize_option(Optional(Text(expected, parse)))
}

/// A value for an optional key, or none.
struct Optional<T>(Text<T>);

impl<'de, T> Visitor<'de> for Optional<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
        from.deserialize_str(self.0).map(Some)
    }
}

/// Reads any text. Errors say that `expected` would be right.
pub(super) fn text<'de, D>(from: D, expected: &'static str) -> Result<String, D::Error>
where
    D: Deserializer<'de>,
{
    from.deserialize_str(Text(expected, |text| Some(text.to_owned())))
}

/// Reads a number for an optional key.
pub(super) fn number<'de, D, N>(from: D) -> Result<Option<N>, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<u64>,
{
    Ok(Option::deserialize(from)?.map(|Number(number)| number))
}

pub(super) fn given_number<'de, D, N>(from: D) -> Result<N, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<u64>,
{
    Number::deserialize(from).map(|Number(number)| number)
}

/// A number of the type `N`, whose name no error contains.
struct Number<N>(N);

impl<'de, N: TryFrom<u64>> Deserialize<'de> for Number<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_u64(AnyNumber(PhantomData)).map(Self)
    }
}

struct AnyNumber<N>(PhantomData<N>);

impl<N: TryFrom<u64>> Visitor<'_> for AnyNumber<N> {
    type Value = N;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, zero or more")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<N, E> {
        let too_high = |_| E::invalid_value(Unexpected::Unsigned(number), &"a lower number");
        N::try_from(number).map_err(too_high)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<N, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

/// Parses a text by the function. The first field says in errors what would be right.
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
/// Each variant must contain a structure with named fields, or a [`text`] that it can't do without.
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
    Ok(Option::deserialize(from)?.map(|Chosen(choice)| choice))
}

struct Chosen<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Chosen<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        choice(from).map(Self)
    }
}

struct Choice<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Choice<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name, or a table with that name and its options")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        let table = MapDeserializer::new([(name, NoValue(name, PhantomData))].into_iter());
        T::deserialize(MapAccessDeserializer::new(table))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
        let mut table = Watched { table, is_empty: false };
        let chosen = T::deserialize(MapAccessDeserializer::new(&mut table));
        if table.is_empty {
            return Err(A::Error::custom("the table is empty, expected a name and its options"));
        }
        let chosen = chosen?;
        match table.next_entry::<String, IgnoredAny>()? {
            None => Ok(chosen),
            Some((other, _)) => {
                Err(A::Error::custom(format!("`{other}` is a second choice, expected one")))
            }
        }
    }
}

/// A table that remembers whether its first key was missing.
struct Watched<A> {
    table: A,
    is_empty: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Watched<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let key = self.table.next_key_seed(seed)?;
        self.is_empty = key.is_none();
        Ok(key)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.table.next_value_seed(seed)
    }
}

/// What stands for the options if only the name of a choice is given: no keys, and no text.
struct NoValue<'a, E>(&'a str, PhantomData<E>);

impl<E: Error> IntoDeserializer<'_, E> for NoValue<'_, E> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de, E: Error> Deserializer<'de> for NoValue<'_, E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_map(MapDeserializer::<_, E>::new(iter::empty::<(&str, &str)>()))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        let expected: &dyn Expected = &visitor;
        Err(E::custom(format!("`{}` needs {expected}", self.0)))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
