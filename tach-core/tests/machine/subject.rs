//! The clocks under test: tach, and two naive ones for the controls.

use core::time::Duration;
use std::time::Instant as StdInstant;

use tach_core::{BoundedTime, Instant, UnixTime, status};

use super::machine;

/// A clock, with its claims about itself.
pub(crate) trait Subject {
    /// Starts to measure durations.
    fn begin() -> Self;

    /// Returns the Unix time now, in ns.
    fn unix_ns(&self) -> u64;

    /// Returns the time since the start, in ns.
    fn elapsed_ns(&self) -> u64;

    fn bounded(&self) -> BoundedTime;

    /// Returns the time of `CLOCK_MONOTONIC` now.
    fn monotonic(&self) -> StdInstant;

    /// Returns the uncertainties that the clock claims now.
    fn claims(&self) -> Claims;
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Claims {
    pub(crate) realtime: Duration,
    pub(crate) monotonic: Duration,
}

/// tach, by its public API.
pub(crate) struct Tach {
    start: Instant,
}

impl Subject for Tach {
    fn begin() -> Self {
        Self { start: Instant::now() }
    }

    fn unix_ns(&self) -> u64 {
        UnixTime::now().as_nanos()
    }

    fn elapsed_ns(&self) -> u64 {
        machine::ns(self.start.elapsed())
    }

    fn bounded(&self) -> BoundedTime {
        UnixTime::now_with_uncertainty()
    }

    fn monotonic(&self) -> StdInstant {
        StdInstant::from(Instant::now())
    }

    fn claims(&self) -> Claims {
        let status = status();
        Claims {
            realtime: status.realtime.uncertainty.unwrap_or(Duration::MAX),
            monotonic: status.monotonic.uncertainty.unwrap_or(Duration::MAX),
        }
    }
}

/// A clock that compares the counter with the OS clocks once, and claims an error of 5 us.
pub(crate) struct Anchored {
    ticks: u64,
    unix_ns: u64,
    monotonic: StdInstant,
}

impl Anchored {
    const CLAIM: Duration = Duration::from_micros(5);

    fn since_ns(&self) -> u64 {
        machine::read_counter().saturating_sub(self.ticks) * 2 / 5
    }
}

impl Subject for Anchored {
    fn begin() -> Self {
        Self {
            ticks: machine::read_counter(),
            unix_ns: machine::read_os(&machine::REALTIME),
            monotonic: StdInstant::now(),
        }
    }

    fn unix_ns(&self) -> u64 {
        self.unix_ns + self.since_ns()
    }

    fn elapsed_ns(&self) -> u64 {
        self.since_ns()
    }

    fn bounded(&self) -> BoundedTime {
        BoundedTime::new(UnixTime::from_nanos(self.unix_ns()), Self::CLAIM)
    }

    fn monotonic(&self) -> StdInstant {
        self.monotonic + Duration::from_nanos(self.since_ns())
    }

    fn claims(&self) -> Claims {
        Claims { realtime: Self::CLAIM, monotonic: Self::CLAIM }
    }
}

/// The OS clocks: right by definition, except where `CLOCK_MONOTONIC` jumps.
pub(crate) struct Os {
    monotonic_ns: u64,
}

impl Subject for Os {
    fn begin() -> Self {
        Self { monotonic_ns: machine::read_os(&machine::MONOTONIC) }
    }

    fn unix_ns(&self) -> u64 {
        machine::read_os(&machine::REALTIME)
    }

    fn elapsed_ns(&self) -> u64 {
        machine::read_os(&machine::MONOTONIC).saturating_sub(self.monotonic_ns)
    }

    fn bounded(&self) -> BoundedTime {
        BoundedTime::new(UnixTime::from_nanos(self.unix_ns()), Duration::ZERO)
    }

    fn monotonic(&self) -> StdInstant {
        StdInstant::now()
    }

    fn claims(&self) -> Claims {
        Claims { realtime: Duration::ZERO, monotonic: Duration::ZERO }
    }
}
