//! The process's one clock: the chosen source and its two timelines.
//!
//! These statics are one instance of what `timeline` and `source` define; everything above works
//! on ticks.

use core::time::Duration;

use crate::counter;
use crate::host::{self, Host};
use crate::os;
use crate::sample::{CounterFailure, Reference};
use crate::source::{self, Chosen, ForceError, Mode, Reason, Source, Verdict};
use crate::sync::{AtomicU64, Ordering, Padded};
use crate::timeline::{BackwardStep, Rate, Record, Timeline};

/// What both timelines, and all else that is kept, may take.
const _: () = assert!(2 * size_of::<Timeline>() + 1024 <= 16 * 1024);

/// Ticks to the OS's monotonic clock.
pub(crate) static MONOTONIC: Timeline = Timeline::new(BackwardStep::Hold);
/// Ticks to Unix time.
pub(crate) static REALTIME: Timeline = Timeline::new(BackwardStep::Follow);
/// The highest tick that an enforced read has given.
static LAST: Padded<AtomicU64> = Padded(AtomicU64::new(0));
/// What has happened to the machine.
pub(crate) static HOST: Host = Host::new();

/// The chosen source beside the clock behind `std::time::Instant`.
pub(crate) struct MonotonicReference;
/// The chosen source beside the OS's real-time clock.
pub(crate) struct RealtimeReference;

impl Reference for MonotonicReference {
    fn ticks(&self) -> u64 {
        ticks::<Ordered>()
    }

    fn os_ns(&self) -> u64 {
        os::monotonic_ns()
    }

    fn is_identity(&self) -> bool {
        source::mode() == Mode::Os
    }

    fn resolution_ns(&self) -> u64 {
        os::resolution_ns()
    }

    fn counter_failed(&self, failure: CounterFailure) {
        let reason = match failure {
            CounterFailure::Regressed => Reason::CounterRegressed,
            CounterFailure::Stopped => Reason::CounterStopped,
        };
        replace_counter(source::choose(), failure, reason);
    }

    fn review(&self) {
        review();
    }
}

impl Reference for RealtimeReference {
    fn ticks(&self) -> u64 {
        MonotonicReference.ticks()
    }

    fn os_ns(&self) -> u64 {
        os::realtime_ns()
    }

    fn resolution_ns(&self) -> u64 {
        MonotonicReference.resolution_ns()
    }

    fn counter_failed(&self, failure: CounterFailure) {
        MonotonicReference.counter_failed(failure);
    }

    fn review(&self) {
        review();
    }

    /// The monotonic timeline's: that clock is never set, so what is learned there in two samples
    /// is the rate, while here it could be a step.
    fn known_rate(&self) -> Option<(Rate, u32)> {
        MONOTONIC.rate(&MonotonicReference)
    }
}

/// Lets ticks go on without the counter as it is, unless the source is no longer as `seen`.
fn replace_counter(seen: Chosen, failure: CounterFailure, reason: Reason) {
    if !seen.verdict.mode.reads_counter() {
        return;
    }
    let (raw, os_ns) = (counter::ticks_fenced(), os::monotonic_ns());
    let Some((expected_tick, rate)) = MONOTONIC.expected(os_ns) else { return };
    let (mode, line) = source::after_failure(failure, seen.moves, raw, os_ns, expected_tick, rate);
    source::replace(seen, Verdict { mode, reason }, line);
    HOST.event_at(expected_tick);
}

/// Looks whether the machine is as it was: still trusted, not suspended, not restored.
fn review() {
    let chosen = source::choose();
    HOST.review(&host::Facts::now(), ticks::<Bare>());
    if source::kernel_left_counter(chosen) {
        replace_counter(chosen, CounterFailure::Stopped, Reason::KernelLeftCounter);
    }
}

/// A way to read the clock: one instruction where that will do, decided by one comparison.
pub(crate) trait Read {
    /// Whether [`instruction`](Self::instruction) will do.
    fn is_instruction() -> bool;

    /// The read as one instruction.
    fn instruction() -> u64;

    /// The read by other means; also the first one of all, which chooses the source.
    fn otherwise() -> u64;
}

/// The bare read.
pub(crate) struct Bare;
/// A read that the CPU does not execute before this thread's earlier loads.
pub(crate) struct Ordered;
/// A read that never precedes one that happened before it, on any thread.
pub(crate) struct Strict;

impl Read for Bare {
    #[inline]
    fn is_instruction() -> bool {
        source::reads_counter()
    }

    #[inline]
    fn instruction() -> u64 {
        counter::ticks()
    }

    #[cold]
    fn otherwise() -> u64 {
        tick_by(in_force(), counter::ticks)
    }
}

impl Read for Ordered {
    #[inline]
    fn is_instruction() -> bool {
        source::reads_self_ordered_counter()
    }

    #[inline]
    fn instruction() -> u64 {
        counter::ticks_self_ordered()
    }

    #[inline(never)]
    fn otherwise() -> u64 {
        let chosen = in_force();
        tick_by(chosen, || match chosen.verdict.mode {
            Mode::SelfOrdered => counter::ticks_self_ordered(),
            _ => counter::ticks_fenced(),
        })
    }
}

impl Read for Strict {
    #[inline]
    fn is_instruction() -> bool {
        Ordered::is_instruction()
    }

    #[inline]
    fn instruction() -> u64 {
        Ordered::instruction()
    }

    #[inline(never)]
    fn otherwise() -> u64 {
        let chosen = in_force();
        match chosen.verdict.mode {
            Mode::Enforced | Mode::Moved => enforced(tick_by(chosen, counter::ticks)),
            _ => Ordered::otherwise(),
        }
    }
}

/// The tick now.
#[inline]
pub(crate) fn ticks<R: Read>() -> u64 {
    if R::is_instruction() { R::instruction() } else { R::otherwise() }
}

/// The tick by the chosen source, whose counter `read` reads.
fn tick_by(chosen: Chosen, read: impl FnOnce() -> u64) -> u64 {
    match chosen.verdict.mode {
        Mode::Undecided | Mode::Os => os::monotonic_ns(),
        Mode::Replaced => source::tick_of(chosen, os::monotonic_ns()),
        Mode::Moved => source::tick_of(chosen, read()),
        Mode::Enforced | Mode::Fenced | Mode::SelfOrdered => read(),
    }
}

/// The choice, made now if this is the first read of all.
fn in_force() -> Chosen {
    if source::mode() == Mode::Undecided {
        start();
    }
    source::choose()
}

/// Raises the maximum that all enforced reads share.
#[inline]
fn enforced(tick: u64) -> u64 {
    // ORDERING: Relaxed is enough: if one read happens before another, so do their exchanges in
    // LAST's modification order, and the later one gets a maximum that holds the earlier one.
    LAST.0.fetch_max(tick, Ordering::Relaxed).max(tick)
}

/// Chooses the source and begins both timelines, so that whatever is measured from now on lies
/// between two known points. Called by many threads at once it still happens only once.
pub(crate) fn start() {
    source::choose();
    MONOTONIC.begin(&MonotonicReference);
    REALTIME.begin(&RealtimeReference);
}

/// Forces the source of all ticks. Call it before anything reads the clock.
///
/// It outranks `TACH_SOURCE`. A counter that does not exist or may not be executed can't be forced:
/// [`status`](crate::status()) then says so.
///
/// # Errors
///
/// Fails once the source has been chosen, which the first read does: instants of two sources can't
/// be compared.
///
/// # Examples
///
/// ```
/// use tach_core::{Source, force_source};
///
/// force_source(Source::Os)?;
/// assert_eq!(tach_core::status().source, Source::Os);
/// # Ok::<(), tach_core::ForceError>(())
/// ```
pub fn force_source(source: Source) -> Result<(), ForceError> {
    source::request(source)?;
    start();
    source::check(source)
}

/// The time from `earlier` to `later`, both ticks; zero if they come the other way round.
#[inline]
pub(crate) fn between(earlier: u64, later: u64) -> Duration {
    duration(MONOTONIC.ns_between(earlier, later, &MonotonicReference))
}

/// The time from `earlier` to now.
#[inline]
pub(crate) fn elapsed<R: Read>(earlier: u64) -> Duration {
    if R::is_instruction() {
        between(earlier, R::instruction())
    } else {
        elapsed_otherwise::<R>(earlier)
    }
}

/// Apart from [`elapsed`], so that this one holds no call between the loads of the line and the
/// instruction, and needs to save no registers.
#[inline(never)]
fn elapsed_otherwise<R: Read>(earlier: u64) -> Duration {
    between(earlier, R::otherwise())
}

#[inline]
fn duration(ns: u64) -> Duration {
    const NS_PER_S: u64 = 1_000_000_000;
    // Most intervals are shorter than a second and need no division.
    if ns < NS_PER_S {
        #[expect(clippy::cast_possible_truncation, reason = "less than a second")]
        Duration::new(0, ns as u32)
    } else {
        long_duration(ns)
    }
}

#[cold]
fn long_duration(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

/// The tick `duration` after `tick`; `None` past the range of ticks.
pub(crate) fn after(tick: u64, duration: Duration) -> Option<u64> {
    let ns = u64::try_from(duration.as_nanos()).ok()?;
    started().tick_after(tick, ns, &MonotonicReference)
}

/// The tick `duration` before `tick`; `None` before the range of ticks.
pub(crate) fn before(tick: u64, duration: Duration) -> Option<u64> {
    let ns = u64::try_from(duration.as_nanos()).ok()?;
    started().tick_before(tick, ns, &MonotonicReference)
}

/// The Unix time now, in ns.
#[inline]
pub(crate) fn unix_ns_now() -> u64 {
    if Bare::is_instruction() { unix_ns_at(Bare::instruction()) } else { unix_ns_otherwise() }
}

/// Apart from [`unix_ns_now`] for the reason that [`elapsed_otherwise`] has.
#[inline(never)]
fn unix_ns_otherwise() -> u64 {
    unix_ns_at(Bare::otherwise())
}

/// The Unix time at `tick`, in ns.
#[inline]
pub(crate) fn unix_ns_at(tick: u64) -> u64 {
    REALTIME.ns_at(tick, &RealtimeReference)
}

/// The Unix time now, and how far it may be off, both in ns.
pub(crate) fn unix_ns_with_uncertainty() -> (u64, u64) {
    let tick = ticks::<Bare>();
    let ns = unix_ns_at(tick);
    (ns, uncertainty_ns(&REALTIME, tick, ns).unwrap_or(u64::MAX))
}

/// How far `told_ns` may be off, which `timeline` told at `tick`; `None` before the first conversion.
pub(crate) fn uncertainty_ns(timeline: &Timeline, tick: u64, told_ns: u64) -> Option<u64> {
    let record = timeline.newest().filter(Record::has_rate)?;
    Some(record.uncertainty_ns(tick, told_ns, os::resolution_ns()))
}

/// What the process's Unix time does when the OS's real-time clock is set back by more than a
/// millisecond: [`BackwardStep::Follow`] unless this says otherwise.
///
/// It counts from the next sync on, wherever it is called.
///
/// # Examples
///
/// ```
/// tach_core::set_backward_step(tach_core::BackwardStep::Hold);
/// ```
pub fn set_backward_step(backward: BackwardStep) {
    REALTIME.set_backward_step(backward);
}

/// Samples the OS's clocks now.
///
/// Nobody needs to: a conversion does so when it is due. But a process that is idle, or whose counter
/// stands still, learns of a disruption only then, and this is how to learn of it at once.
/// [`status`](crate::status) and [`epoch`] tell what was found. What has been converted stays as it is,
/// so a clock that was set is followed from the end of the present record on, in four seconds at most.
///
/// # Examples
///
/// ```
/// let before = tach_core::epoch();
/// tach_core::sync();
/// if tach_core::epoch() != before {
///     eprintln!("something happened to the clock: {}", tach_core::status());
/// }
/// ```
pub fn sync() {
    in_force();
    MONOTONIC.sync(&MonotonicReference);
    REALTIME.sync(&RealtimeReference);
    if HOST.review_is_due(os::monotonic_ns()) {
        review();
    }
}

/// How many disruptions have been found so far: clocks that were set, rates that changed, suspends, a
/// virtual machine that was restored, a counter that failed.
///
/// If it is the same before and after, none was found in between.
///
/// # Examples
///
/// ```
/// let epoch = tach_core::epoch();
/// // ... compare two timestamps of different hosts, or measure for an hour ...
/// let undisturbed = tach_core::epoch() == epoch;
/// ```
#[must_use]
pub fn epoch() -> u64 {
    let events = |timeline: &Timeline| timeline.newest().map_or(0, |record| record.counts.events());
    events(&MONOTONIC) + events(&REALTIME) + HOST.events() + u64::from(source::moves())
}

/// The time since this process first used tach.
///
/// # Examples
///
/// ```
/// let earlier = tach_core::uptime();
/// assert!(tach_core::uptime() >= earlier);
/// ```
#[inline]
pub fn uptime() -> Duration {
    let now_ns = MONOTONIC.ns_at(ticks::<Bare>(), &MonotonicReference);
    Duration::from_nanos(now_ns.saturating_sub(origin_ns()))
}

/// The OS's monotonic clock at the first use of tach.
#[inline]
fn origin_ns() -> u64 {
    static ORIGIN_NS: Padded<AtomicU64> = Padded(AtomicU64::new(u64::MAX));
    // ORDERING: Relaxed, since the value stands alone and whoever stores it stores the same.
    let known = ORIGIN_NS.0.load(Ordering::Relaxed);
    if known != u64::MAX {
        return known;
    }
    let origin_ns = started().origin_ns().unwrap_or(0);
    // ORDERING: Relaxed, as above.
    ORIGIN_NS.0.store(origin_ns, Ordering::Relaxed);
    origin_ns
}

/// The monotonic timeline once it has begun.
fn started() -> &'static Timeline {
    in_force();
    &MONOTONIC
}
