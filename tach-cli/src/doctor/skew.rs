//! The offset of each core's counter from the first core's, by messages back and forth.
//!
//! A thread on the first core reads its counter and publishes the round's number. A thread on the
//! other core sees it, reads its own counter and publishes the reading, and the first thread reads
//! again. As in NTP, the other reading belongs to the middle of the two, to within half the time
//! that the round took. The quickest of many rounds counts.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::thread;
use std::time::Instant as StdInstant;

use crossbeam_utils::CachePadded;
use serde::Serialize;
use tach_core::{Instant, OrderedInstant};

use crate::measure::{KNOWN_NS, as_f64, nanos};

/// The time for each core. On a loaded machine a thread may wait for its core for milliseconds.
const TIME: Duration = Duration::from_millis(60);
/// The time for a core whose offset is not known after [`TIME`], and for all such cores together.
const LONGEST: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(4);
const ROUNDS: u64 = 20_000;
/// Tries before a thread lets others run: both threads may be on one core.
const SPINS: u32 = 10_000;

/// The offset of a core's counter.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Offset {
    pub(super) core: usize,
    /// Not a number, which is `null` in JSON, if the core did not answer.
    #[serde(rename = "offset_ns")]
    pub(super) ns: f64,
    /// The offset is known to within this; infinite if the core did not answer.
    pub(super) bound_ns: f64,
}

impl Offset {
    /// The offset of a core that did not answer: others kept it busy.
    pub(super) fn unknown(core: usize) -> Self {
        Self { core, ns: f64::NAN, bound_ns: f64::INFINITY }
    }

    /// Evaluates a round: the readings before, at and after the answer of `core`.
    fn new(
        core: usize,
        (before, theirs, after): (u64, u64, u64),
        to_ns: impl Fn(u64) -> f64,
    ) -> Self {
        let width = after - before;
        // Compute twice the offset, so that the middle of the interval needs no rounding.
        let twice = i128::from(theirs) * 2 - i128::from(before) - i128::from(after);
        let size = to_ns(u64::try_from(twice.unsigned_abs()).unwrap_or(u64::MAX)) / 2.0;
        let ns = if twice < 0 { -size } else { size };
        Self { core, ns, bound_ns: to_ns(width) / 2.0 }
    }

    /// Returns whether the offset was measured to a microsecond.
    pub(super) fn is_known(&self) -> bool {
        self.bound_ns <= KNOWN_NS
    }

    /// Returns the offset with the greatest skew that is certain.
    pub(super) fn worst<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<&'a Self> {
        all.into_iter().max_by(|a, b| a.least_ns().total_cmp(&b.least_ns()))
    }

    /// Returns the least skew that explains the measurement.
    pub(super) fn least_ns(&self) -> f64 {
        (self.ns.abs() - self.bound_ns).max(0.0)
    }
}

/// Returns the offset of each core but the first that this process may use. `None` if threads can't
/// be bound to cores here.
pub(super) fn offsets() -> Option<Vec<Offset>> {
    let cores = bind(None)?;
    let (first, others) = cores.split_first()?;
    let (mut all, mut patience) = (Vec::new(), PATIENCE);
    for &core in others {
        let start = StdInstant::now();
        let found = offset(*first, core, LONGEST.min(TIME + patience));
        all.push(found.unwrap_or_else(|| Offset::unknown(core)));
        patience = patience.saturating_sub(start.elapsed().saturating_sub(TIME));
    }
    Some(all)
}

/// The words that two threads exchange.
#[derive(Debug, Default)]
struct Shared {
    /// The number of the round that the first thread has begun.
    begun: AtomicU64,
    /// The number of the round that the other thread has answered.
    answered: AtomicU64,
    reading: AtomicU64,
    is_over: AtomicBool,
}

/// Returns the offset of `other`, or `None` if no round succeeded. Takes `longest` at most, or
/// [`TIME`] if the offset is known by then.
fn offset(first: usize, other: usize, longest: Duration) -> Option<Offset> {
    let shared = CachePadded::new(Shared::default());
    let best = thread::scope(|scope| {
        scope.spawn(|| {
            if bind(Some(other)).is_some() {
                answer(&shared);
            }
        });
        let asking = scope.spawn(|| {
            let best = if bind(Some(first)).is_some() { ask(&shared, longest) } else { None };
            // ORDERING: Relaxed. The other thread may see the end late.
            shared.is_over.store(true, Ordering::Relaxed);
            best
        });
        asking.join().expect("the loop does not panic")
    })?;
    Some(Offset::new(other, best, to_ns))
}

fn to_ns(ticks: u64) -> f64 {
    let now = Instant::now();
    as_f64(nanos(Instant::from_ticks(now.as_ticks() + ticks) - now))
}

fn read() -> u64 {
    Instant::from(OrderedInstant::now()).as_ticks()
}

/// Begins rounds and returns the quickest: the readings before, at, and after the answer.
fn ask(shared: &Shared, longest: Duration) -> Option<(u64, u64, u64)> {
    let start = StdInstant::now();
    let mut best: Option<(u64, u64, u64)> = None;
    let is_over = |best: Option<(u64, u64, u64)>| {
        let elapsed = start.elapsed();
        let is_known =
            || best.is_some_and(|(before, _, after)| to_ns(after - before) / 2.0 <= KNOWN_NS);
        elapsed > longest || elapsed > TIME && is_known()
    };
    for round in 1.. {
        let before = read();
        // ORDERING: Release, with the Acquire in `answer`: the read above comes first.
        shared.begun.store(round, Ordering::Release);
        let mut spins = 0;
        // ORDERING: Acquire, with the Release in `answer`: the other thread's read comes before
        // the one below.
        while shared.answered.load(Ordering::Acquire) != round {
            spins += 1;
            if spins % SPINS == 0 {
                if is_over(best) {
                    return best;
                }
                thread::yield_now();
            }
        }
        let after = read();
        // ORDERING: Relaxed. `answered` has published it.
        let theirs = shared.reading.load(Ordering::Relaxed);
        let width = after.saturating_sub(before);
        if best.is_none_or(|(before, _, after)| width < after - before) && after >= before {
            best = Some((before, theirs, after));
        }
        if round % 256 == 0 && (round >= ROUNDS || is_over(best)) {
            break;
        }
    }
    best
}

fn answer(shared: &Shared) {
    let (mut last, mut spins) = (0, 0_u32);
    // ORDERING: Relaxed. The end may be seen late.
    while !shared.is_over.load(Ordering::Relaxed) {
        // ORDERING: Acquire, with the Release in `ask`: that thread's read comes before this one.
        let round = shared.begun.load(Ordering::Acquire);
        if round == last {
            spins = spins.wrapping_add(1);
            if spins % SPINS == 0 {
                thread::yield_now();
            }
            continue;
        }
        // ORDERING: Relaxed. The Release below publishes it.
        shared.reading.store(read(), Ordering::Relaxed);
        // ORDERING: Release, with the Acquire in `ask`.
        shared.answered.store(round, Ordering::Release);
        last = round;
    }
}

/// Binds the thread to a core if one is named, and returns the cores that it may use then. `None`
/// if that fails, or if threads can't be bound to cores here.
fn bind(to: Option<usize>) -> Option<Vec<usize>> {
    #[cfg(not(target_os = "linux"))]
    {
        let _no_core = to;
        None
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        if let Some(core) = to {
            let mut only = CpuSet::new();
            only.set(core);
            sched_setaffinity(None, &only).ok()?;
        }
        let allowed = sched_getaffinity(None).ok()?;
        Some((0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ticks are a nanosecond.
    fn offset(round: (u64, u64, u64)) -> [f64; 3] {
        let found = Offset::new(1, round, |ticks| as_f64(ticks) / 2.0);
        [found.ns, found.bound_ns, found.least_ns()]
    }

    fn assert_near(found: [f64; 3], expected: [f64; 3]) {
        let is_near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(is_near, "{found:?} and {expected:?}");
    }

    #[test]
    fn an_answer_belongs_to_the_middle_of_its_round() {
        assert_near(offset((1000, 1100, 1200)), [0.0, 50.0, 0.0]);
        assert_near(offset((1000, 1301, 1201)), [100.25, 50.25, 50.0]);
        assert_near(offset((1000, 900, 1200)), [-100.0, 50.0, 50.0]);
        let unknown = Offset::unknown(1);
        assert!(!unknown.is_known() && unknown.least_ns().abs() < 1e-9);
        let far = as_f64(u64::MAX) / 4.0;
        assert_near(offset((0, u64::MAX, 0)), [far, 0.0, far]);
    }
}
