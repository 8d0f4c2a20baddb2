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
mod utf8;
mod value;

use core::fmt;

use tach_core::{UnixTime, rfc3339};

pub use self::json::Json;
pub use self::line::Line;
pub use self::logfmt::Logfmt;
pub use self::output::Output;
pub use self::output::noted;
pub use self::utf8::{Sink, Utf8};
pub use self::value::Value;
use crate::timestamp::DIGITS;

/// What every record has.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    pub time: UnixTime,
    /// The level's name, in capitals.
    pub level: &'static str,
    pub target: Utf8<'a>,
    pub message: Message<'a>,
}

/// What a record says.
#[derive(Clone, Copy)]
pub enum Message<'a> {
    /// As `log` has it.
    Arguments(fmt::Arguments<'a>),
    /// Formatted already.
    Str(Utf8<'a>),
}

/// A way to write records: the head, any number of fields, the end.
///
/// Whatever the pieces hold, it becomes no line end, and no character that drives a terminal.
/// They fail only if what they write to does.
pub trait Format {
    fn head<W: Sink>(out: &mut Output<W>, head: &Head<'_>) -> fmt::Result;

    fn field<W: Sink>(out: &mut Output<W>, key: Utf8<'_>, value: Value<'_>) -> fmt::Result;

    fn end<W: Sink>(out: &mut Output<W>) -> fmt::Result;
}

/// What follows a key that is one of the head's, where that has names, so that nothing in a record passes for
/// its head.
fn suffix(key: Utf8<'_>) -> &'static str {
    match key.as_bytes() {
        b"ts" | b"level" | b"target" | b"msg" => "_",
        _ => "",
    }
}

fn time<W: Sink>(out: &mut Output<W>, time: UnixTime) -> fmt::Result {
    rfc3339::with_text::<DIGITS, _>(time, |text| fmt::Write::write_str(out, text))
}

/// Writes a message, escaped. Most are a text of the program, which can't fail.
fn message<W: Sink, const QUOTED: bool>(out: &mut Output<W>, message: &Message<'_>) -> fmt::Result {
    let arguments = match message {
        Message::Str(text) => return escape::write::<_, QUOTED>(out, *text),
        Message::Arguments(arguments) => arguments,
    };
    match arguments.as_str() {
        Some(text) => escape::write::<_, QUOTED>(out, text.into()),
        None => out.escaped::<QUOTED>(*arguments),
    }
}
