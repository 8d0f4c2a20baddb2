//! Spans at the call: their ids, and the spans that a thread is in.
//!
//! All that a call needs of an open span is in its [slot](slots), whichever subscriber the span is
//! of. The numbers of a registry's spans lead to slots by a [table](layers).

#[cfg(feature = "opentelemetry")]
mod boundary;
pub mod current;
pub mod layers;
#[cfg(feature = "opentelemetry")]
pub mod otel;
#[cfg(not(feature = "opentelemetry"))]
#[path = "trace/no_otel.rs"]
pub mod otel;
pub mod sampling;
mod slot;
pub mod slots;
#[cfg(test)]
mod tests;
pub mod w3c;

use core::cell::RefCell;
use core::hash::BuildHasher as _;
use core::sync::atomic::{AtomicBool, Ordering};
use std::hash::RandomState;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use self::layers::Layers;
use self::slot::{
    ABANDONED, ACTIVE, ANY_LEFT, FOLLOWS, Flags, MOVING, PASSES_ON, PIPELINE, TAKES, of_pipeline,
};
pub use self::slot::{Begun, Slot};
use self::slots::Open;
use tach_record::frame::{Scratch, Time};
use tach_record::host::process::Process;
use tach_record::ids::SpanContext;
use tach_record::sync::Switch;

/// The ids of a pipeline's open spans.
pub struct Contexts {
    /// The number of the pipeline, shifted to its place in the flags of a slot.
    pipeline: u64,
    /// Converts the numbers of spans to ids and back.
    secret: u64,
    /// Whether all spans have ids. Otherwise only spans that pass a caller's context on have ids.
    gives_ids: bool,
    /// Whether a span ever got ids although not all spans have any.
    passes_on: Switch,
    /// Whether a span was removed whose end was dropped.
    has_lost_end: AtomicBool,
    /// Whether a tracer has started a span.
    pub has_tracers: Switch,
    /// The process in which spans become current in `opentelemetry`.
    process: Process,
    pub layers: Layers,
}

/// How a span starts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Started {
    /// Whether the span becomes the current one of `opentelemetry` when it is entered.
    pub is_active: bool,
    /// Whether the span follows the decision of its parent. Otherwise the span [waits](Slot::waits)
    /// if it is not sampled.
    pub follows: bool,
    pub begun: Begun,
}

impl Contexts {
    /// Creates the state of the pipeline with that number. `gives_ids` says whether all spans have
    /// ids.
    pub fn new(pipeline: u64, gives_ids: bool) -> Self {
        Self {
            secret: with_random(of_pipeline(pipeline), Random::span),
            pipeline: of_pipeline(pipeline),
            gives_ids,
            passes_on: Switch::new(),
            has_lost_end: AtomicBool::new(false),
            has_tracers: Switch::new(),
            process: Process::current(),
            layers: Layers::new(),
        }
    }

    /// Returns whether no span has ids.
    #[inline]
    pub fn are_unused(&self) -> bool {
        !self.gives_ids && !self.passes_on.is_on()
    }

    /// Returns whether all spans have ids.
    #[inline]
    pub const fn give_ids(&self) -> bool {
        self.gives_ids
    }

    /// Creates the ids of an open span: with the trace of its parent, or else with a new one.
    #[inline]
    pub fn new_ids(
        &self,
        span: Open,
        parent: Option<&SpanContext>,
        is_sampled: impl FnOnce(u128) -> bool,
    ) -> SpanContext {
        let trace = self.trace(parent);
        let span = id_of(self.secret, span.number().id().get());
        SpanContext { trace, span, is_sampled: is_sampled(trace) }
    }

    /// Like [`new_ids`](Self::new_ids), for a span that has no slot.
    pub fn ids_without_slot(
        &self,
        parent: Option<&SpanContext>,
        is_sampled: impl FnOnce(u128) -> bool,
    ) -> SpanContext {
        let trace = self.trace(parent);
        let span = with_random(self.pipeline, Random::span);
        SpanContext { trace, span, is_sampled: is_sampled(trace) }
    }

    /// Returns the ids of the [span](Self::ids_without_slot) after it got a slot.
    pub fn with_slot(&self, ids: SpanContext, span: Open) -> SpanContext {
        SpanContext { span: id_of(self.secret, span.number().id().get()), ..ids }
    }

    #[inline]
    fn trace(&self, parent: Option<&SpanContext>) -> u128 {
        parent.map_or_else(|| with_random(self.pipeline, Random::trace), |parent| parent.trace)
    }

    /// Gives an open span its ids. Call before other threads know the span.
    #[inline]
    pub fn insert(&self, span: Open, context: &SpanContext, started: Started) {
        if !self.gives_ids {
            self.passes_on.on();
        }
        let number = span.number().id().get();
        span.ids().take_own(number, for_slot(context), self.flags(started), started.begun);
    }

    /// Gives a span ids that other threads may know. Returns `false` if it has ids.
    pub fn insert_late(&self, span: Open, context: &SpanContext, started: Started) -> bool {
        self.passes_on.on();
        let number = span.number().id().get();
        span.ids().take(number, for_slot(context), self.flags(started), started.begun)
    }

    #[inline]
    const fn flags(&self, started: Started) -> u64 {
        slot::flags(self.pipeline, started.is_active, started.follows)
    }

    /// Returns the trace of a span that never was sampled, for a child of which nothing
    /// is kept but its ids. (Another thread may move the parent to a trace that is sampled, so the
    /// flags are read once.)
    #[expect(clippy::inline_always, reason = "it is called once")]
    #[inline(always)]
    pub fn unsampled_parent(&self, parent: Open) -> Option<u128> {
        let ((trace, ..), flags) = parent.ids().get_all();
        flags.are_unsampled(self.pipeline, ACTIVE).then_some(trace)
    }

    /// Gives the child of a span that is not sampled its ids.
    #[expect(clippy::inline_always, reason = "it is called once")]
    #[inline(always)]
    pub fn insert_unsampled(&self, span: Open, trace: u128, begun: Begun) {
        let number = span.number().id().get();
        let ids = (trace, id_of(self.secret, number), false);
        span.ids().take_own(number, ids, self.pipeline | FOLLOWS, begun);
    }

    /// Gives a span the ids of the span that it is in, which stay that span's: nothing is recorded
    /// for the span.
    #[cold]
    pub fn lend(&self, span: Open, lender: Open, context: &SpanContext) {
        let number = span.number().id().get();
        let flags = !self.pipeline & PIPELINE | FOLLOWS;
        span.ids().take_own(number, for_slot(context), flags, Begun::default());
        if lender.ids().passes_on() {
            span.borrow_from(lender);
        }
    }

    /// Returns whether the pipeline records the span, which is open. In a forked child, a slot may
    /// have ids of the parent's pipeline.
    #[inline]
    pub fn record(&self, span: Open) -> bool {
        span.flags().is_some_and(|flags| self.is_own(flags))
    }

    /// Returns whether a slot with these flags has the ids of a span of the pipeline.
    #[inline]
    pub const fn is_own(&self, flags: Flags) -> bool {
        flags.are_of(self.pipeline)
    }

    /// Returns whether a slot with these flags has the ids of a span of the pipeline that never was
    /// sampled, and the span is not current in `opentelemetry` when it is entered.
    #[inline]
    pub const fn are_unsampled(&self, flags: Flags) -> bool {
        flags.are_unsampled(self.pipeline, 0)
    }

    /// Returns the ids that a span of the pipeline has, or was [lent](Self::lend).
    #[inline]
    pub fn get(&self, span: Open) -> Option<SpanContext> {
        let flags = span.flags()?;
        (self.is_own(flags) || flags.are_of(!self.pipeline)).then(|| span.ids().context())
    }

    /// Returns the ids of a span that the pipeline records, for a caller that does not hold the
    /// span, which may be closed.
    pub fn get_unheld(&self, span: Open) -> Option<SpanContext> {
        if !self.record(span) {
            return None;
        }
        span.ids().get_unheld(span.number().id().get()).map(of_slot)
    }

    /// Returns the open span with that id, and its ids, if the pipeline records it.
    pub fn find(&self, id: u64) -> Option<(Open, SpanContext)> {
        let number = slots::Number::new(number_of(self.secret, id))?;
        let span = number.may_be_open_in_any()?;
        self.get_unheld(span).filter(|context| context.span == id).map(|context| (span, context))
    }

    /// Returns whether the span with that id is open, and may log a record when it ends. Spans that
    /// are not sampled log one if that is said of `all`.
    pub fn end_is_awaited(&self, id: u64, all: bool) -> bool {
        self.find(id).is_some_and(|(span, _)| all || span.flags().is_some_and(Flags::may_log_end))
    }

    /// Returns whether the thread is in the process in which spans become current.
    #[inline]
    pub fn is_process_current(&self) -> bool {
        self.process.is_current()
    }

    /// Remembers that a span was removed whose end was dropped.
    pub fn lose_end(&self) {
        // ORDERING: Release, with the Acquire of `take_lost_end`: the span is removed.
        self.has_lost_end.store(true, Ordering::Release);
    }

    /// Returns whether `lose_end` was called since the last call.
    pub fn take_lost_end(&self) -> bool {
        // ORDERING: Acquire, with the Release of `lose_end`: the slot no longer has the span.
        // The load is Relaxed: it publishes nothing, and the next call sees a flag that it missed.
        self.has_lost_end.load(Ordering::Relaxed)
            && self.has_lost_end.swap(false, Ordering::Acquire)
    }

    /// Calls `each` with the records of the sampled spans that are open, as if they ended `now`. A
    /// span that is missing here has logged its record, or is in neither place: a thread is moving
    /// it to another trace, or is closing it, and the span was moved or belongs to a tracer.
    pub fn open_spans(&self, now: Time, mut each: impl FnMut(&[u8])) {
        let mut scratch = Scratch::new();
        for span in slots::all() {
            let Some(context) = self.get_unheld(span).filter(|context| context.is_sampled) else {
                continue;
            };
            if span.copy_record(context, now, &mut scratch) {
                each(scratch.written());
            }
        }
    }
}

impl Slot {
    /// Returns the ids of the span.
    #[inline]
    pub fn context(&self) -> SpanContext {
        of_slot(self.get())
    }

    /// Makes the span one that becomes the current one of `opentelemetry` when it is entered.
    pub fn activate(&self) {
        self.set_flag(ACTIVE);
    }

    /// Returns whether the span becomes the current one of `opentelemetry` when it is entered.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.has_flag(ACTIVE)
    }

    /// If `may_take` is set, a parent in another process is taken from the context in which the
    /// active span is entered. The parent was not named, and no such parent was there when the span
    /// started.
    #[inline]
    pub fn take_parents(&self, may_take: bool) {
        if may_take {
            self.set_flag(TAKES);
        }
    }

    /// Returns whether the span [takes](Self::take_parents) a parent now: it was neither moved nor
    /// left.
    #[inline]
    pub fn takes_parent(&self) -> bool {
        self.has_flag(TAKES) && !self.has_flag(MOVING | ANY_LEFT) && self.left().is_none()
    }

    /// Notes that the span has something that its children inherit.
    fn set_passes_on(&self) {
        self.set_flag(PASSES_ON);
    }

    /// Returns whether the span has something that its children inherit.
    #[inline]
    pub fn passes_on(&self) -> bool {
        self.has_flag(PASSES_ON)
    }

    /// Notes that the registry will never close the span. Returns `false` if that was noted before.
    #[cold]
    pub fn abandon(&self) -> bool {
        self.set_flag(ABANDONED)
    }

    /// Returns whether the span was moved to another trace, or a thread has begun that.
    #[inline]
    pub fn is_moved(&self) -> bool {
        self.has_flag(MOVING)
    }
}

const fn of_slot((trace, span, is_sampled): slot::Ids) -> SpanContext {
    SpanContext { trace, span, is_sampled }
}

const fn for_slot(context: &SpanContext) -> slot::Ids {
    (context.trace, context.span, context.is_sampled)
}

thread_local! {
    static IDS: RefCell<Option<Random>> = const { RefCell::new(None) };
}

/// A thread's generator of ids.
struct Random {
    /// The pipeline that the generator was seeded for. A forked process has a copy of the
    /// generator, but repeats no ids: its spans belong to another pipeline, or are not sent and
    /// have no header.
    pipeline: u64,
    generator: SmallRng,
}

/// Calls `f` with the thread's generator, or with a new one while the thread ends.
#[inline]
fn with_random<R>(pipeline: u64, f: impl Fn(&mut Random) -> R) -> R {
    let known = IDS.try_with(|ids| {
        let mut ids = ids.try_borrow_mut().ok()?;
        Some(f(ids.as_mut().filter(|ids| ids.pipeline == pipeline)?))
    });
    known.ok().flatten().unwrap_or_else(|| seeded(pipeline, f))
}

/// Like [`with_random`], with a generator that is seeded first.
#[cold]
fn seeded<R>(pipeline: u64, f: impl Fn(&mut Random) -> R) -> R {
    let known = IDS.try_with(|ids| {
        let mut ids = ids.try_borrow_mut().ok()?;
        Some(f(ids.insert(Random::new(pipeline))))
    });
    known.ok().flatten().unwrap_or_else(|| f(&mut Random::new(pipeline)))
}

impl Random {
    #[cold]
    fn new(pipeline: u64) -> Self {
        let random = SmallRng::try_from_os_rng();
        // If the OS refuses random bytes, take a seed from the keys of std's hash maps. With a
        // fixed seed, two processes would make the same ids.
        let seed = || SmallRng::seed_from_u64(RandomState::new().hash_one(pipeline));
        Self { pipeline, generator: random.unwrap_or_else(|_| seed()) }
    }

    #[inline]
    fn trace(&mut self) -> u128 {
        u128::from(self.generator.random::<u64>()) << u64::BITS | u128::from(self.span())
    }

    #[inline]
    fn span(&mut self) -> u64 {
        match self.generator.random() {
            0 => 1,
            span => span,
        }
    }
}

/// 2^64 divided by the golden ratio, and the inverse of that number modulo 2^64.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
const UNDO: u64 = 0xF1DE_83E1_9937_733D;
const _: () = assert!(FACTOR.wrapping_mul(UNDO) == 1, "each undoes the other");

/// Returns the id of a span with that number. `secret` is random, so the id is too. Spans with
/// different numbers have different ids, except for one pair of the 2^64 numbers: zero is no id, so
/// the number that leads to it shares the id 1 with another number.
#[inline]
const fn id_of(secret: u64, number: u64) -> u64 {
    let id = (secret ^ number).wrapping_mul(FACTOR);
    match id ^ id >> u32::BITS {
        0 => 1,
        id => id,
    }
}

/// Returns the number of the span with that id. The span need not exist.
#[inline]
const fn number_of(secret: u64, id: u64) -> u64 {
    (id ^ id >> u32::BITS).wrapping_mul(UNDO) ^ secret
}
