//! The fields of a record: the event's own fields and the fields of the spans around the event.
//! Each key is passed once.

mod keys;
mod redacted;

use core::cell::Cell;
use core::iter;
use std::collections::HashMap;
use std::io;

use tach_log::Value;
use tach_log::adapter::{self, DEPTH, EachField, EachSpan, FIELDS, KEY_BYTES, Site, nested};

pub use self::redacted::is_redacted;
use super::Reader;
use crate::frame::{FIRST_COUNTS, NAMELESS, SITE, SPANS, TAG_BITS, Tag};

/// Stands for the value of a redacted field.
const REDACTED: &str = "[redacted]";

/// The fields of a record, as a format receives them.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    pub(in crate::frame) flags: u32,
    /// The patterns of the keys whose values are hidden.
    pub(in crate::frame) redacted: &'a [String],
    /// Whether only the fields up to the next span's name count: they are the fields of one span.
    is_one_span: bool,
    /// Whether the current field's text was printed by the value.
    is_printed: Cell<bool>,
}

impl<'a> Fields<'a> {
    #[inline]
    pub(in crate::frame) fn new(bytes: &'a [u8], flags: u32) -> Self {
        Self { bytes, flags, redacted: &[], is_one_span: false, is_printed: Cell::new(false) }
    }

    #[inline]
    pub(super) fn has_spans(&self) -> bool {
        self.flags & SPANS != 0
    }

    /// Returns the place and the thread, which follow the fields.
    #[inline]
    pub(super) fn site(&self) -> Site<'a> {
        if self.flags & SITE == 0 { Site::default() } else { Reader(self.bytes).site() }
    }

    /// Returns the keys and the values. For the beginning of a span, returns the span's name as the
    /// key and no value.
    #[inline]
    pub fn parts(&self) -> impl Iterator<Item = (&'a str, Option<Value<'a>>)> + use<'a> {
        let mut reader = Reader(self.bytes);
        iter::from_fn(move || reader.part())
    }

    /// Returns the fields before the first span.
    #[cold]
    fn own(&self) -> Self {
        let mut reader = Reader(self.bytes);
        let mut own = self.bytes.len();
        while let Some((part, _)) = reader.skip() {
            if part.is_span() {
                break;
            }
            own = reader.0.len();
        }
        let bytes = &self.bytes[..self.bytes.len() - own];
        Self { bytes, flags: self.flags & !SPANS, is_one_span: false, ..self.clone() }
    }

    fn visit_before_spans(&self, each: EachField<'_>) -> io::Result<()> {
        let own = self.own();
        adapter::Fields::visit(&own, &mut |key, value| {
            self.is_printed.set(own.is_printed.get());
            each(key, value)
        })
    }

    /// Visits each key once, in time linear in the fields. `are_spans_left_out` says whether fields
    /// of spans with names are left out.
    #[cold]
    fn visit_once(&self, are_spans_left_out: bool, each: EachField<'_>) -> io::Result<()> {
        let ranked = || self.ranked().filter(|(rank, ..)| !(are_spans_left_out && rank.is_named));
        let mut highest = HashMap::new();
        for (rank, key, _) in ranked() {
            let of_key = highest.entry(key).or_insert(rank);
            *of_key = rank.max(*of_key);
        }
        for (rank, key, value) in ranked() {
            if highest.get(key) == Some(&rank) {
                self.is_printed.set(rank.is_printed);
                self.show(key, value, each)?;
            }
        }
        Ok(())
    }

    /// Returns whether there are more fields, longer keys or deeper values than a format receives.
    pub(super) fn exceed_bounds(&self) -> bool {
        let (mut reader, mut count) = (Reader(self.bytes), 0);
        while let Some((part, room)) = reader.skip_room() {
            count += 1;
            if room > KEY_BYTES || count > FIELDS || part.is_json() {
                return self.look_at_bounds();
            }
        }
        false
    }

    /// Like [`exceed_bounds`](Self::exceed_bounds), but checks each key and value.
    #[cold]
    fn look_at_bounds(&self) -> bool {
        self.ranked().enumerate().any(|(at, (_, key, value))| {
            let is_deep =
                matches!(value, Value::Json(json) if nested::shallow(json, DEPTH).is_some());
            at >= FIELDS || key.len() > KEY_BYTES || is_deep
        })
    }

    /// Passes a field to `each`. If the key is redacted, hides the value.
    #[inline]
    fn show(&self, key: &str, value: Value<'a>, each: EachField<'_>) -> io::Result<()> {
        if self.redacted.is_empty() {
            each(key, value)
        } else {
            self.show_redacted(key, value, each)
        }
    }

    #[inline(never)]
    fn show_redacted(&self, key: &str, value: Value<'a>, each: EachField<'_>) -> io::Result<()> {
        let is_redacted = |key: &str| is_redacted(self.redacted, key);
        match value {
            _ if is_redacted(key) => each(key, Value::Str(REDACTED)),
            Value::Json(json) => {
                let mut shown = Vec::new();
                adapter::nested::redact(&mut shown, json, &is_redacted, REDACTED);
                each(key, Value::Json(&String::from_utf8_lossy(&shown)))
            }
            value => each(key, value),
        }
    }

    /// Returns the fields with their ranks. If a key occurs several times, the field with the
    /// highest rank counts. The event's own fields rank above the fields of spans.
    fn ranked(&self) -> impl Iterator<Item = (Rank, &'a str, Value<'a>)> + use<'a> {
        let first_counts = self.flags & FIRST_COUNTS != 0;
        let (mut is_own, mut is_named, mut at) = (true, false, 0);
        let mut reader = Reader(self.bytes);
        let parts = iter::from_fn(move || Some((reader.is_printed(), reader.part()?)));
        parts.filter_map(move |(is_printed, (key, value))| {
            at += 1;
            if value.is_none() {
                (is_own, is_named) = (false, !key.is_empty());
            }
            // Of equal keys, slog's first one counts: rank the own fields in reverse. Spans always
            // come from the outermost to the innermost.
            let place = if first_counts && is_own { -at } else { at };
            Some((Rank { is_own, place, is_printed, is_named }, key, value?))
        })
    }
}

/// The rank of a field among the fields with the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_own: bool,
    place: isize,
    is_printed: bool,
    /// Whether it is a field of a span with a name.
    is_named: bool,
}

impl adapter::Fields for Fields<'_> {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        if self.is_one_span {
            return self.visit_before_spans(each);
        }
        if keys::may_repeat(self.bytes) {
            return self.visit_once(false, each);
        }
        let mut reader = Reader(self.bytes);
        loop {
            self.is_printed.set(reader.is_printed());
            let Some((key, value)) = reader.part() else { return Ok(()) };
            if let Some(value) = value {
                self.show(key, value, each)?;
            }
        }
    }

    fn visit_own(&self, each: EachField<'_>) -> io::Result<()> {
        match (self.has_spans(), self.flags & NAMELESS != 0) {
            (false, _) => self.visit(each),
            (true, false) => self.visit_before_spans(each),
            (true, true) => self.visit_once(true, each),
        }
    }

    fn is_printed(&self) -> bool {
        self.is_printed.get()
    }

    fn visit_spans(&self, each: EachSpan<'_>) -> io::Result<()> {
        let mut reader = Reader(self.bytes);
        loop {
            let rest = reader.clone();
            let Some((part, _)) = reader.skip() else { return Ok(()) };
            let name = part.is_span().then(|| rest.clone().part()).flatten();
            if let Some((name, None)) = name.filter(|(name, _)| !name.is_empty()) {
                each(name, &Self { bytes: reader.0, flags: 0, is_one_span: true, ..self.clone() })?;
            }
        }
    }
}

impl<'a> Reader<'a> {
    /// Returns whether the next field's text was printed by the value.
    #[inline]
    fn is_printed(&self) -> bool {
        self.0.first().is_some_and(|tag| tag & !(u8::MAX << TAG_BITS) == Tag::Printed as u8)
    }

    /// Takes a key with its value, or the name of a span.
    #[inline]
    pub(super) fn part(&mut self) -> Option<(&'a str, Option<Value<'a>>)> {
        let mut reader = Reader(self.0);
        let (kind, key) = reader.halves()?;
        let tag = Tag::of(kind)?;
        let value = match tag {
            Tag::Null => Some(Value::Null),
            Tag::False => Some(Value::Bool(false)),
            Tag::True => Some(Value::Bool(true)),
            Tag::I64 => Some(Value::I64(i64::from_le_bytes(reader.array()?))),
            Tag::U64 => Some(Value::U64(u64::from_le_bytes(reader.array()?))),
            Tag::I128 => Some(Value::I128(i128::from_le_bytes(reader.array()?))),
            Tag::U128 => Some(Value::U128(u128::from_le_bytes(reader.array()?))),
            Tag::F64 => Some(Value::F64(f64::from_bits(u64::from_le_bytes(reader.array()?)))),
            Tag::Str | Tag::Json | Tag::Error | Tag::Printed | Tag::Span => None,
            // These parts follow the fields, so no field is left.
            Tag::Place | Tag::File | Tag::Module | Tag::Thread | Tag::Context => return None,
        };
        let key = reader.text(key)?;
        let value = match tag {
            Tag::Str | Tag::Printed => Some(Value::Str(reader.copied(kind >> TAG_BITS)?)),
            Tag::Json => Some(Value::Json(reader.copied(kind >> TAG_BITS)?)),
            Tag::Error => Some(Value::Error(adapter::chain(reader.copied(kind >> TAG_BITS)?))),
            _ => value,
        };
        self.0 = reader.0;
        Some((key, value))
    }
}
