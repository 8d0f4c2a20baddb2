//! Bounds on what a client of the program may choose: the number of fields, the length of keys, and
//! the depth of values.

use core::cell::Cell;
use std::io;

use crate::event::{EachField, Fields};
use crate::format::nested;
use crate::format::{Names, TRUNCATED};
use crate::value::{Chain, Value};

/// The most fields of a record.
pub const FIELDS: usize = 1024;
/// The longest key, in bytes.
pub const KEY_BYTES: usize = 256;
/// The deepest nesting of a value. Some readers of JSON refuse lines that are deeper than 128.
pub const DEPTH: usize = 64;

/// How many bytes a value without a text counts as.
const NUMBER: usize = 40;

/// The fields and the bytes that may still be written, and the number of bytes that were not.
#[derive(Debug)]
pub struct Budget {
    room: Cell<usize>,
    fields: Cell<usize>,
    lost: Cell<usize>,
}

impl Budget {
    /// Creates a budget of so many bytes of keys and texts.
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        Self { room: Cell::new(bytes), fields: Cell::new(FIELDS), lost: Cell::new(0) }
    }

    /// Returns how many bytes were not passed.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.lost.get()
    }

    /// Passes a field, as far as there is room: each text has half of the bytes that are left.
    ///
    /// # Errors
    ///
    /// Returns the error of `each`.
    pub fn pass(&self, key: &str, value: Value<'_>, each: EachField<'_>) -> io::Result<()> {
        let length = text_of(value).map_or(NUMBER, str::len);
        let left = self.room.get().checked_sub(key.len().min(KEY_BYTES));
        let (Some(left), Some(fields)) = (left, self.fields.get().checked_sub(1)) else {
            self.lose(key.len() + length);
            return Ok(());
        };
        self.fields.set(fields);
        let shortened;
        let key = if key.len() > KEY_BYTES {
            let kept = beginning(key, KEY_BYTES);
            self.lose(key.len() - kept.len());
            // The number distinguishes keys with the same beginning. No key that fits equals a
            // shortened one, which is longer.
            shortened = format!("{kept}…{fields}");
            &shortened
        } else {
            key
        };
        let Some(text) = text_of(value) else {
            self.room.set(left.saturating_sub(NUMBER));
            return each(key, value);
        };
        if let Value::Json(json) = value {
            if let Some((shallow, lost)) = nested::shallow(json, DEPTH) {
                self.lose(lost);
                return self.pass_text(key, Value::Json(&shallow), &shallow, left, each);
            }
        }
        self.pass_text(key, value, text, left, each)
    }

    fn pass_text(
        &self,
        key: &str,
        value: Value<'_>,
        text: &str,
        left: usize,
        each: EachField<'_>,
    ) -> io::Result<()> {
        let kept = beginning(text, left / 2);
        self.lose(text.len() - kept.len());
        self.room.set(left - kept.len());
        each(
            key,
            match value {
                Value::Error(_) => Value::Error(Chain::of(kept)),
                // A JSON value that is cut is no longer valid JSON, so it becomes a text.
                Value::Json(_) if kept.len() == text.len() => value,
                _ => Value::Str(kept),
            },
        )
    }

    fn lose(&self, bytes: usize) {
        self.lost.set(self.lost.get().saturating_add(bytes));
    }
}

/// Passes the number of bytes that a record with these fields lacks, if it lacks any. If a field of
/// the record has the key of the number, the number gets another one.
///
/// # Errors
///
/// Returns the error of `each`.
pub fn pass_lost(lost: usize, fields: &dyn Fields, each: EachField<'_>) -> io::Result<()> {
    if lost == 0 {
        return Ok(());
    }
    let lost = Value::U64(lost as u64);
    if !fields.has_key(&|key| key == TRUNCATED) {
        return each(TRUNCATED, lost);
    }
    each(&Names::default().free(TRUNCATED, &|_| false, &|is| fields.has_key(is)), lost)
}

/// Returns the text of a value that may be cut.
fn text_of(value: Value<'_>) -> Option<&str> {
    match value {
        Value::Str(text) | Value::Json(text) => Some(text),
        Value::Error(chain) => Some(chain.as_text()),
        _ => None,
    }
}

/// Returns the first whole characters of `text`, at most `most` bytes.
#[must_use]
pub fn beginning(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
