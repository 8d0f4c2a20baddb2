//! The public status of the clock.

use core::fmt;
use core::time::Duration;

use crate::os;
use crate::os::KernelClock;
use crate::source::{self, Order, Reason, Source};
use crate::system;
use crate::timeline::{Counts, Record, Timeline};
use crate::unix_time::UnixTime;

/// The clock's state: the source of its ticks and the reason for it, and the error of its two
/// timelines.
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
    /// The source of the ticks.
    pub source: Source,
    /// The reason for that source.
    pub reason: Reason,
    /// How [`MonotonicInstant`](crate::MonotonicInstant) keeps its order. A request to enforce the
    /// order is always granted.
    pub order: Order,
    /// `TACH_SOURCE` was set to an unknown value and ignored.
    pub source_request_ignored: bool,
    /// [`Config::force_source`](crate::Config::force_source) or `TACH_SOURCE` requested the other
    /// source: [`reason`](Self::reason) is why it was not granted. The configuration has priority
    /// over the variable, and a counter can't be forced if there is none, or once it failed.
    pub source_request_refused: bool,
    /// `TACH_ORDER` was set to an unknown value and ignored.
    pub order_request_ignored: bool,
    /// The measured frequency in ticks per second; `None` before the first conversion.
    pub frequency_hz: Option<u64>,
    /// The number of times that ticks continued from another source, because the counter failed or
    /// lost the kernel's trust. A counter that went back is moved up, and its reads are converted
    /// at once. A counter that stopped, or went back four times, is replaced by the OS clock and
    /// never tried again.
    pub counter_failures: u64,
    /// The number of suspends of the machine, on systems that report them.
    pub suspends: u32,
    /// The number of restores and migrations of the virtual machine, if it reports them.
    pub restores: u32,
    /// The time at which the last of these events, or of the timelines' steps and changes of rate,
    /// was found.
    pub last_disruption: Option<UnixTime>,
    /// The kernel's estimate of the error of the OS's real-time clock; `None` on systems without
    /// one.
    pub kernel_clock: Option<KernelClock>,
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
    /// The number of samples of the OS clock; 0 before the first conversion.
    pub syncs: u32,
    /// The number of times that the OS clock was ahead by more than any slew explains: it was set,
    /// or the counter lost ticks.
    pub forward_steps: u32,
    /// The number of times that the OS clock was behind by more than any slew explains: it was set
    /// back, or the counter continued without it, as in a suspend.
    pub backward_steps: u32,
    /// The number of times that the OS clock's rate had changed by more than 20 ppm: it is slewed,
    /// or the counter runs at another rate.
    pub rate_changes: u32,
    /// The timeline minus the OS clock, in ns. Elapsed time keeps an offset to the OS's monotonic
    /// clock when that clock jumps, so that durations stay true. Unix time keeps none: there, this
    /// is 0.
    pub offset_ns: i64,
    /// The greatest distance of the timeline from the OS clock plus the offset, measured by a
    /// sample of both clocks when the status was taken. Zero if the timeline is the OS clock.
    /// `None` before the first conversion.
    ///
    /// While the OS clock can't be read, the distance grows by 1,000 ppm of the time since the last
    /// look: twice as much as NTP slews. If nothing bounds it, it is `u64::MAX` ns.
    pub uncertainty: Option<Duration>,
    /// The number of times that the OS clock could not be read any more: a filter of system calls
    /// refuses it, or its time does not fit its type. Until it can be read again, the timeline
    /// continues at the rate that it had. If the ticks are the clock's own, they stand.
    pub outages: u32,
    /// The OS clock can't be read now.
    pub unreadable: bool,
}

/// Returns the clock's state now.
///
/// Chooses the source if no read has done so yet.
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
    let chosen = system::choice().get();
    let newest = system::MONOTONIC.newest().filter(Record::has_rate);
    Status {
        source: chosen.mode().source(),
        reason: Reason(chosen.cause()),
        order: chosen.mode().order(),
        source_request_ignored: chosen.ignored_source(),
        source_request_refused: chosen.refused_source(),
        order_request_ignored: chosen.ignored_order(),
        frequency_hz: newest.map(|record| record.estimate.rate.hz()),
        counter_failures: chosen.moves(),
        suspends: system::HOST.suspends(),
        restores: system::HOST.disruptions(),
        last_disruption: last_disruption(),
        kernel_clock: os::kernel_clock(),
        monotonic: TimelineStatus {
            offset_ns: system::offset_ns(),
            ..timeline_status(&system::MONOTONIC, system::MONOTONIC.bound())
        },
        realtime: timeline_status(&system::REALTIME, system::REALTIME.bound()),
    }
}

/// The uncertainty that nothing bounds.
const UNKNOWN: Duration = Duration::from_nanos(u64::MAX);

fn last_disruption() -> Option<UnixTime> {
    let found_by = |timeline: &Timeline| {
        let event_tick = timeline.newest().map_or(0, |record| record.last_event_tick);
        event_tick.max(timeline.outages.last_tick.get())
    };
    let tick = found_by(&system::MONOTONIC)
        .max(found_by(&system::REALTIME))
        .max(system::HOST.last_event_tick());
    (tick != 0).then(|| UnixTime::from_nanos(system::REALTIME.ns_at(tick)))
}

fn timeline_status(timeline: &Timeline, (_, bound_ns): (u64, u64)) -> TimelineStatus {
    let newest = timeline.newest();
    let Counts { syncs, forward_steps, backward_steps, rate_changes } =
        newest.map_or_else(Counts::default, |record| record.counts);
    TimelineStatus {
        syncs,
        forward_steps,
        backward_steps,
        rate_changes,
        offset_ns: 0,
        uncertainty: Some(Duration::from_nanos(bound_ns)),
        outages: timeline.outages.count(),
        unreadable: timeline.outages.lasts(),
    }
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
        };
        let since = match (self.counter_failures, self.source) {
            (0, _) => "",
            (_, Source::Counter) => "; its ticks are moved up",
            (_, Source::Os) => "; the counter is not tried again",
        };
        writeln!(f, "source:    {source} ({}{since})", self.reason)?;
        if self.source_request_ignored {
            writeln!(f, "           {}", source::SOURCE.complaint)?;
        }
        if self.source_request_refused {
            writeln!(f, "           a request for the other source was not granted")?;
        }
        writeln!(f, "order:     {order}")?;
        if self.order_request_ignored {
            writeln!(f, "           {}", source::ORDER.complaint)?;
        }
        match self.frequency_hz {
            Some(hz) => writeln!(f, "frequency: {}.{:06} MHz", hz / 1_000_000, hz % 1_000_000)?,
            None => writeln!(f, "frequency: not measured yet")?,
        }
        if let Some(time) = self.last_disruption {
            writeln!(
                f,
                "disrupted: {} counter failures, {} suspends, {} restores; last at {time:.3}",
                self.counter_failures, self.suspends, self.restores
            )?;
        }
        writeln!(f, "monotonic: {}", self.monotonic)?;
        write!(f, "real time: {}", self.realtime)?;
        match self.kernel_clock {
            Some(KernelClock { max_error, estimated_error, synchronized: true }) => {
                write!(f, "\nOS clock:  ±{estimated_error:?} from UTC, at worst {max_error:?}")
            }
            Some(_) => write!(f, "\nOS clock:  not synchronized with UTC"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for TimelineStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.uncertainty {
            None => return f.write_str("not used yet"),
            Some(Duration::ZERO) => f.write_str("the OS clock itself")?,
            Some(UNKNOWN) => f.write_str("unknown")?,
            Some(uncertainty) => {
                let Self { syncs, forward_steps, backward_steps, rate_changes, .. } = self;
                write!(f, "±{uncertainty:?}, syncs: {syncs}, steps forward: {forward_steps}, ")?;
                write!(f, "steps back: {backward_steps}, changes of rate: {rate_changes}")?;
            }
        }
        if self.outages > 0 {
            write!(f, ", outages: {}", self.outages)?;
        }
        if self.unreadable {
            f.write_str(", the OS clock can't be read")?;
        }
        if self.offset_ns == 0 {
            return Ok(());
        }
        let side = if self.offset_ns > 0 { "ahead of" } else { "behind" };
        let offset = Duration::from_nanos(self.offset_ns.unsigned_abs());
        write!(f, ", {offset:?} {side} the OS clock")
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    const CALM: TimelineStatus = TimelineStatus {
        syncs: 9,
        forward_steps: 1,
        backward_steps: 2,
        rate_changes: 3,
        offset_ns: 0,
        uncertainty: Some(Duration::from_nanos(45)),
        outages: 0,
        unreadable: false,
    };

    #[test]
    fn a_timeline_shows_its_bound_its_events_and_its_offset() {
        let counts = "±45ns, syncs: 9, steps forward: 1, steps back: 2, changes of rate: 3";
        let itself = TimelineStatus { uncertainty: Some(Duration::ZERO), ..CALM };
        let cases = [
            (TimelineStatus { uncertainty: None, ..CALM }, "not used yet", ""),
            (itself, "the OS clock itself", ""),
            (
                TimelineStatus { offset_ns: 7, ..itself },
                "the OS clock itself",
                ", 7ns ahead of the OS clock",
            ),
            (CALM, counts, ""),
            (TimelineStatus { offset_ns: 1_500, ..CALM }, counts, ", 1.5µs ahead of the OS clock"),
            (TimelineStatus { offset_ns: -3, ..CALM }, counts, ", 3ns behind the OS clock"),
        ];
        for (status, shown, offset) in cases {
            assert_eq!(status.to_string(), [shown, offset].concat());
        }
    }
}
