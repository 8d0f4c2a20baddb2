//! logfmt: `key=value` throughout.

use core::fmt;
use core::fmt::Write as _;

use super::{Format, Head, Output, Sink, Utf8, Value, key_value, message, suffix, time};

pub enum Logfmt {}

impl Format for Logfmt {
    fn head<W: Sink>(out: &mut Output<W>, head: &Head<'_>) -> fmt::Result {
        out.write_str("ts=")?;
        time(out, head.time)?;
        out.write_str(" level=")?;
        out.write_str(head.level)?;
        out.write_str(" target=")?;
        key_value::write_text(out, head.target)?;
        out.write_str(" msg=")?;
        out.write_str("\"")?;
        message::<_, true>(out, &head.message)?;
        out.write_str("\"")
    }

    fn field<W: Sink>(out: &mut Output<W>, key: Utf8<'_>, value: Value<'_>) -> fmt::Result {
        out.write_str(" ")?;
        key_value::write_key(out, key)?;
        out.write_str(suffix(key))?;
        out.write_str("=")?;
        key_value::write_value(out, value)
    }

    fn end<W: Sink>(_: &mut Output<W>) -> fmt::Result {
        Ok(())
    }
}
