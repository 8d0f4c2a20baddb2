//! The process's one clock: the chosen source and its two timelines.
//!
//! The statics here are the one instance of the types in `timeline` and `source`. The public types
//! above it hold ticks.

pub(crate) mod boot;
mod config;
mod convert;
mod disciplined;
mod host;
pub(crate) mod manual;
mod raw;
mod read;
mod settle;
mod upkeep;

pub use self::config::Config;
pub(crate) use self::convert::{
    between, elapsed, monotonic_ns_at, saturating_sum, sum, unix_ns_at_present, unix_ns_now,
    unix_ns_with_uncertainty, uptime_at,
};
#[allow(
    unused_imports,
    reason = "for the standard library's instants, which are not everywhere"
)]
pub(crate) use self::convert::{os_monotonic_ns_at, tick_at_os_monotonic_ns};
pub(crate) use self::disciplined::{MONOTONIC, REALTIME};
use self::host::Host;
pub(crate) use self::read::{Bare, Early, Ordered, Strict, ticks};
#[cfg(test)]
pub(crate) use self::settle::{Witness, settle};
pub(crate) use self::upkeep::last_wall_step_tick;
pub use self::upkeep::{disruptions, sync};
use crate::counter;
use crate::line::{Line, Rate, shifted_tick};
use crate::os;
use crate::sample::{ClockPair, CounterFailure, Sample};
use crate::source::{self, Cause, Choice, Chosen, Mode, Order, Verdict};
use crate::timeline::{Expected, Timeline};

/// The limit for the memory of both timelines and all other state, also on s390x, whose cache lines
/// have 256 bytes.
const _: () = assert!(2 * size_of::<Timeline>() + 1024 <= 19 * 1024);

/// The memory that each read uses: the choice of the source and the line in use, on one cache line.
/// A read uses the last word of the choice and the first words of the timeline.
#[derive(Debug)]
#[repr(C, align(128))]
struct Clock {
    choice: Choice,
    monotonic: Timeline,
}

static CLOCK: Clock = Clock { choice: Choice::new(), monotonic: Timeline::new() };

#[inline]
pub(crate) fn choice() -> &'static Choice {
    &CLOCK.choice
}

/// The events of the machine so far.
pub(crate) static HOST: Host = Host::new();

/// Replaces a counter that failed by another source of ticks, if the failure is confirmed.
#[cold]
#[inline(never)]
fn counter_failed(failure: CounterFailure) {
    let chosen = choice().get();
    let cause = match failure {
        CounterFailure::Regressed if !chosen.mode().reads_counter() => {
            return move_os_clock(chosen);
        }
        CounterFailure::Regressed => Cause::CounterRegressed,
        CounterFailure::Stopped => Cause::CounterStopped,
        CounterFailure::Untrusted if chosen.is_forced() => return,
        CounterFailure::Untrusted => Cause::OsClockSlowed,
    };
    replace_counter(chosen, failure, cause);
}

/// The raw counter beside one of the OS's clocks.
struct RawCounter(fn() -> Option<u64>);

impl ClockPair for RawCounter {
    fn ticks(&self) -> u64 {
        counter::ticks_fenced()
    }

    fn os_ns(&self) -> Option<u64> {
        self.0()
    }
}

/// Replaces the counter, unless the source is no longer as in `seen`.
fn replace_counter(seen: Chosen, failure: CounterFailure, cause: Cause) {
    if !seen.mode().reads_counter() {
        return;
    }
    let Some(sample) = Sample::take(&RawCounter(os::monotonic_ns), 0) else { return };
    let Sample { tick: raw, ns: os_ns, .. } = sample;
    let Some(expected) = MONOTONIC.expected(os_ns, Rate::ONE) else { return };
    // If the process was restored on another machine, the OS clock may have gone back too. Then
    // Unix time is the only evidence.
    let floor = MONOTONIC.current.floor();
    let expected =
        if expected.tick < floor { by_unix_time().unwrap_or(expected) } else { expected };
    let expected = Expected { tick: expected.tick.max(floor), ..expected };
    let present = raw::tick_by(seen, || raw);
    // Another thread may already have corrected the counter.
    if failure == CounterFailure::Regressed && shifted_tick(present) >= shifted_tick(expected.tick)
    {
        return;
    }
    // New ticks continue after this read and after any tick that enforced order has returned;
    // otherwise time would go back. (`after_failure` also moves the line ahead for reads on other
    // cores.)
    let present = if shifted_tick(present) < shifted_tick(0) { 0 } else { present };
    let expected = Expected { tick: expected.tick.max(present).max(read::last()), ..expected };
    let (mode, line) = source::after_failure(failure, seen.moves(), raw, os_ns, expected);
    choice().replace(seen, Verdict { mode, cause }, line);
    HOST.event_at(expected.tick);
}

/// Returns the tick that should be read now, by Unix time. The rate is the monotonic timeline's,
/// since the other timeline shows none in a program that never asked for Unix time.
fn by_unix_time() -> Option<Expected> {
    REALTIME.expected(os::realtime_ns()?, rate())
}

/// Returns the monotonic timeline's rate.
fn rate() -> Rate {
    let rate = MONOTONIC.newest().map(|record| record.estimate.rate).filter(|rate| rate.is_known());
    rate.unwrap_or(Rate::ONE)
}

/// Returns the timeline minus the OS's monotonic clock, in ns.
pub(crate) fn offset_ns() -> i64 {
    let chosen = choice().get();
    let began_as_os_clock = MONOTONIC.newest().is_some_and(|record| record.is_identity());
    let offset_ns = if chosen.mode() == Mode::Replaced && began_as_os_clock {
        // The line from the clock to the ticks has the rate 1, so any time shows the offset.
        const ANY_NS: u64 = 1 << 62;
        chosen.tick_at(ANY_NS).wrapping_sub(ANY_NS)
    } else {
        MONOTONIC.offset_ns()
    };
    i64::from_ne_bytes(offset_ns.to_ne_bytes())
}

/// Returns the last tick again. If the OS clock is the source and can't be read, ticks stand:
/// nothing else shows the time.
#[cold]
#[inline(never)]
fn standing() -> u64 {
    let tick = read::last().max(MONOTONIC.current.floor());
    MONOTONIC.outages.note(false, || tick);
    tick
}

/// The OS clocks of two CPUs may differ by this much. If a smaller step back were mended, a thread
/// that moves between the CPUs would move the ticks ahead at each look.
const HIDDEN_NS: u64 = 1_000_000;

/// Continues the ticks after the OS's monotonic clock went back, as it does in another time
/// namespace. Unix time shows where they should be. If nothing shows Unix time either, ticks
/// continue from the last one: ticks that waited for the clock could stand for as long as the
/// machine was up.
///
/// If the clock went back by at most [`HIDDEN_NS`], ticks only wait for it: each read returns the
/// highest tick so far.
fn move_os_clock(seen: Chosen) {
    // Read the highest tick before the clock. If another thread raised the tick after this thread's
    // read, the clock would seem to have gone back.
    let highest = MONOTONIC.current.floor().max(read::last());
    let (Some(start_tick), rate) = (os::monotonic_ns(), rate()) else { return };
    let hidden_ticks = rate.ticks(HIDDEN_NS).unwrap_or(0);
    if seen.tick_at(start_tick).saturating_add(hidden_ticks) >= highest {
        return;
    }
    let start_ns = by_unix_time().map_or(highest, |expected| expected.tick.max(highest));
    let rate = rate.inverse();
    let verdict = Verdict { mode: Mode::Replaced, cause: Cause::OsClockRegressed };
    choice().replace(seen, verdict, Line { start_tick, start_ns, rate });
    HOST.event_at(start_ns);
}

/// Asks the hypervisor's device whether this machine was restored or moved, and the kernel's files
/// whether the kernel still uses the counter.
fn review() {
    let is_due = os::monotonic_ns().is_some_and(|now_ns| HOST.review_is_due(now_ns));
    if !choice().mode().reads_counter() || !is_due {
        return;
    }
    os::keeping_errno(|| {
        if HOST.see_marker(os::disruption_marker(), ticks::<Bare>()) {
            enforce_order();
        }
        let chosen = choice().get();
        if chosen.kernel_left_counter() {
            replace_counter(chosen, CounterFailure::Untrusted, Cause::KernelLeftCounter);
        }
    });
}

/// Enforces strict order from now on: after a suspend or a restore, the counters of two CPUs may
/// differ.
#[cold]
#[inline(never)]
fn enforce_order() {
    if choice().mode().order() == Order::OrderedRead {
        // A thread on a CPU whose counter is ahead may just have read, and passed its tick to
        // another thread.
        let skew_ticks = MONOTONIC.newest().map_or(0, |record| record.skew_ticks());
        read::raise_last(raw::unchecked().saturating_add(skew_ticks));
        choice().enforce_order();
    }
}

/// Chooses the source and begins both timelines, so that every later tick lies between two known
/// points. If several threads call it, it happens once.
pub(crate) fn start() {
    os::keeping_errno(start_once);
}

fn start_once() {
    let (mut monotonic, mut realtime) = (None, None);
    // Take the first samples before collecting the evidence: collecting takes long enough to
    // measure a rate.
    choice().choose_after(&mut || {
        monotonic = Sample::take(&RawCounter(os::monotonic_ns), 0);
        realtime = Sample::take(&RawCounter(os::realtime_ns), 0);
    });
    if !choice().mode().reads_counter() {
        (monotonic, realtime) = (None, None);
    }
    MONOTONIC.begin(monotonic, MONOTONIC.clocks);
    if os::reads_realtime_at_start() {
        REALTIME.begin(realtime, REALTIME.clocks);
    }
    HOST.see_suspends(os::suspended_ns(), raw::unchecked());
}
