//! The attributes of a record, a span, an event or a link, up to their limits.

use tach_log::Value;

use super::limits::AttributeLimits;
use super::protobuf::{integer, message, number};
use super::taken::Taken;
use super::value::{cut, key_texts, key_value, short_number, short_text};

/// Appends attributes up to a limit, and counts further attributes as dropped.
#[derive(Debug)]
pub struct Attributes {
    /// The field number with which each attribute is written.
    field: u32,
    limits: AttributeLimits,
    count: u32,
    dropped: u32,
}

impl Attributes {
    /// Creates a list of attributes that are written with the field number `field`.
    #[must_use]
    pub const fn new(field: u32, limits: AttributeLimits) -> Self {
        Self { field, limits, count: 0, dropped: 0 }
    }

    /// Appends an attribute, unless there is no room.
    pub fn add(&mut self, to: &mut Vec<u8>, key: &str, value: Value<'_>) {
        let longest = self.limits.length;
        let is_short = self.count < self.limits.count
            && match value {
                Value::Str(text) => short_text(to, self.field, key, cut(text, longest)),
                Value::I64(_) | Value::U64(_) => {
                    integer(value).is_some_and(|value| short_number(to, self.field, key, value))
                }
                _ => false,
            };
        if is_short {
            self.count += 1;
        } else {
            self.add_by(to, |to| key_value(to, key, value, longest));
        }
    }

    /// Appends an attribute that comes from no field, unless a field has its key.
    pub fn add_own(&mut self, to: &mut Vec<u8>, taken: Taken, key: &str, value: Value<'_>) {
        if !taken.has(key) {
            self.add(to, key, value);
        }
    }

    /// Appends a list of texts.
    pub fn add_texts<'a>(
        &mut self,
        to: &mut Vec<u8>,
        key: &str,
        texts: impl Iterator<Item = &'a str>,
    ) {
        let longest = self.limits.length;
        self.add_by(to, |to| key_texts(to, key, texts, longest));
    }

    /// Appends an attribute whose `KeyValue` is written by `write`, unless there is no room.
    pub fn add_by<R>(
        &mut self,
        to: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> Option<R> {
        if self.count >= self.limits.count {
            self.add_dropped(1);
            return None;
        }
        self.count += 1;
        Some(message(to, self.field, write))
    }

    /// Returns how many attributes were appended.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Counts all but the first `count` attributes as dropped. The caller has removed their bytes.
    pub fn drop_after(&mut self, count: u32) {
        self.add_dropped(self.count.saturating_sub(count));
        self.count = count;
    }

    /// Counts attributes as dropped.
    pub fn add_dropped(&mut self, count: u32) {
        self.dropped = self.dropped.saturating_add(count);
    }

    /// Appends how many attributes were dropped, if any.
    pub fn end(self, to: &mut Vec<u8>, field: u32) {
        if self.dropped > 0 {
            number(to, field, self.dropped.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries lengths around the longest one that takes a single byte.
    #[test]
    fn a_value_is_the_same_in_a_short_and_in_a_long_message() {
        for (of_key, of_text) in (0..140).flat_map(|key| [0, 1, 100, 140].map(|text| (key, text))) {
            let (key, text) = ("k".repeat(of_key), "t".repeat(of_text));
            for field in [1, 15, 16] {
                let mut attributes = Attributes::new(field, AttributeLimits::default());
                let (mut to, mut expected) = (Vec::new(), Vec::new());
                attributes.add(&mut to, &key, Value::Str(&text));
                message(&mut expected, field, |to| {
                    key_value(to, &key, Value::Str(&text), usize::MAX);
                });
                assert_eq!(to, expected, "{of_key} and {of_text} bytes in field {field}");
                assert_eq!(attributes.count(), 1);
                for value in [Value::U64(7), Value::I64(-7), Value::U64(u64::MAX), Value::I64(300)]
                {
                    let (mut to, mut expected) = (Vec::new(), Vec::new());
                    attributes.add(&mut to, &key, value);
                    message(&mut expected, field, |to| key_value(to, &key, value, usize::MAX));
                    assert_eq!(to, expected, "{value} of a key of {of_key} bytes in field {field}");
                }
            }
        }
    }
}
