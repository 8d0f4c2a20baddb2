//! A record that is too long, cut.

use core::cell::Cell;
use std::io;

use tach_log::Value;
use tach_log::adapter::{EachField, EachSpan, Fields};

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
        let (room, lost) = (Cell::new(self.room), Cell::new(self.lost));
        self.fields.visit(&mut |key, value| {
            let length = if let Value::Str(text) = value { text.len() } else { NUMBER };
            let Some(left) = room.get().checked_sub(key.len()) else {
                lost.set(lost.get() + key.len() + length);
                return Ok(());
            };
            let value = match value {
                Value::Str(text) => {
                    let kept = beginning(text, left / 2);
                    lost.set(lost.get() + length - kept.len());
                    room.set(left - kept.len());
                    Value::Str(kept)
                }
                value => {
                    room.set(left.saturating_sub(NUMBER));
                    value
                }
            };
            each(key, value)
        })?;
        match lost.get() {
            0 => Ok(()),
            lost => each(KEY, Value::U64(lost as u64)),
        }
    }

    /// Visits the names alone. The spans' fields are among those of the event.
    fn visit_spans(&self, each: EachSpan<'_>) -> io::Result<()> {
        struct None;
        impl Fields for None {
            fn visit(&self, _: EachField<'_>) -> io::Result<()> {
                Ok(())
            }
        }
        self.fields.visit_spans(&mut |name, _| each(name, &None))
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
