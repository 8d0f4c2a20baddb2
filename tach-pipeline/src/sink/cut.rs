//! A record that is too long, cut.

use core::cell::Cell;
use std::io;

use tach_log::Value;
use tach_log::adapter::{self, EachField, EachSpan, Fields};

/// The key of the number of bytes that a record lacks.
const KEY: &str = "truncated_bytes";
/// Room for a value that is no text.
const NUMBER: usize = 40;

/// The message and the fields of a record, as far as they fit into a number of bytes.
pub(super) struct Cut<'a> {
    message: &'a str,
    fields: &'a dyn Fields,
    /// How many bytes the fields may have.
    room: usize,
    /// How many bytes of the message are missing.
    lost: usize,
}

impl<'a> Cut<'a> {
    /// Cuts the message to half of `most` bytes, and each text of the fields to half of what is
    /// left, so that long texts leave room for short ones.
    pub(super) fn new(message: &'a str, fields: &'a dyn Fields, most: usize) -> Self {
        let kept = beginning(message, most / 2);
        let (room, lost) = (most.saturating_sub(kept.len()), message.len() - kept.len());
        Self { message: kept, fields, room, lost }
    }

    pub(super) const fn message(&self) -> &'a str {
        self.message
    }

    /// Returns the message of a line, which has no fields: with the number of bytes that it lacks.
    pub(super) fn line(&self) -> String {
        match self.lost {
            0 => self.message.to_owned(),
            lost => format!("{} {KEY}={lost}", self.message),
        }
    }
}

impl Fields for Cut<'_> {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        let budget = Budget::new(self.room);
        self.fields.visit(&mut |key, value| budget.pass(key, value, each))?;
        pass_lost(self.lost + budget.lost.get(), each)
    }

    /// Visits the event's own fields, which have half of the room. The spans' fields have the other
    /// half. The count is the event's, and includes the spans' loss.
    fn visit_own(&self, each: EachField<'_>) -> io::Result<()> {
        let budget = Budget::new(self.room / 2);
        self.fields.visit_own(&mut |key, value| budget.pass(key, value, each))?;
        let of_spans = Budget::new(self.room / 2);
        self.fields.visit_spans(&mut |_, fields| {
            fields.visit(&mut |key, value| of_spans.pass(key, value, &mut |_, _| Ok(())))
        })?;
        pass_lost(self.lost + budget.lost.get() + of_spans.lost.get(), each)
    }

    fn visit_spans(&self, each: EachSpan<'_>) -> io::Result<()> {
        let budget = Budget::new(self.room / 2);
        self.fields.visit_spans(&mut |name, fields| each(name, &OfSpan { fields, budget: &budget }))
    }
}

/// The fields of a span, as far as there is room.
struct OfSpan<'a> {
    fields: &'a dyn Fields,
    budget: &'a Budget,
}

impl Fields for OfSpan<'_> {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        self.fields.visit(&mut |key, value| self.budget.pass(key, value, each))
    }

    fn has_key(&self, is: &dyn Fn(&str) -> bool) -> bool {
        self.fields.has_key(is)
    }
}

/// How many bytes may still be written, and how many were not.
struct Budget {
    room: Cell<usize>,
    lost: Cell<usize>,
}

impl Budget {
    const fn new(room: usize) -> Self {
        Self { room: Cell::new(room), lost: Cell::new(0) }
    }

    /// Passes a field, as far as there is room.
    fn pass(&self, key: &str, value: Value<'_>, each: EachField<'_>) -> io::Result<()> {
        let length = text_of(value).map_or(NUMBER, str::len);
        let Some(left) = self.room.get().checked_sub(key.len()) else {
            self.lost.set(self.lost.get() + key.len() + length);
            return Ok(());
        };
        let Some(text) = text_of(value) else {
            self.room.set(left.saturating_sub(NUMBER));
            return each(key, value);
        };
        let kept = beginning(text, left / 2);
        self.lost.set(self.lost.get() + length - kept.len());
        self.room.set(left - kept.len());
        each(
            key,
            match value {
                Value::Error(_) => Value::Error(adapter::chain(kept)),
                // A part of JSON is none.
                Value::Json(_) if kept.len() == length => value,
                _ => Value::Str(kept),
            },
        )
    }
}

/// Passes the number of bytes that a record lacks, if it lacks any.
fn pass_lost(lost: usize, each: EachField<'_>) -> io::Result<()> {
    if lost == 0 { Ok(()) } else { each(KEY, Value::U64(lost as u64)) }
}

/// Returns the text of a value that may be cut.
fn text_of(value: Value<'_>) -> Option<&str> {
    match value {
        Value::Str(text) | Value::Json(text) => Some(text),
        Value::Error(chain) => Some(adapter::chain_text(chain)),
        _ => None,
    }
}

/// Returns the first whole characters of `text`, at most `most` bytes.
fn beginning(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
