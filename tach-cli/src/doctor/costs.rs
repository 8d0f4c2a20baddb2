//! The costs of reads.

use core::hint::black_box;
use std::time::{Instant as StdInstant, SystemTime};

use serde::Serialize;
use tach_core::{Instant, MonotonicInstant, UnixTime};

use crate::measure::{as_f64, nanos};

const ROUNDS: u32 = 40;
/// The calls of a round.
const CALLS: u32 = 10_000;

/// The cost of a read: the best round, in ns a call.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Cost {
    pub(super) name: &'static str,
    pub(super) ns: f64,
}

/// Measures all reads in turn, round after round, so that a change of the machine's speed affects
/// all of them.
pub(super) fn measure() -> Vec<Cost> {
    let reads: [(&'static str, fn()); 5] = [
        ("tach Instant", || calls(Instant::now)),
        ("tach MonotonicInstant", || calls(MonotonicInstant::now)),
        ("tach UnixTime", || calls(UnixTime::now)),
        ("std Instant", || calls(StdInstant::now)),
        ("std SystemTime", || calls(SystemTime::now)),
    ];
    let mut costs = reads.map(|(name, _)| Cost { name, ns: f64::INFINITY });
    for _ in 0..ROUNDS {
        for (cost, (_, run)) in costs.iter_mut().zip(reads) {
            let start = StdInstant::now();
            run();
            cost.ns = cost.ns.min(as_f64(nanos(start.elapsed())) / f64::from(CALLS));
        }
    }
    costs.into()
}

fn calls<T>(read: impl Fn() -> T) {
    for _ in 0..CALLS {
        black_box(read());
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_round_reads_as_often_as_its_time_is_divided() {
        // ORDERING: Relaxed. One thread counts.
        let called = AtomicU32::new(0);
        calls(|| called.fetch_add(1, Ordering::Relaxed));
        assert_eq!(called.into_inner(), CALLS);
    }
}
