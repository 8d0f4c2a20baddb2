//! A line for people.

use core::fmt;
use core::fmt::Write as _;

use super::{Format, Head, Output, Sink, Utf8, Value, escape, key_value, message, time};

/// As wide as the longest of the usual levels, so that targets stand below each other.
const LEVEL_WIDTH: &str = "     ";

// What a terminal shows text by: ECMA-48, "select graphic rendition".
const FAINT: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// With colours for a terminal, or without.
pub enum Line<const COLORED: bool = false> {}

impl<const COLORED: bool> Format for Line<COLORED> {
    fn head<W: Sink>(out: &mut Output<W>, head: &Head<'_>) -> fmt::Result {
        if COLORED {
            out.write_str(FAINT)?;
        }
        time(out, head.time)?;
        if COLORED {
            out.write_str(PLAIN)?;
        }
        out.write_str(" ")?;
        if COLORED {
            out.write_str(color(head.level))?;
        }
        out.write_str(head.level)?;
        if COLORED {
            out.write_str(PLAIN)?;
        }
        out.write_str(LEVEL_WIDTH.get(head.level.len()..).unwrap_or_default())?;
        out.write_str(" ")?;
        escape::write::<_, false>(out, head.target)?;
        out.write_str(": ")?;
        message::<_, false>(out, &head.message)
    }

    fn field<W: Sink>(out: &mut Output<W>, key: Utf8<'_>, value: Value<'_>) -> fmt::Result {
        out.write_str(" ")?;
        key_value::write_key(out, key)?;
        out.write_str("=")?;
        key_value::write_value(out, value)
    }

    fn end<W: Sink>(_: &mut Output<W>) -> fmt::Result {
        Ok(())
    }
}

/// What has a terminal show a level in its colour.
fn color(level: &str) -> &'static str {
    match level {
        "CRITICAL" => "\x1b[1;31m",
        "ERROR" => "\x1b[31m",
        "WARN" => "\x1b[33m",
        "INFO" => "\x1b[32m",
        "DEBUG" => "\x1b[34m",
        _ => "\x1b[35m",
    }
}
