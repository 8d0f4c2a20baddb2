//! The anchor of a trace: each span takes its parent's, up to the trace's first local span.

use core::mem;
use core::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt};
use tach_core::adapter::system_time_step_ns;
use tach_core::{Anchor, Clock, Instant, UnixTime};

use crate::age::before;
use crate::clock_id::ClockId;
use crate::table::{Slot, Table};

/// The anchors of 4,096 spans, in 128 KiB. At four times the size, cache misses cost a span up to
/// 50 ns.
static ANCHORS: Table<1024> = Table::new();

/// The anchor of a span: its start, and the time of the start by its parent's anchor.
#[derive(Debug)]
pub(crate) struct TraceAnchor {
    anchor: Anchor,
    /// The anchor's time, converted once.
    time: SystemTime,
    id: ClockId,
    /// Whether the time comes from a parent's anchor.
    is_shared: bool,
    /// The key that this span must release when it ends; 0 if there is none.
    key: AtomicU64,
}

impl TraceAnchor {
    /// Returns the anchor of a span that starts now.
    ///
    /// It agrees with the anchor of a local parent, and with the anchor of a remote parent that is
    /// an active span of this process. `now` may be early: the span is not published yet, and its
    /// start is not before its parent's.
    #[inline]
    pub(crate) fn find(
        clock: &impl Clock,
        id: ClockId,
        parent: &Context,
        now: impl FnOnce() -> Instant,
    ) -> Self {
        let shared = if parent.has_active_span() {
            of_parent(id, parent.span().span_context())
        } else {
            None
        };
        let now = now();
        let anchor = match shared {
            Some(parent) => {
                let start = now.max(parent.instant());
                Anchor::new(start, clock.unix_time_from(parent, start))
            }
            None => Anchor::new(now, clock.unix_time_at(now)),
        };
        let time = anchor.unix_time().into();
        // Children count from this time, so it must not be more precise than `time`.
        let ns = anchor.unix_time().as_nanos();
        let kept = UnixTime::from_nanos(ns - ns % system_time_step_ns());
        let anchor = Anchor::new(anchor.instant(), kept);
        Self { anchor, time, id, is_shared: shared.is_some(), key: AtomicU64::new(0) }
    }

    #[cfg(feature = "sdk")]
    pub(crate) fn anchor(&self) -> Anchor {
        self.anchor
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns whether another span may have found the anchor.
    pub(crate) fn is_remembered(&mut self) -> bool {
        *self.key.get_mut() != 0
    }

    pub(crate) fn start(&self) -> SystemTime {
        self.time
    }

    #[inline]
    pub(crate) fn before_start(&self, age_ns: u64) -> SystemTime {
        before(self.anchor.unix_time(), age_ns)
    }

    /// Returns the current time, which is not before any read that happened before this one.
    #[inline]
    pub(crate) fn now(&self, clock: &impl Clock) -> SystemTime {
        self.time_at(clock, clock.monotonic_now().into())
    }

    #[inline]
    pub(crate) fn early_now(&self, clock: &impl Clock) -> SystemTime {
        self.time_at(clock, clock.early_now())
    }

    /// Returns the time at `instant`, or the span's start if that is later.
    #[inline]
    pub(crate) fn time_at(&self, clock: &impl Clock, instant: Instant) -> SystemTime {
        let elapsed = clock.duration_between(self.anchor.instant(), instant);
        // Only a clock with made-up times overflows.
        self.time.checked_add(elapsed).unwrap_or(self.time)
    }

    #[inline]
    pub(crate) fn time_before(
        &self,
        clock: &impl Clock,
        instant: Instant,
        age_ns: u64,
    ) -> SystemTime {
        let elapsed = clock.duration_between(self.anchor.instant(), instant);
        before(self.anchor.unix_time().saturating_add(elapsed), age_ns)
    }

    /// Puts the anchor into the table for the children of `span`, until the span ends. If the table
    /// has an anchor for the same ids, replaces it only if `replaces` is set.
    #[inline]
    pub(crate) fn remember(&self, span: &SpanContext, replaces: bool) {
        // ORDERING: Relaxed for both, because `release` has exclusive access. Two threads that run
        // this concurrently write the same, to one slot or to two that are released together. (Two
        // wrappers of one span may mix their words, which `check` detects.)
        if self.key.load(Ordering::Relaxed) != 0 {
            return;
        }
        let key = key(self.id, span);
        if put(key, span, &self.anchor, replaces).is_some() {
            self.key.store(key, Ordering::Relaxed);
        }
    }

    /// Puts the anchor of a span that has ended into the table, and releases the slot.
    #[cold]
    pub(crate) fn remember_late(&self, span: &SpanContext) {
        let key = key(self.id, span);
        if let Some(slot) = put(key, span, &self.anchor, false) {
            slot.release(key);
        }
    }

    /// Releases the slot when the span ends. The anchor is found until the slot is reused.
    #[inline]
    pub(crate) fn release(&mut self) {
        let key = mem::take(self.key.get_mut());
        if key != 0 {
            release(key);
        }
    }
}

#[cfg(feature = "sdk")]
pub(crate) fn known(key: u64) -> Option<Anchor> {
    Some(anchor_of(ANCHORS.find(key)?.1))
}

/// Puts `anchor` into the table, and returns the slot for its release. Returns `None` if the span
/// has no ids, or if the table has an anchor for it that this one doesn't replace.
#[inline(never)]
fn put(key: u64, span: &SpanContext, anchor: &Anchor, replaces: bool) -> Option<&'static Slot> {
    let words = [anchor.instant().as_ticks(), anchor.unix_time().as_nanos()];
    match ANCHORS.used_by(key) {
        Some(slot) if replaces => {
            slot.write(key, words);
            Some(slot)
        }
        None if span.is_valid() && (replaces || ANCHORS.find(key).is_none()) => {
            Some(ANCHORS.put(key, words))
        }
        _ => None,
    }
}

#[inline(never)]
pub(crate) fn release(key: u64) {
    ANCHORS.release(key);
}

#[inline]
fn of_parent(id: ClockId, parent: &SpanContext) -> Option<Anchor> {
    let key = key(id, parent);
    let (slot, words) = ANCHORS.find(key)?;
    (!parent.is_remote() || slot.is_used_by(key)).then(|| anchor_of(words))
}

#[inline]
pub(crate) fn key(id: ClockId, span: &SpanContext) -> u64 {
    id.key(span.trace_id().to_bytes(), span.span_id().to_bytes())
}

#[inline]
fn anchor_of([tick, time_ns]: [u64; 2]) -> Anchor {
    Anchor::new(Instant::from_ticks(tick), UnixTime::from_nanos(time_ns))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Clocked;
    use core::sync::atomic::AtomicUsize;
    use opentelemetry::trace::noop::NoopTracerProvider;
    use opentelemetry::trace::{
        Span, SpanBuilder, SpanId, TraceFlags, TraceId, TraceState, Tracer, TracerProvider,
    };
    use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::thread;
    use tach_core::SystemClock;

    /// So few that they hardly ever fill a set and take their parent's slot.
    const FEW: usize = 100;

    /// More than there are slots.
    const MANY: usize = 5_000;

    pub(crate) fn used() -> usize {
        ANCHORS.used()
    }

    /// Waits until no other test uses the tables, which all tests share.
    pub(crate) fn alone() -> MutexGuard<'static, ()> {
        static BY_ONE_TEST: Mutex<()> = Mutex::new(());
        BY_ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `count` spans whose context two threads request at once and again after the end, with a
    /// child of each.
    fn live(count: usize, tracer: &impl Tracer<Span: Send + Sync + 'static>, parent: &Context) {
        let mut spans: Vec<_> =
            (0..count).map(|_| tracer.start_with_context("shown", parent)).collect();
        let arrived = AtomicUsize::new(0);
        let show = || {
            for (number, span) in spans.iter().enumerate() {
                arrived.fetch_add(1, Ordering::Relaxed);
                while arrived.load(Ordering::Relaxed) < 2 * (number + 1) {
                    thread::yield_now();
                }
                _ = span.span_context();
            }
        };
        thread::scope(|scope| {
            scope.spawn(show);
            show();
        });
        for span in &mut spans {
            let context = Context::new().with_remote_span_context(span.span_context().clone());
            drop(tracer.start_with_context("child", &context));
            span.end();
            for _ in 0..2 {
                _ = span.span_context();
            }
        }
        let mut unseen = tracer.build_with_context(SpanBuilder::from_name("unseen"), parent);
        unseen.end();
        for _ in 0..2 {
            _ = unseen.span_context();
        }
    }

    #[test]
    fn spans_that_are_over_use_no_slots() {
        let _alone = alone();
        let sdk = |sampler| SdkTracerProvider::builder().with_sampler(sampler).build();
        let clocked = Clocked::new(sdk(Sampler::AlwaysOn)).tracer("slots");
        let parentless = Context::new();
        live(MANY, &clocked, &parentless);
        assert_eq!(used(), 0);

        // The parent stays active.
        let parent = Context::new().with_span(clocked.start("parent"));
        assert_eq!(used(), 1);
        live(FEW, &clocked, &parent);
        // Unrecorded spans pass their parent's anchor on. Spans without an SDK have their parent's
        // ids.
        live(FEW, &Clocked::new(sdk(Sampler::AlwaysOff)).tracer("slots"), &parent);
        live(FEW, &Clocked::new(NoopTracerProvider::new()).tracer("slots"), &parent);
        // A span that is wrapped twice takes one slot.
        live(FEW, &Clocked::new(Clocked::new(sdk(Sampler::AlwaysOn))).tracer("slots"), &parent);
        // Spans without ids take none.
        live(FEW, &clocked, &parent.with_telemetry_suppressed());
        assert!(of_parent(ClockId::SYSTEM, &SpanContext::NONE).is_none());
        assert_eq!(used(), 1);
        drop(parent);
        assert_eq!(used(), 0);

        #[cfg(feature = "sdk")]
        {
            let align = crate::Align::new(opentelemetry_sdk::trace::SimpleSpanProcessor::new(
                opentelemetry_sdk::trace::InMemorySpanExporter::default(),
            ));
            let aligned = SdkTracerProvider::builder().with_span_processor(align).build();
            live(FEW, &aligned.tracer("slots"), &parentless);
            live(FEW, &Clocked::new(aligned).tracer("slots"), &parentless);
        }
        assert_eq!(used(), 0);

        // A span with the ids of an ended one does not replace its anchor.
        let mut ended = clocked.start("ended");
        ended.end();
        let ended = Context::new().with_span(ended);
        let ended_context = ended.span().span_context().clone();
        let remembered = || of_parent(ClockId::SYSTEM, &ended_context).unwrap().instant();
        let instant = remembered();
        let (clock, id) = (SystemClock, ClockId::SYSTEM);
        TraceAnchor::find(&clock, id, &parentless, || clock.now()).remember_late(&ended_context);
        assert_eq!((remembered(), used()), (instant, 0));
        let no_op = Clocked::new(NoopTracerProvider::new()).tracer("slots");
        let no_op = no_op.start_with_context("no-op", &ended);
        assert_eq!(*no_op.span_context(), ended_context);
        assert_eq!((remembered(), used()), (instant, 0));

        let forgotten = clocked.start("never dropped");
        let context = forgotten.span_context().clone();
        core::mem::forget(forgotten);
        assert_eq!((used(), context.is_valid()), (1, true), "the positive control");
    }

    #[test]
    fn an_anchor_replaces_another_of_the_same_span_if_asked_to() {
        let _alone = alone();
        let span = SpanContext::new(
            TraceId::from(2),
            SpanId::from(3),
            TraceFlags::SAMPLED,
            false,
            TraceState::NONE,
        );
        let (clock, id) = (SystemClock, ClockId::SYSTEM);
        let remember = |replaces| {
            let anchor = TraceAnchor::find(&clock, id, &Context::new(), || clock.now());
            anchor.remember(&span, replaces);
            anchor
        };
        let remembered = || of_parent(id, &span).unwrap().instant();
        let mut first = remember(true);
        let mut kept = remember(false);
        assert_eq!(remembered(), first.anchor.instant());
        let mut second = remember(true);
        assert_eq!(remembered(), second.anchor.instant());
        assert!([&mut first, &mut second].iter_mut().all(|anchor| anchor.is_remembered()));
        assert!(!kept.is_remembered());
        first.release();
    }
}
