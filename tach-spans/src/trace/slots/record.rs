//! The record of a span, which its slot keeps until the span ends.

use core::mem;
use core::ops::Range;
use core::sync::atomic::Ordering;

use super::{Closing, KEPT_BYTES, Number, Open, PARENT, Slot};
use tach_record::frame::{self, AGE_SHIFT, Code, Scratch, SpanRecord, Time, Writer};
use tach_record::ids::SpanContext;

/// What a span's slot keeps of its start, for the record that is written at the end.
pub struct Start {
    pub code: Option<Code>,
    /// How old the trace was when the span started, in units of [`AGE_SHIFT`]. The back end finds
    /// the line of the trace by it if the wall clock was stepped.
    pub age: u32,
    /// The number of the thread on which the span started.
    pub thread: u32,
}

/// The record of a span. If the span is not sampled but a sink takes events, its fields alone.
#[derive(Default)]
pub(super) struct Record {
    bytes: frame::Buffer,
    /// The part of `bytes` with the fields that events within the span show. It starts at zero if
    /// `bytes` has no record before the fields.
    fields: Range<usize>,
    /// All fields, once a recorded value has replaced another. Empty before that.
    changed: Vec<u8>,
}

impl Record {
    #[inline]
    pub(super) fn fields(&self) -> &[u8] {
        match &self.changed[..] {
            [] => self.bytes.written().get(self.fields.clone()).unwrap_or_default(),
            changed => changed,
        }
    }

    pub(super) fn replace_fields(&mut self, more: &[u8]) {
        let mut fields = self.fields().to_owned();
        frame::replace(&mut fields, more);
        self.changed = fields;
    }

    /// Returns whether there is a record, whose fields have ids before them.
    #[inline]
    const fn is_whole(&self) -> bool {
        self.fields.start > 0
    }

    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity().max(self.changed.capacity())
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.fields = 0..0;
        self.changed.clear();
    }

    /// Takes the bytes of `from` in exchange for others. `fields` is the part with the fields.
    #[inline]
    fn keep(&mut self, from: &mut Scratch, fields: Range<usize>) {
        let from = from.record();
        // The thread's memory may be longer than a slot may keep.
        if from.capacity() > KEPT_BYTES {
            self.bytes.copy(from.written());
        } else {
            mem::swap(&mut self.bytes, from);
        }
        self.fields = fields;
        self.changed.clear();
    }

    /// Moves the bytes to `to`.
    #[inline]
    fn take(&mut self, to: &mut Scratch) {
        let to = to.record();
        if to.capacity() > KEPT_BYTES {
            to.copy(self.bytes.written());
        } else {
            mem::swap(&mut self.bytes, to);
        }
        self.clear();
    }
}

impl Open {
    /// Stores in the slot what the record needs of the start. Call right after the span was
    /// [opened](super::open): it starts at `since`, on the thread with this number.
    #[inline]
    pub fn begin(self, since: u64, thread: u32) {
        let Self { slot, .. } = self;
        let (parent, _) =
            Number::new(slot.references.last_facts().parent).map_or((0, 0), Number::parts);
        let age = match PARENT.get() {
            // If another thread moves the parent at this moment, the age is wrong. That matters
            // only if the wall clock is stepped within the trace.
            Some(known) if known.place.get() == parent && !known.ids.is_moved() => {
                known.age_at(since)
            }
            _ => 0,
        };
        slot.references.set_age(age);
        slot.below.keep(thread);
    }

    /// Returns the start of the span.
    #[inline]
    pub fn start(self) -> Start {
        self.slot.start()
    }

    /// Returns whether the slot keeps a record. If another thread keeps one just now, the answer may
    /// be `false`.
    #[inline]
    pub fn has_record(self) -> bool {
        // ORDERING: Relaxed: only the lock publishes the record.
        self.slot.has_record.load(Ordering::Relaxed)
    }

    /// Keeps the bytes of `from`, whose fields the events within show: a record, or fields alone.
    /// `from` gets other memory. Call before other threads know the span.
    #[inline]
    pub fn keep_record(self, from: &mut Scratch, fields: Range<usize>) {
        let (Self { slot, .. }, is_whole) = (self, fields.start > 0);
        let is_long = slot.span.write(|span| {
            let record = &mut span.get_or_insert_default().record;
            record.keep(from, fields);
            record.capacity() > KEPT_BYTES
        });
        // ORDERING: Relaxed: whoever has the span's number has it from this thread.
        slot.is_filled.store(true, Ordering::Relaxed);
        slot.has_record.store(is_whole, Ordering::Relaxed);
        if is_long == Some(true) {
            slot.is_to_be_cleaned.store(true, Ordering::Relaxed);
        }
    }

    /// Keeps the record of a span that is about to be moved, which takes the words of its start, or
    /// that is given a chosen attribute. A span that has not [begun](Begun) starts at `now`. A span
    /// that is not sampled starts on the thread with the number `by`. Returns `false` if the span is
    /// closed, or the thread would have to wait for itself.
    pub fn keep_start(self, context: SpanContext, now: Time, by: u32) -> bool {
        let kept = self.change(|span| {
            let Start { code: Some(code), age, thread } = self.start() else { return };
            // A move, which overwrites the words of the start, comes only after this record.
            if span.record.is_whole() {
                return;
            }
            let begun = self.ids().begun();
            let (since, age, thread) = match begun.since() {
                Some(since) if context.is_sampled => (now.with_number(since), age, thread),
                Some(since) => (now.with_number(since), 0, by),
                None => (now, 0, by),
            };
            let mut scratch = Scratch::new();
            let record = SpanRecord { context, parent: begun.parent, since, age, thread };
            let mut to = Writer::begin_span_at(&mut scratch, code, &record);
            let start = to.end_so_far();
            to.fields(span.record.fields());
            let fields = start..to.end_so_far();
            to.end();
            span.record.keep(&mut scratch, fields);
            // ORDERING: Relaxed: ordered by the removal of the last reference.
            self.slot.has_record.store(true, Ordering::Relaxed);
        });
        kept.is_some()
    }

    /// Copies the record of an open span, as if it ended `now`. The caller does not hold the span.
    /// Returns `false` if it has closed meanwhile. While a call changes the span, the copy lacks the
    /// fields, and the call returns `false` for a span that was moved.
    pub(in crate::trace) fn copy_record(
        self,
        context: SpanContext,
        now: Time,
        to: &mut Scratch,
    ) -> bool {
        // Don't wait for the lock: whoever holds it may wait for room in a queue, which the caller
        // makes.
        let copied = self.slot.span.try_read(|span| {
            let record = &span.as_deref().filter(|_| self.is_open())?.record;
            record.is_whole().then(|| to.copy_bytes(record.bytes.written()))
        });
        if copied.flatten().is_some() {
            to.end_span(now, true);
            return true;
        }
        // Read the slot's start first: the check of `begun_unheld` then covers both.
        let Start { code, age, thread } = self.start();
        let begun = self.ids().begun_unheld(self.number().id().get());
        let (Some(code), Some(begun)) = (code, begun) else { return false };
        let Some(since) = begun.since().map(|since| now.with_number(since)) else { return false };
        let record = SpanRecord { context, parent: begun.parent, since, age, thread };
        to.copy_bytes(record.words(code, now).map(u64::to_le_bytes).as_flattened());
        true
    }
}

impl Closing {
    /// Returns the start of the span.
    #[inline]
    pub fn start(&self) -> Start {
        self.slot.start()
    }

    /// Returns whether the slot keeps a record.
    #[inline]
    pub fn has_record(&self) -> bool {
        // ORDERING: Relaxed: ordered by the removal of the last reference.
        self.slot.has_record.load(Ordering::Relaxed)
    }

    /// Moves the [record](Self::has_record) to `to`. Returns `false` if the thread was interrupted
    /// while it changed this very span.
    #[inline]
    pub fn take_record(&self, to: &mut Scratch) -> bool {
        let Self { slot } = self;
        let taken = slot.span.write(|span| {
            let span = span.as_deref_mut()?;
            span.record.take(to);
            // ORDERING: Relaxed: ordered by the removal of the last reference, and the slot is free
            // soon.
            slot.has_record.store(false, Ordering::Relaxed);
            if !slot.is_to_be_cleaned.load(Ordering::Relaxed) {
                span.renew();
                slot.is_filled.store(false, Ordering::Relaxed);
            }
            Some(())
        });
        taken.flatten().is_some()
    }
}

impl Slot {
    /// Returns the age of the span's trace at a later time.
    #[inline]
    fn age_at(&self, later: u64) -> u32 {
        let Some(since) = self.ids.begun().since() else { return 0 };
        let after = later.wrapping_sub(since);
        let units = u32::try_from(after >> AGE_SHIFT).unwrap_or(u32::MAX);
        // The span may have started on a core whose counter is ahead.
        let is_later = after <= u64::MAX / 2;
        // Only spans that may be sampled have an age.
        if is_later && self.ids.may_be_sampled() {
            units.saturating_add(self.references.age())
        } else {
            0
        }
    }

    #[inline]
    fn start(&self) -> Start {
        let code = Code::of_slot(self.references.last_facts().callsite);
        Start { code, age: self.references.age(), thread: self.below.kept() }
    }
}
