//! The clock: its order between threads, and its error.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::thread;
use std::time::SystemTime;

use tach_core::{Instant, MonotonicInstant, UnixTime};

/// How often a reading was before one that another thread had published already.
pub(crate) struct Order {
    pub(crate) readings: u64,
    pub(crate) inversions: u64,
    pub(crate) bare_inversions: u64,
}

/// Two threads read, publish, and compare with what the other one has published.
pub(crate) fn order(time: Duration) -> Order {
    let start = MonotonicInstant::now();
    let (readings, inversions) =
        race(time, || nanos(MonotonicInstant::now().saturating_duration_since(start)));
    let start = Instant::now();
    let (_, bare_inversions) =
        race(time, || nanos(Instant::now().saturating_duration_since(start)));
    Order { readings, inversions, bare_inversions }
}

/// Returns the number of readings, and how many were before one that was published.
fn race(time: Duration, read: impl Fn() -> u64 + Sync) -> (u64, u64) {
    let published = [AtomicU64::new(0), AtomicU64::new(0)];
    let ends = AtomicBool::new(false);
    let run = |own: usize| {
        let (mut readings, mut inversions) = (0, 0);
        // ORDERING: Relaxed: says only when to end.
        while !ends.load(Ordering::Relaxed) {
            // ORDERING: Acquire, with the Release below: the reading happened before.
            let other = published[1 - own].load(Ordering::Acquire);
            let now = read();
            readings += 1;
            inversions += u64::from(now < other);
            // ORDERING: Release, with the Acquire above.
            published[own].store(now, Ordering::Release);
        }
        (readings, inversions)
    };
    thread::scope(|scope| {
        let threads = [0, 1].map(|own| scope.spawn(move || run(own)));
        thread::sleep(time);
        // ORDERING: Relaxed, as above.
        ends.store(true, Ordering::Relaxed);
        let results = threads.map(|thread| thread.join().unwrap_or_default());
        results.into_iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    })
}

/// Returns by how much Unix time was beyond two readings of the OS's clock around it, at most.
pub(crate) fn greatest_error(time: Duration) -> Duration {
    let start = Instant::now();
    let mut greatest = Duration::ZERO;
    let system =
        || nanos(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
    while start.elapsed() < time {
        let (before, own, after) = (system(), UnixTime::now().as_nanos(), system());
        let error = before.saturating_sub(own).max(own.saturating_sub(after));
        greatest = greatest.max(Duration::from_nanos(error));
    }
    greatest
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
