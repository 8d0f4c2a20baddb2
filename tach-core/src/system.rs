//! The process's one clock: the chosen source and its two timelines.
//!
//! These statics are one instance of what `timeline` and `source` define; everything above works
//! on ticks.

mod convert;
mod read;
mod upkeep;

pub(crate) use self::convert::{
    after, before, between, elapsed, uncertainty_ns, unix_ns_at, unix_ns_now,
    unix_ns_with_uncertainty,
};
#[allow(
    unused_imports,
    reason = "for the standard library's instants, which are not everywhere"
)]
pub(crate) use self::convert::{monotonic_ns_at, tick_at_monotonic_ns};
pub use self::convert::{uptime, uptime_at};
pub(crate) use self::read::{Bare, Early, Ordered, Strict, ticks};
pub use self::upkeep::{enforce_order, epoch, force_source, set_backward_step, sync};
use crate::counter;
use crate::host::{Facts, Host};
use crate::os;
use crate::sample::{CounterFailure, Reference, Sample};
use crate::source::{self, Chosen, Mode, Reason, Verdict};
use crate::timeline::{BackwardStep, Expected, Rate, Timeline};

/// What both timelines, and all else that is kept, may take.
const _: () = assert!(2 * size_of::<Timeline>() + 1024 <= 16 * 1024);

/// Ticks to the OS's monotonic clock.
pub(crate) static MONOTONIC: Timeline = Timeline::new(BackwardStep::Hold);
/// Ticks to Unix time.
pub(crate) static REALTIME: Timeline = Timeline::new(BackwardStep::Follow);
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

    fn declared_hz(&self) -> Option<u64> {
        if source::mode().reads_counter() { counter::declared_hz() } else { None }
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
        os::realtime_resolution_ns()
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

/// The counter as it is, beside the OS's monotonic clock.
struct RawCounter;

impl Reference for RawCounter {
    fn ticks(&self) -> u64 {
        counter::ticks_fenced()
    }

    fn os_ns(&self) -> u64 {
        os::monotonic_ns()
    }
}

/// Lets ticks go on without the counter as it is, unless the source is no longer as `seen`.
fn replace_counter(seen: Chosen, failure: CounterFailure, reason: Reason) {
    if !seen.verdict.mode.reads_counter() {
        return;
    }
    let Sample { tick: raw, ns: os_ns, .. } = Sample::take(&RawCounter, 0);
    let Some(expected) = MONOTONIC.expected(os_ns) else { return };
    let told = read::tick_by(seen, || raw);
    // Of several that see it go back, one moves it: for the others it is where it should be by now.
    if failure == CounterFailure::Regressed && told >= expected.tick {
        return;
    }
    // Beside what the line is moved ahead for reads on other cores: not before this one, nor before
    // what has been given by enforced order.
    let expected = Expected { tick: expected.tick.max(told).max(read::last()), ..expected };
    let (mode, line) = source::after_failure(failure, seen.moves, raw, os_ns, expected);
    source::replace(seen, Verdict { mode, reason }, line);
    HOST.event_at(expected.tick);
}

/// Looks whether the machine is as it was: still trusted, not suspended, not restored.
fn review() {
    os::keeping_errno(|| {
        let chosen = source::choose();
        HOST.review(Facts::now, ticks::<Bare>());
        if source::kernel_left_counter(chosen) {
            replace_counter(chosen, CounterFailure::Stopped, Reason::KernelLeftCounter);
        }
    });
}

/// Chooses the source and begins both timelines, so that whatever is measured from now on lies
/// between two known points. Called by many threads at once it still happens only once.
pub(crate) fn start() {
    source::choose();
    MONOTONIC.begin(&MonotonicReference);
    REALTIME.begin(&RealtimeReference);
}
