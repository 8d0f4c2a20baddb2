//! The cost of a read.

use std::time::Instant as StdInstant;

use serde::Serialize;

use super::{as_f64, nanos};

/// The calls of a round.
const CALLS: u32 = 10_000;

/// A read in a loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    /// Reads the given number of times.
    pub(crate) run: fn(u32),
}

/// A subject that evaluates an expression in a loop.
macro_rules! subject {
    ($name:literal, $work:expr) => {
        $crate::measure::Subject {
            name: $name,
            run: |calls| {
                for _ in 0..calls {
                    ::core::hint::black_box($work);
                }
            },
        }
    };
}
pub(crate) use subject;

/// The cost of a read: the best round, in ns a call.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cost {
    pub(crate) name: &'static str,
    pub(crate) ns: f64,
}

/// Measures all subjects in turn, round after round, so that a change of the machine's speed
/// affects all of them.
pub(crate) fn costs(subjects: &[Subject], rounds: u32, after_round: impl Fn(u32)) -> Vec<Cost> {
    let mut costs: Vec<_> =
        subjects.iter().map(|subject| Cost { name: subject.name, ns: f64::INFINITY }).collect();
    for round in 1..=rounds {
        for (cost, subject) in costs.iter_mut().zip(subjects) {
            let start = StdInstant::now();
            (subject.run)(CALLS);
            cost.ns = cost.ns.min(as_f64(nanos(start.elapsed())) / f64::from(CALLS));
        }
        after_round(round);
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subject_runs_in_each_round_and_the_best_counts() {
        use core::sync::atomic::{AtomicU32, Ordering};
        static CALLED: AtomicU32 = AtomicU32::new(0);
        // ORDERING: Relaxed. One thread counts.
        let subjects = [
            subject!("a", CALLED.fetch_add(1, Ordering::Relaxed)),
            subject!("b", CALLED.fetch_add(1, Ordering::Relaxed)),
        ];
        let rounds = AtomicU32::new(0);
        let costs = costs(&subjects, 3, |round| rounds.store(round, Ordering::Relaxed));
        assert_eq!(costs.iter().map(|cost| cost.name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(CALLED.load(Ordering::Relaxed), 2 * 3 * CALLS);
        assert_eq!(rounds.into_inner(), 3);
        assert!(costs.iter().all(|cost| cost.ns.is_finite()));
    }
}
