//! How a record is written: as a line for people, as JSON, as logfmt.
//!
//! A record comes in pieces, its head and then each field, so that a front end need not gather what it
//! visits one by one. Where the pieces come from is not known here.

mod escape;
mod json;
mod key_value;
mod line;
mod logfmt;
mod output;
mod value;

use core::fmt;

use tach_core::{UnixTime, rfc3339};

pub(crate) use self::json::Json;
pub(crate) use self::line::Line;
pub(crate) use self::logfmt::Logfmt;
pub(crate) use self::output::Output;
pub(crate) use self::value::Value;
use crate::timestamp::DIGITS;

/// What every record has.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) time: UnixTime,
    /// The level's name, in capitals.
    pub(crate) level: &'static str,
    pub(crate) target: &'a str,
    pub(crate) message: Message<'a>,
}

/// What a record says.
#[derive(Clone, Copy)]
pub(crate) enum Message<'a> {
    /// As `log` has it.
    Arguments(fmt::Arguments<'a>),
    /// Formatted already.
    #[cfg_attr(not(feature = "pipeline"), expect(dead_code, reason = "the pipeline's"))]
    Str(&'a str),
}

/// A way to write records: the head, any number of fields, the end.
///
/// Whatever the pieces hold, what is written has no line end, and no character that drives a terminal.
/// They fail only if what they write to does.
pub(crate) trait Format {
    fn head<W: fmt::Write>(out: &mut Output<W>, head: &Head<'_>) -> fmt::Result;

    fn field<W: fmt::Write>(out: &mut Output<W>, key: &str, value: Value<'_>) -> fmt::Result;

    fn end<W: fmt::Write>(out: &mut Output<W>) -> fmt::Result;
}

/// Names that the head has taken, where it has names.
const TAKEN: [&str; 4] = ["ts", "level", "target", "msg"];

/// What follows a key that is one of [`TAKEN`], so that nothing in a record passes for its head.
fn suffix(key: &str) -> &'static str {
    if key.len() <= "target".len() && TAKEN.contains(&key) { "_" } else { "" }
}

fn time<W: fmt::Write>(out: &mut Output<W>, time: UnixTime) -> fmt::Result {
    rfc3339::with_text::<DIGITS, _>(time, |text| fmt::Write::write_str(out, text))
}

/// Writes a message, escaped. Most are a text of the program, which can't fail.
fn message<W: fmt::Write, const QUOTED: bool>(
    out: &mut Output<W>,
    message: &Message<'_>,
) -> fmt::Result {
    let arguments = match message {
        Message::Str(text) => return escape::write::<_, QUOTED>(out, text),
        Message::Arguments(arguments) => arguments,
    };
    match arguments.as_str() {
        Some(text) => escape::write::<_, QUOTED>(out, text),
        None => out.escaped::<QUOTED>(arguments),
    }
}
