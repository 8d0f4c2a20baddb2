//! The slots of open spans: one table for the spans of all subscribers, of layers and of tracers.
//!
//! A thread reuses the slots of the spans that it has closed, so it seldom touches new memory.

mod free;
mod memory;
mod record;

use core::cell::Cell;
use core::mem;
use core::num::{NonZeroU32, NonZeroU64};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tracing_core::Metadata;

use self::free::Below;
use self::record::Record;
pub use self::record::Start;
use super::otel::Values;
use super::slot::{self, Facts, Flags, References, TURN};
use super::w3c::TraceContext;
use tach_record::frame::Code;
use tach_record::ids::SpanContext;
use tach_record::sync::SharedLock;

/// The memory for fields that a free slot keeps.
const KEPT_BYTES: usize = 1024;

thread_local! {
    /// The slot of the span that the thread opened last, which is probably the next one to be asked
    /// for. A single word, because a signal handler that opens a span may run between the stores of
    /// two.
    static LAST: Cell<Option<&'static Slot>> = const { Cell::new(None) };
    /// The slot of the parent that the thread used last: it opened or closed a child of that span.
    static PARENT: Cell<Option<&'static Slot>> = const { Cell::new(None) };
}

/// Contains an open span, or is free.
#[repr(align(64))]
struct Slot {
    /// The count of references, with the number of the parent and the callsite.
    references: References,
    /// The subscriber of the span.
    owner: AtomicU32,
    /// The slot below in the stack of free slots. While a span is open, the number of the thread on
    /// which the span started.
    below: Below,
    /// The index of the slot, plus one.
    place: NonZeroU32,
    /// Whether `span` is not empty. If the slot is free, the values are the previous span's.
    is_filled: AtomicBool,
    /// Whether `span` must be cleaned when the span closes: it contains values that end with the
    /// span, or more memory than a free slot may keep.
    is_to_be_cleaned: AtomicBool,
    /// Whether `span` contains the whole record, and not the fields alone.
    has_record: AtomicBool,
    span: SharedLock<Option<Box<Span>>>,
    /// The ids of the span, if its pipeline records it.
    ids: slot::Slot,
}

#[cfg(target_os = "linux")]
const _: () = assert!(size_of::<Slot>() == 128, "a slot is two lines of the cache");

/// What only some spans need. In a box, so that a slot takes one cache line less.
#[derive(Default)]
pub(super) struct Span {
    /// The metadata of a callsite without a number.
    metadata: Option<&'static Metadata<'static>>,
    /// The record that is logged when the span ends, or its fields, if a sink takes events.
    record: Record,
    /// The records of a span that waits for the decision whether it is sampled.
    kept: Vec<u8>,
    /// The span of another process whose context this span passes on, if that is more than the
    /// trace: a `tracestate`, or the whole context if no sink takes spans. Most traces have none.
    origin: Option<Box<TraceContext>>,
    /// The values that the crate `opentelemetry` stores in the span's context.
    pub(super) values: Values,
}

/// The number of an open span.
///
/// The lower half is the place of the slot, the upper half the turn. A number that is used after
/// its span was closed finds no other span, unless the slot had four billion spans since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number(NonZeroU64);

/// A span that was open when the caller got this value. If the caller holds no reference, the span
/// may close at any time, so each method checks the turn.
#[derive(Clone, Copy)]
pub struct Open {
    slot: &'static Slot,
    turn: u64,
}

impl Number {
    pub const fn of(id: NonZeroU64) -> Self {
        Self(id)
    }

    /// Returns `None` for zero, which is no number.
    #[inline]
    pub(super) const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    pub const fn id(self) -> NonZeroU64 {
        self.0
    }

    /// Returns the place of the slot, and the turn.
    #[expect(clippy::cast_possible_truncation, reason = "takes the lower half")]
    #[inline]
    const fn parts(self) -> (u32, u64) {
        let Self(number) = self;
        (number.get() as u32, number.get() & TURN)
    }

    /// Returns the slot, if its span belongs to the subscriber `owner`. A span of another
    /// subscriber is as unknown here as a number of another registry would be.
    #[inline]
    fn slot(self, owner: u32) -> Option<&'static Slot> {
        self.any_slot().filter(|slot| slot.is_of(owner))
    }

    #[inline]
    fn any_slot(self) -> Option<&'static Slot> {
        let (place, _) = self.parts();
        match LAST.get() {
            Some(last) if last.place.get() == place => Some(last),
            _ => match PARENT.get() {
                Some(parent) if parent.place.get() == place => Some(parent),
                _ => memory::get(place.wrapping_sub(1)),
            },
        }
    }

    /// Returns the span of any subscriber, unless it is closed.
    #[inline]
    pub fn open(self) -> Option<Open> {
        self.may_be_open_in_any().filter(|span| span.is_open())
    }

    /// Returns the span, which may be closed, unless it belongs to another subscriber.
    #[inline]
    pub fn may_be_open(self, owner: u32) -> Option<Open> {
        let (slot, (_, turn)) = (self.slot(owner)?, self.parts());
        Some(Open { slot, turn })
    }

    /// Returns the span, whichever subscriber has it. The span may be closed, so check before use.
    #[inline]
    pub(super) fn may_be_open_in_any(self) -> Option<Open> {
        let (slot, (_, turn)) = (self.any_slot()?, self.parts());
        Some(Open { slot, turn })
    }

    /// Adds a reference to the span. Returns `false` if it is closed or belongs to another
    /// subscriber.
    #[inline]
    pub fn add_reference(self, owner: u32) -> bool {
        let (_, turn) = self.parts();
        self.slot(owner).is_some_and(|slot| slot.references.add(turn))
    }

    /// Removes a reference to the span. Returns the span if it was the last one.
    #[inline]
    pub fn remove_reference(self, owner: u32) -> Option<Closing> {
        let (slot, (_, turn)) = (self.slot(owner)?, self.parts());
        slot.references.remove(turn).then_some(Closing { slot })
    }
}

/// Opens a span of the subscriber `owner`. `code` is that of the callsite, if it has one. A span of
/// a tracer has no metadata. Returns `None` if there is no slot for the span.
#[expect(clippy::inline_always, reason = "the road of spans calls it once")]
#[inline(always)]
pub fn open(
    owner: u32,
    metadata: Option<&'static Metadata<'static>>,
    code: Option<Code>,
    parent: Option<Open>,
) -> Option<Open> {
    let slot = memory::take()?;
    // ORDERING: Relaxed: the slot's previous owner passed it to this thread after its own stores.
    if (slot.is_filled.load(Ordering::Relaxed) || code.is_none()) && !slot.renew(metadata, code) {
        // This thread was interrupted while it read the slot of an earlier span, and still has the
        // lock.
        memory::give_to_all(slot);
        return None;
    }
    Some(slot.begin(owner, code, parent))
}

/// Returns the last span of each slot, open or closed.
pub(super) fn all() -> impl Iterator<Item = Open> {
    memory::all().map(|slot| Open { slot, turn: slot.references.turn() })
}

impl Open {
    /// Returns the number of the span.
    #[inline]
    pub fn number(self) -> Number {
        let Self { slot, turn } = self;
        Number(NonZeroU64::from(slot.place) | turn)
    }

    /// Returns whether the span is open.
    #[inline]
    pub fn is_open(self) -> bool {
        self.slot.references.are_any(self.turn)
    }

    /// Returns whether the span belongs to the subscriber `owner`.
    #[inline]
    pub fn is_of(self, owner: u32) -> bool {
        self.slot.is_of(owner)
    }

    /// Returns the flags of the span's ids, unless the span is closed or has none.
    #[inline]
    pub fn flags(self) -> Option<Flags> {
        self.slot.ids.flags_of(self.number().id().get())
    }

    /// Returns the ids of the span, unless it is closed or has none.
    #[inline]
    pub fn context(self) -> Option<SpanContext> {
        let has_ids = self.slot.ids.has(self.number().id().get());
        has_ids.then(|| self.slot.ids.context())
    }

    /// Returns the slot for the span's ids.
    #[inline]
    pub const fn ids(self) -> &'static slot::Slot {
        &self.slot.ids
    }

    /// Adds a reference. Returns `false` if the span is closed.
    #[inline]
    pub fn add_reference(self) -> bool {
        self.slot.references.add(self.turn)
    }

    /// Returns the metadata, unless the span is closed.
    #[inline]
    pub fn metadata(self) -> Option<&'static Metadata<'static>> {
        let Facts { callsite, .. } = self.slot.references.facts(self.turn)?;
        match Code::of_slot(callsite) {
            Some(code) => crate::callsites::callsite(code.number()),
            None => self.read(|span| span.metadata).flatten(),
        }
    }

    /// Returns the parent, which belongs to the same subscriber, unless the span is closed.
    #[inline]
    pub fn parent(self) -> Option<Self> {
        self.parent_number()?.open()
    }

    /// Returns the number of the [parent](Self::parent), which may be closed.
    #[inline]
    pub fn parent_number(self) -> Option<Number> {
        Number::new(self.slot.references.facts(self.turn)?.parent)
    }

    /// Calls `f` with the metadata and the fields, unless the span is closed.
    #[inline]
    pub fn with(self, f: impl FnOnce(&'static Metadata<'static>, &[u8])) {
        let Some(metadata) = self.metadata() else { return };
        // ORDERING: Relaxed: a caller that holds the span received it from the thread that stored
        // the flag. For any other caller, `read` checks the turn under the lock.
        if !self.slot.is_filled.load(Ordering::Relaxed) {
            return f(metadata, &[]);
        }
        self.read(|span| f(metadata, span.record.fields()));
    }

    /// Adds values to the fields, in place of values with the same keys, unless the span is closed.
    pub fn replace_fields(self, more: &[u8]) {
        self.change(|span| span.record.replace_fields(more));
    }

    /// Changes the records that are kept of the span, if it still waits. Returns whether it does.
    pub fn keep(self, change: impl FnOnce(&mut Vec<u8>)) -> bool {
        let kept = self.change(|span| self.ids().waits().then(|| change(&mut span.kept)));
        kept.flatten().is_some()
    }

    /// Takes the records that are kept of the span. If there are none, calls `end` before another
    /// thread can keep one.
    pub fn take_kept_or(self, end: impl Fn()) -> Option<Vec<u8>> {
        let kept = self.change(|span| {
            if span.kept.is_empty() {
                end();
            }
            mem::take(&mut span.kept)
        });
        kept.filter(|kept| !kept.is_empty())
    }

    /// Takes the records that are kept of the span, which no longer waits.
    pub fn take_kept(self) -> Option<Vec<u8>> {
        self.change(|span| mem::take(&mut span.kept))
    }

    /// Returns the span of another process whose context the span passes on, if there is one.
    #[inline]
    pub fn origin(self) -> Option<TraceContext> {
        if self.ids().passes_on() { self.read_origin() } else { None }
    }

    #[cold]
    fn read_origin(self) -> Option<TraceContext> {
        self.read(|span| span.origin.as_deref().cloned()).flatten()
    }

    /// Sets the span of another process whose context the span passes on.
    pub fn set_origin(self, origin: Option<TraceContext>) {
        if origin.is_some() {
            self.ids().set_passes_on();
        }
        self.change(|span| span.origin = origin.map(Box::new));
    }

    /// Copies to this span what `lender` passes on to its children. This span then shows the ids of
    /// `lender` in place of its own.
    pub(super) fn borrow_from(self, lender: Self) {
        let lent = lender.read(|span| (span.origin.clone(), span.values.lent()));
        if let Some(lent) = lent {
            self.ids().set_passes_on();
            self.change(|span| (span.origin, span.values) = lent);
        }
    }

    #[inline]
    pub(super) fn change<R>(self, change: impl FnOnce(&mut Span) -> R) -> Option<R> {
        let Self { slot, turn } = self;
        let changed = slot.span.write(|span| {
            slot.references.are_any(turn).then(|| {
                let span = span.get_or_insert_default();
                let result = change(span);
                let is_to_be_cleaned = span.is_long() || span.has_what_ends();
                // ORDERING: Relaxed: the removal of the last reference comes later, and publishes
                // both flags.
                slot.is_filled.store(true, Ordering::Relaxed);
                slot.is_to_be_cleaned.store(is_to_be_cleaned, Ordering::Relaxed);
                result
            })
        });
        changed.flatten()
    }

    /// Calls `f` with the span, unless it is closed.
    #[inline]
    pub(super) fn read<R>(self, f: impl FnOnce(&Span) -> R) -> Option<R> {
        let Self { slot, turn } = self;
        // If the span has stored a value in the slot, no other span takes the slot during this
        // read: `renew` needs the lock.
        slot.span
            .read(|span| slot.references.are_any(turn).then(|| Some(f(span.as_deref()?))))??
    }
}

impl PartialEq for Open {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.slot, other.slot) && self.turn == other.turn
    }
}

impl Span {
    /// Empties the values, and keeps their memory for the next span.
    #[inline]
    fn renew(&mut self) {
        self.metadata = None;
        self.record.clear();
        self.kept.clear();
    }

    /// Returns whether the span takes more memory than a free slot may keep.
    #[inline]
    fn is_long(&self) -> bool {
        self.record.capacity().max(self.kept.capacity()) > KEPT_BYTES
    }

    /// Returns whether a value must be dropped when the span closes.
    #[inline]
    fn has_what_ends(&self) -> bool {
        self.origin.is_some() || self.values.have_what_ends()
    }
}

impl Slot {
    #[inline]
    fn is_of(&self, owner: u32) -> bool {
        // ORDERING: Relaxed: the caller received the number from the thread that stored the owner.
        self.owner.load(Ordering::Relaxed) == owner
    }

    fn new(index: usize) -> Self {
        Self {
            references: References::default(),
            owner: AtomicU32::new(0),
            below: Below::default(),
            place: NonZeroU32::MIN.saturating_add(u32::try_from(index).unwrap_or(u32::MAX)),
            is_filled: AtomicBool::new(false),
            is_to_be_cleaned: AtomicBool::new(false),
            has_record: AtomicBool::new(false),
            span: SharedLock::default(),
            ids: slot::Slot::default(),
        }
    }

    /// Begins the turn of a span.
    #[inline]
    fn begin(&'static self, owner: u32, code: Option<Code>, parent: Option<Open>) -> Open {
        let parent = parent.map_or(0, |parent| {
            PARENT.set(Some(parent.slot));
            parent.number().id().get()
        });
        let callsite = Code::for_slot(code);
        // ORDERING: Relaxed: a reader received the span's number from this thread after the store.
        self.owner.store(owner, Ordering::Relaxed);
        let turn = self.references.begin(Facts { parent, callsite });
        LAST.set(Some(self));
        Open { slot: self, turn }
    }

    /// Empties `span`, and stores the metadata of a callsite without a code. Returns `false` if
    /// this thread holds the lock already: it was interrupted while it used the slot.
    #[inline(never)]
    fn renew(&self, metadata: Option<&'static Metadata<'static>>, code: Option<Code>) -> bool {
        // Drop the former values after the lock is released. They are still here if the previous
        // span's end was interrupted.
        let renewed = self.span.write(|span| {
            let span = span.get_or_insert_default();
            span.renew();
            span.metadata = metadata;
            (span.origin.take(), mem::take(&mut span.values))
        });
        if renewed.is_some() {
            // ORDERING: Relaxed: only the caller uses the slot.
            self.is_filled.store(code.is_none(), Ordering::Relaxed);
            self.has_record.store(false, Ordering::Relaxed);
        }
        renewed.is_some()
    }

    /// Drops the values that end with the span, which is closed, and frees memory beyond
    /// `KEPT_BYTES`.
    #[inline(never)]
    fn clean(&self) {
        // ORDERING: Relaxed: the slot is free, so only this thread uses it.
        self.is_to_be_cleaned.store(false, Ordering::Relaxed);
        // Drop these after the lock is released, since destructors may be the user's code.
        let _ended = self.span.write(|span| match span {
            Some(span) if !span.is_long() => {
                (None, span.origin.take(), mem::take(&mut span.values))
            }
            long => (long.take(), None, Values::default()),
        });
    }

    /// Frees the memory for fields.
    #[cold]
    fn free_memory(&self) {
        // ORDERING: Relaxed: the slot is free, so only this thread uses it.
        self.is_to_be_cleaned.store(false, Ordering::Relaxed);
        // Drop the span after the lock is released, since destructors may be the user's code.
        let _span = self.span.write(Option::take);
    }
}

/// A span whose last reference was removed.
pub struct Closing {
    slot: &'static Slot,
}

impl Closing {
    /// Returns the slot for the span's ids, and their flags, if the span has ids.
    #[inline]
    pub fn ids(&self, number: Number) -> Option<(&'static slot::Slot, Flags)> {
        let ids = &self.slot.ids;
        Some((ids, ids.flags_of(number.id().get())?))
    }

    /// Frees the slot, and removes the reference to the span's parent. Returns the parent if it was
    /// the last one.
    #[inline]
    pub fn free(self) -> Option<(Number, Self)> {
        let Self { slot } = self;
        let parent = NonZeroU64::new(slot.references.last_facts().parent).map(Number);
        if !slot.ids.is_free() {
            // The span belongs to a pipeline of the parent process, which can't remove ids in this
            // process.
            slot.ids.remove();
        }
        // ORDERING: Relaxed: the removal of the last reference has published the flag.
        if slot.is_to_be_cleaned.load(Ordering::Relaxed) {
            slot.clean();
        }
        memory::give(slot);
        let parent = parent?;
        let (place, turn) = parent.parts();
        // Don't check the owner: a parent belongs to the same subscriber.
        let slot = match PARENT.get() {
            Some(slot) if slot.place.get() == place => slot,
            _ => memory::get(place.wrapping_sub(1))?,
        };
        PARENT.set(Some(slot));
        slot.references.remove(turn).then_some((parent, Self { slot }))
    }
}
