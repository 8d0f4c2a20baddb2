//! A line for people.

use core::fmt;
use core::fmt::Write as _;

use super::{Format, Head, Output, Value, escape, key_value, message, time};

/// As wide as the longest of the usual levels, so that targets stand below each other.
const LEVEL_WIDTH: &str = "     ";

pub(crate) enum Line {}

impl Format for Line {
    fn head<W: fmt::Write>(out: &mut Output<W>, head: &Head<'_>) -> fmt::Result {
        time(out, head.time)?;
        out.write_str(" ")?;
        out.write_str(head.level)?;
        out.write_str(LEVEL_WIDTH.get(head.level.len()..).unwrap_or_default())?;
        out.write_str(" ")?;
        escape::write::<_, false>(out, head.target)?;
        out.write_str(": ")?;
        message::<_, false>(out, &head.message)
    }

    fn field<W: fmt::Write>(out: &mut Output<W>, key: &str, value: Value<'_>) -> fmt::Result {
        out.write_str(" ")?;
        key_value::write_key(out, key)?;
        out.write_str("=")?;
        key_value::write_value(out, value)
    }

    fn end<W: fmt::Write>(_: &mut Output<W>) -> fmt::Result {
        Ok(())
    }
}
