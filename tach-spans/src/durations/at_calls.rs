//! Durations that calls add themselves, by callsite, until the table takes them.

use core::array;
use core::cell::Cell;

use super::histogram::Histogram;
use tach_record::frame::Code;
use tach_record::sync::Lock;

/// How many threads may add at once. A thread goes on with the next part if another one holds its
/// part, so it shares a part with few others.
const PARTS: usize = 8;
/// How many times a call tries to get a part. A forked process may find parts that a thread held
/// which exists only in the parent.
const TRIES: usize = 1024;

thread_local! {
    /// The part that the thread used last.
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// The histograms of all callsites.
pub(super) struct AtCalls([Lock<Part>; PARTS]);

/// The histograms to which some threads add.
#[derive(Default)]
struct Part {
    /// By the number of the callsite. In boxes, since most callsites are those of events.
    histograms: Vec<Option<Box<Histogram>>>,
    /// The callsites whose histograms are not empty.
    used: Vec<u32>,
}

impl AtCalls {
    pub(super) fn new() -> Self {
        Self(array::from_fn(|_| Lock::default()))
    }

    /// Adds a duration. Waits for no thread, since a signal handler may have interrupted the one
    /// that holds a part. Returns `false` if no part was free.
    #[inline]
    pub(super) fn add(&self, code: Code, ns: u64) -> bool {
        let last = LAST.get();
        for at in last..last + TRIES {
            if let Some(mut part) = self.0[at % PARTS].try_lock() {
                part.add(code.number(), ns);
                if at != last {
                    LAST.set(at % PARTS);
                }
                return true;
            }
        }
        false
    }

    /// Passes the histograms that are not empty, with the numbers of their callsites. If
    /// `are_taken`, they are empty afterwards and keep their memory.
    pub(super) fn each(&self, are_taken: bool, mut pass: impl FnMut(u32, &Histogram)) {
        for part in &self.0 {
            let Part { histograms, used } = &mut *part.lock();
            for &number in &*used {
                let Some(Some(histogram)) = histograms.get_mut(number as usize) else { continue };
                pass(number, histogram);
                if are_taken {
                    histogram.clear();
                }
            }
            if are_taken {
                used.clear();
            }
        }
    }
}

impl Part {
    #[inline]
    fn add(&mut self, number: u32, ns: u64) {
        let Self { histograms, used } = self;
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

    use super::*;

    fn sums(all: &AtCalls, are_taken: bool) -> Vec<(u32, u64, u128)> {
        let mut sums = Vec::new();
        all.each(are_taken, |number, it| sums.push((number, it.count, it.sum_ns)));
        sums
    }

    #[test]
    fn each_duration_is_taken_once() {
        let all = AtCalls::new();
        let [one, other] = [3, 700].map(|number| Code::of(number).unwrap());
        for _ in 0..2 {
            for (code, ns) in [(one, 5), (other, 0), (one, 7)] {
                assert!(all.add(code, ns));
            }
            let expected = [(3, 2, 12), (700, 1, 0)];
            assert_eq!(sums(&all, false), expected, "a look changes nothing");
            assert_eq!(sums(&all, true), expected);
            assert_eq!(sums(&all, true), []);
        }
    }

    /// A handler that interrupts the thread must not wait for it.
    #[test]
    fn a_part_that_is_held_is_left_out() {
        let (all, code) = (AtCalls::new(), Code::of(1).unwrap());
        let mut held: Vec<_> = all.0[1..].iter().map(Lock::lock).collect();
        assert!(all.add(code, 1) && all.add(code, 2));
        held.push(all.0[0].lock());
        assert!(!all.add(code, 3), "all parts are held");
        drop(held.remove(4));
        assert!(all.add(code, 4));
        drop(held);
        assert_eq!(sums(&all, true), [(1, 2, 3), (1, 1, 4)]);
    }

    #[test]
    fn threads_add_while_another_takes() {
        const EACH: u64 = 10_000;
        let all = AtCalls::new();
        let mut taken = 0;
        thread::scope(|scope| {
            let add = || (0..EACH).for_each(|ns| assert!(all.add(Code::of(2).unwrap(), ns)));
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
            while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
                taken += sums(&all, true).iter().map(|(_, count, _)| count).sum::<u64>();
            }
        });
        taken += sums(&all, true).iter().map(|(_, count, _)| count).sum::<u64>();
        assert_eq!(taken, 4 * EACH);
    }
}
