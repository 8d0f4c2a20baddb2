//! Values whose errors say what is expected: those that stand in a file as texts, and numbers.

use core::fmt::{self, Display};
use core::marker::PhantomData;
use core::time::Duration;
use std::ffi::OsString;
use std::path::PathBuf;

use bytesize::ByteSize;
use serde::de::{Error, IgnoredAny, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use tach_core::{Offset, adapter};

/// A value that was parsed. [`parsed`] implements `Deserialize` for it.
#[derive(Hash)]
pub(super) struct Parsed<T>(pub(super) T);

/// Implements `Deserialize` for types, each with the function that parses its text and a
/// description of what is expected.
macro_rules! parsed {
    ($($type:ty = $parse:expr, $expected:literal;)+) => {
        $(impl<'de> serde::Deserialize<'de> for $crate::config::parsed::Parsed<$type> {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_str($crate::config::parsed::Text($parse, $expected)).map(Self)
            }
        })+
    };
}
pub(super) use parsed;

parsed! {
    Duration = humantime::parse_duration,
        r#"a text with a unit, such as "250ms", "5s" or "14days""#;
    Offset = str::parse,
        r#"an offset from UTC as a text, such as "+01:00""#;
    PathBuf = expanded,
        r#"a path as a text, such as "${HOME}/app.log""#;
}

/// Returns a path with its variables of the environment and its `~` replaced by their values. If
/// one has no value, fails: otherwise a folder of that name would be made.
fn expanded(path: &str) -> Result<PathBuf, String> {
    let variable = |name: &str| {
        let value = adapter::variable(name).and_then(|value| OsString::into_string(value).ok());
        value.filter(|value| !value.is_empty()).map(Some).ok_or("it is not set, or empty")
    };
    let home = || variable("HOME").ok().flatten();
    let path = shellexpand::full_with_context(path, home, variable).map_err(|e| e.to_string())?;
    if path.starts_with('~') {
        return Err("only `~/`, the home folder, can begin with a tilde".to_owned());
    }
    Ok(PathBuf::from(&*path))
}

/// Reads a text by the function that parses it.
pub(super) struct Text<F>(pub(super) F, pub(super) &'static str);

impl<T, R: Display, F: FnOnce(&str) -> Result<T, R>> Visitor<'_> for Text<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(|reason| E::custom(format!("{text:?} can't be used: {reason}")))
    }
}

/// The end of a list of arguments. Refuses further elements, which some formats would ignore.
#[derive(Default, Hash)]
pub(super) struct End;

impl<'de> Deserialize<'de> for End {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(from)?;
        Err(D::Error::custom("the list ends before this element"))
    }
}

/// A whole number that is not negative.
#[derive(Hash)]
pub(super) struct Number<N>(pub(super) N);

impl<'de, N: TryFrom<u64>> Deserialize<'de> for Number<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_u64(Digits { is_size: false, of: PhantomData }).map(Self)
    }
}

/// A number of bytes, which may be a text with a unit.
#[derive(Hash)]
pub(super) struct Size<N>(pub(super) N);

impl<'de, N: TryFrom<u64>> Deserialize<'de> for Size<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Digits { is_size: true, of: PhantomData }).map(Self)
    }
}

struct Digits<N> {
    is_size: bool,
    of: PhantomData<N>,
}

impl<N: TryFrom<u64>> Visitor<'_> for Digits<N> {
    type Value = N;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_size {
            "a number of bytes that is not negative, or a text with a unit, such as \"10 MB\""
        } else {
            "a whole number that is not negative"
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<N, E> {
        if !self.is_size {
            return Err(E::invalid_type(Unexpected::Str(text), &self));
        }
        let size = text.parse::<ByteSize>();
        let size = size.map_err(|_| E::invalid_value(Unexpected::Str(text), &self))?;
        self.visit_u64(size.as_u64())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<N, E> {
        let refused = |_| E::invalid_value(Unexpected::Signed(number), &self);
        u64::try_from(number).map_err(refused).and_then(|number| self.visit_u64(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<N, E> {
        N::try_from(number).map_err(|_| E::custom(format!("the number {number} is too large")))
    }
}
