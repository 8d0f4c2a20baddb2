//! Durations that calls add themselves until the table takes them.

use core::array;
use core::cell::Cell;

use core::time::Duration;
use std::sync::MutexGuard;

use super::histogram::Histogram;
use super::key::Key;
use super::{Metrics, Series, nanoseconds};
use crate::callsites;
use tach_record::frame::Code;
use tach_record::sync::Lock;

/// How many threads may add at once. A thread that finds its part held goes on with the next one,
/// so few threads share a part.
const PARTS: usize = 8;
/// How many times a call tries to get a part. In a forked process, a part may be held for ever, by
/// a thread that exists only in the parent.
const TRIES: usize = 1024;

thread_local! {
    /// The part that the thread used last.
    static LAST: Cell<usize> = const { Cell::new(0) };
}

pub(super) struct AtCalls([Lock<Part>; PARTS]);

/// The histograms to which some threads add.
struct Part {
    /// Of spans, by the number of the callsite. In boxes, since most callsites are those of events.
    histograms: Vec<Option<Box<Histogram>>>,
    /// The callsites whose histograms are not empty.
    used: Vec<u32>,
    /// Other times. A part that has no room for a series counts it with all others, even if the
    /// table contains the series.
    times: Metrics,
}

impl AtCalls {
    /// `most` is the most series of a metric.
    pub(super) fn new(most: usize) -> Self {
        let part = |_| Part { histograms: vec![], used: vec![], times: Metrics::new(most) };
        Self(array::from_fn(|at| Lock::new(part(at))))
    }

    /// Adds the duration of a span. Returns `false` if no part was free.
    #[inline]
    pub(super) fn add(&self, code: Code, ns: u64) -> bool {
        self.with_part(|part| part.add(code.number(), ns))
    }

    /// Adds other times to the metrics of these names. Returns `false` if no part was free.
    pub(super) fn add_times(&self, times: &[(&'static str, Duration)], key: &Key) -> bool {
        self.with_part(|part| {
            for (name, time) in times {
                part.times.of(Some(name), key).record(nanoseconds(*time));
            }
        })
    }

    /// Calls `add` with a part. Waits for no thread, since a signal handler may have interrupted
    /// the one that holds a part. Returns `false` if no part was free.
    #[inline]
    fn with_part(&self, add: impl FnOnce(&mut Part)) -> bool {
        let last = self.0[LAST.get() % PARTS].try_lock();
        let Some(mut part) = last.or_else(|| self.another_part()) else { return false };
        add(&mut part);
        true
    }

    /// Returns the next part that no thread holds. The thread uses this part from now on.
    #[cold]
    fn another_part(&self) -> Option<MutexGuard<'_, Part>> {
        let next = LAST.get() + 1;
        (next..next + TRIES).map(|at| at % PARTS).find_map(|at| {
            let part = self.0[at].try_lock()?;
            LAST.set(at);
            Some(part)
        })
    }

    /// Adds all histograms to `metrics`. The spans have no value of any of the chosen attributes,
    /// whose number is `attributes`. If `are_taken`, empties the histograms and keeps their memory.
    pub(super) fn add_to(&self, metrics: &mut Metrics, attributes: usize, are_taken: bool) {
        let mut key = Key::default();
        for part in &self.0 {
            let Part { histograms, used, times } = &mut *part.lock();
            for &number in &*used {
                let Some(Some(histogram)) = histograms.get_mut(number as usize) else { continue };
                if let Some(metadata) = callsites::callsite(number) {
                    key.begin(metadata.name());
                    (0..attributes).for_each(|_| key.part(&[]));
                    metrics.of(None, &key).add(histogram);
                }
                if are_taken {
                    histogram.clear();
                }
            }
            for (name, metric) in &times.by_name {
                for series in metric.series.iter().filter(|series| series.recent.count > 0) {
                    metrics.of(*name, &series.key).add(&series.recent);
                }
            }
            if are_taken {
                used.clear();
                times.each_series(|Series { recent, .. }| recent.clear());
            }
        }
    }
}

impl Part {
    #[inline]
    fn add(&mut self, number: u32, ns: u64) {
        let Self { histograms, used, .. } = self;
        let histogram = match histograms.get_mut(number as usize) {
            Some(Some(histogram)) => histogram,
            _ => create(histograms, number as usize),
        };
        if histogram.count == 0 {
            used.push(number);
        }
        histogram.record(ns);
    }
}

#[cold]
fn create(histograms: &mut Vec<Option<Box<Histogram>>>, at: usize) -> &mut Histogram {
    if histograms.len() <= at {
        histograms.resize_with(at + 1, || None);
    }
    histograms[at].get_or_insert_with(|| Box::new(Histogram::new()))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tracing_core::dispatcher;
    use tracing_subscriber::registry;

    use super::*;
    use crate::callsites::Callsite;

    /// Returns the codes of the callsites `one` and `other`.
    fn codes() -> [Code; 2] {
        callsites::set_up();
        dispatcher::with_default(&registry().into(), || {
            [tracing::info_span!("one"), tracing::info_span!("other")]
                .map(|span| callsites::code(Callsite(span.metadata().unwrap())).unwrap())
        })
    }

    fn sums(all: &AtCalls, are_taken: bool) -> Vec<(String, u64, u128)> {
        let mut metrics = Metrics::new(9);
        all.add_to(&mut metrics, 0, are_taken);
        let mut sums = Vec::new();
        for (name, metric) in &metrics.by_name {
            sums.extend(metric.series.iter().map(|Series { key, recent, .. }| {
                (name.unwrap_or(key.name()).to_owned(), recent.count, recent.sum_ns)
            }));
        }
        sums
    }

    #[test]
    fn each_duration_is_taken_once() {
        let (all, [one, other]) = (AtCalls::new(9), codes());
        let time = [("time", Duration::from_nanos(4))];
        for _ in 0..2 {
            for (code, ns) in [(one, 5), (other, 0), (one, 7)] {
                assert!(all.add(code, ns) && all.add_times(&time, &Key::default()));
            }
            let expected = [("one", 2, 12), ("other", 1, 0), ("time", 3, 12)]
                .map(|(name, count, sum)| (name.to_owned(), count, sum));
            assert_eq!(sums(&all, false), expected, "a look changes nothing");
            assert_eq!(sums(&all, true), expected);
            assert_eq!(sums(&all, true), []);
        }
    }

    /// A signal handler must not wait for the thread that it interrupted.
    #[test]
    fn a_part_that_is_held_is_left_out() {
        let (all, [code, _]) = (AtCalls::new(9), codes());
        let mut held: Vec<_> = all.0[1..].iter().map(Lock::lock).collect();
        assert!(all.add(code, 1) && all.add(code, 2));
        held.push(all.0[0].lock());
        assert!(!all.add(code, 3), "all parts are held");
        drop(held.remove(4));
        assert!(all.add(code, 4));
        drop(held);
        assert_eq!(sums(&all, true), [("one".to_owned(), 3, 7)]);
    }

    #[test]
    fn threads_add_while_another_takes() {
        const EACH: u64 = 10_000;
        let (all, [code, _]) = (AtCalls::new(9), codes());
        let mut taken = 0;
        thread::scope(|scope| {
            let add = || (0..EACH).for_each(|ns| assert!(all.add(code, ns)));
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
            while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
                taken += sums(&all, true).iter().map(|(_, count, _)| count).sum::<u64>();
            }
        });
        taken += sums(&all, true).iter().map(|(_, count, _)| count).sum::<u64>();
        assert_eq!(taken, 4 * EACH);
    }
}
