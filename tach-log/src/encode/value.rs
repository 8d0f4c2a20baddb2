//! A field's value, whichever front end it is from.

use core::fmt;

use super::output::Output;
use super::utf8::{Sink, Utf8};

/// A value as the formats tell them apart.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    I64(i64),
    U64(u64),
    I128(i128),
    U128(u128),
    F64(f64),
    Str(Utf8<'a>),
    /// What only prints itself.
    Printed(fmt::Arguments<'a>),
}

impl Value<'_> {
    /// Writes a value that needs no quotes in any format; `None` for those that may.
    pub fn write_plain<W: Sink>(self, out: &mut Output<W>) -> Option<fmt::Result> {
        let mut integer = itoa::Buffer::new();
        let mut float = zmij::Buffer::new();
        let text = match self {
            Self::Null => "null",
            Self::Bool(true) => "true",
            Self::Bool(false) => "false",
            Self::I64(value) => integer.format(value),
            Self::U64(value) => integer.format(value),
            Self::I128(value) => integer.format(value),
            Self::U128(value) => integer.format(value),
            Self::F64(value) => float.format(value),
            Self::Str(_) | Self::Printed(_) => return None,
        };
        Some(fmt::Write::write_str(out, text))
    }
}
