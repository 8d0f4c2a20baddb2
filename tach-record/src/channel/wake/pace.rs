//! Decides whether the back end naps, or parks until a caller wakes it.
//!
//! A wake-up costs the caller a system call. A nap costs the back end a system call. If records
//! come seldom, a wake-up for each record is cheapest. If records come often, naps are cheapest,
//! each for many records.

use core::mem;
use core::time::Duration;
use std::time::Instant;

/// For how many parks the back end is cautious after a caller woke it too soon: if the round after
/// a wake-up finds records, the back end naps once before it parks again.
const WARY: u32 = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Nap(Duration),
    /// The back end sleeps until a caller wakes it.
    Park,
}

#[derive(Debug)]
pub(super) struct Pace {
    pub(super) interval: Duration,
    parked: Instant,
    /// Whether the current round is the first after the back end was parked.
    was_parked: bool,
    /// For how many parks the back end is still cautious: see [`WARY`].
    wary: u32,
}

impl Pace {
    pub(super) const fn new(interval: Duration, now: Instant) -> Self {
        Self { interval, parked: now, was_parked: false, wary: 0 }
    }

    /// Returns how the back end rests after a round. `has_found` tells whether the round found
    /// records.
    pub(super) fn rest(&mut self, now: Instant, has_found: bool) -> Rest {
        let was_parked = mem::replace(&mut self.was_parked, false);
        let naps = has_found && (!was_parked || self.wary > 0);
        if naps {
            return Rest::Nap(self.interval);
        }
        self.wary = self.wary.saturating_sub(1);
        self.parked = now;
        Rest::Park
    }

    /// Records that the back end is no longer parked.
    pub(super) fn woke_up(&mut self, now: Instant) {
        self.was_parked = true;
        if now.saturating_duration_since(self.parked) < self.interval {
            self.wary = WARY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(5);
    const NAP: Rest = Rest::Nap(INTERVAL);

    /// A back end that is woken by the first record after it parked.
    struct Simulated {
        pace: Pace,
        start: Instant,
        now: Duration,
        woken: u32,
        rounds: u32,
    }

    impl Simulated {
        fn new() -> Self {
            let start = Instant::now();
            let pace = Pace::new(INTERVAL, start);
            Self { pace, start, now: Duration::ZERO, woken: 0, rounds: 0 }
        }

        /// Simulates the rounds for records at the given times.
        fn run(&mut self, times: impl IntoIterator<Item = Duration>) {
            let mut times = times.into_iter().peekable();
            loop {
                self.rounds += 1;
                let mut found = 0;
                while times.next_if(|&time| time <= self.now).is_some() {
                    found += 1;
                }
                match self.pace.rest(self.start + self.now, found > 0) {
                    Rest::Nap(time) => self.now += time,
                    Rest::Park => {
                        let Some(&next) = times.peek() else { return };
                        self.now = next;
                        self.woken += 1;
                        self.pace.woke_up(self.start + self.now);
                    }
                }
            }
        }
    }

    fn every(period: Duration) -> impl Iterator<Item = Duration> {
        (1..=1_000).map(move |number| number * period)
    }

    #[test]
    fn seldom_records_take_a_wake_up_and_a_round_each() {
        let mut seldom = Simulated::new();
        seldom.run(every(Duration::from_millis(10)));
        assert_eq!((seldom.woken, seldom.rounds), (1_000, 1_001));
    }

    #[test]
    fn frequent_records_wake_nobody() {
        for micros in [1, 100, 1_000, 4_000] {
            let mut frequent = Simulated::new();
            frequent.run(every(Duration::from_micros(micros)));
            let naps = 1_000 * micros / 5_000;
            assert!(frequent.woken <= 2, "{micros}: {}", frequent.woken);
            assert!(u64::from(frequent.rounds) <= naps + 8, "{micros}: {}", frequent.rounds);
        }
    }

    /// Twenty records in 2 ms, ten times a second.
    #[test]
    fn bursts_take_few_wake_ups() {
        let mut bursts = Simulated::new();
        let times = (1..=100).flat_map(|burst| {
            (0..20).map(move |number| Duration::from_micros(burst * 100_000 + number * 100))
        });
        bursts.run(times);
        assert!(bursts.woken <= 110, "{}", bursts.woken);
        assert!(bursts.rounds <= 320, "{}", bursts.rounds);
    }

    #[test]
    fn an_idle_back_end_parks() {
        let start = Instant::now();
        let mut pace = Pace::new(INTERVAL, start);
        assert_eq!(pace.rest(start, true), NAP);
        assert_eq!(pace.rest(start + INTERVAL, false), Rest::Park);
        pace.woke_up(start + 100 * INTERVAL);
        assert_eq!(pace.rest(start + 100 * INTERVAL, false), Rest::Park);
    }
}
