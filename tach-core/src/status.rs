//! What the clock says of itself.

use core::fmt;
use core::time::Duration;

use crate::source::{self, Order, Reason, Source};
use crate::system;
use crate::timeline::{Record, Timeline};

/// The clock's state: where its ticks come from and why, and how true its two timelines are.
///
/// Its `Display` is a few lines for a person.
///
/// # Examples
///
/// ```
/// println!("{}", tach_core::status());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Where ticks come from.
    pub source: Source,
    /// Why they come from there.
    pub reason: Reason,
    /// How [`MonotonicInstant`](crate::MonotonicInstant) keeps its order.
    pub order: Order,
    /// `TACH_SOURCE` was set to a value that means nothing, and was ignored.
    pub request_ignored: bool,
    /// Ticks per second as measured; `None` until something was converted.
    pub frequency_hz: Option<u64>,
    /// The timeline that follows the OS's monotonic clock.
    pub monotonic: TimelineStatus,
    /// The timeline that follows the OS's real-time clock.
    pub realtime: TimelineStatus,
}

/// The state of one timeline.
///
/// # Examples
///
/// ```
/// let status = tach_core::status();
/// println!("{} syncs", status.realtime.syncs);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimelineStatus {
    /// How often the OS clock was sampled; 0 until something was converted.
    pub syncs: u32,
    /// How often the OS clock was found to have been set.
    pub steps: u32,
    /// The estimated standard error against the OS clock now, and what the timeline has yet to
    /// slew away; zero where the timeline is that clock. `None` until something was converted.
    pub uncertainty: Option<Duration>,
}

/// The clock's state now.
///
/// It chooses the source if nothing has read the clock yet.
///
/// # Examples
///
/// ```
/// let status = tach_core::status();
/// if status.source == tach_core::Source::Os {
///     eprintln!("the counter is not used: {}", status.reason);
/// }
/// ```
#[must_use]
pub fn status() -> Status {
    system::start();
    let chosen = source::choose();
    let tick = system::ticks::<system::Bare>();
    let newest = system::MONOTONIC.newest().filter(Record::has_rate);
    Status {
        source: chosen.verdict.mode.source(),
        reason: chosen.verdict.reason,
        order: chosen.verdict.mode.order(),
        request_ignored: chosen.request_ignored,
        frequency_hz: newest.map(|record| record.estimate.rate.hz()),
        monotonic: timeline_status(&system::MONOTONIC, tick),
        realtime: timeline_status(&system::REALTIME, tick),
    }
}

fn timeline_status(timeline: &Timeline, tick: u64) -> TimelineStatus {
    let Some(record) = timeline.newest().filter(Record::has_rate) else {
        return TimelineStatus { syncs: 0, steps: 0, uncertainty: None };
    };
    let uncertainty = if record.is_identity() {
        Duration::ZERO
    } else {
        let age_ns = record.estimate.rate.ns(tick.saturating_sub(record.estimate.tick));
        let deviation = record.line_at(tick).ns_at(tick).abs_diff(record.estimate.ns_at(tick));
        Duration::from_nanos(record.estimate.error_after(age_ns).saturating_add(deviation))
    };
    TimelineStatus { syncs: record.syncs, steps: record.steps, uncertainty: Some(uncertainty) }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            Source::Counter => "CPU counter",
            Source::Os => "OS clock",
        };
        let order = match self.order {
            Order::OrderedRead => "by an ordered read",
            Order::Enforced => "by a shared maximum",
            Order::OsClock => "by the OS clock",
        };
        writeln!(f, "source:    {source} ({})", self.reason)?;
        if self.request_ignored {
            writeln!(f, "           TACH_SOURCE is neither \"os\" nor \"counter\" and is ignored")?;
        }
        writeln!(f, "order:     {order}")?;
        match self.frequency_hz {
            Some(hz) => writeln!(f, "frequency: {}.{:06} MHz", hz / 1_000_000, hz % 1_000_000)?,
            None => writeln!(f, "frequency: not measured yet")?,
        }
        writeln!(f, "monotonic: {}", self.monotonic)?;
        write!(f, "real time: {}", self.realtime)
    }
}

impl fmt::Display for TimelineStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.uncertainty {
            None => f.write_str("not used yet"),
            Some(Duration::ZERO) => f.write_str("the OS clock itself"),
            Some(uncertainty) => {
                write!(f, "±{uncertainty:?}, {} syncs, {} steps", self.syncs, self.steps)
            }
        }
    }
}
