//! Every timer.

use core::fmt;
use core::time::Duration;

use tach_core::{Clock as _, IncreasingClock, ManualClock, SystemClock, UnixTime};
#[cfg(feature = "jiff")]
use tach_tracing::Local;
use tach_tracing::{FixedOffset, UnixMillis, UnixNanos, Uptime, Utc};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// 2023-11-14T22:13:20.123456789Z.
pub(crate) const NOW: UnixTime = UnixTime::from_nanos(1_700_000_000_123_456_789);

/// The clock of the timers of [`still`].
pub(crate) static CLOCK: ManualClock = ManualClock::new(NOW);

/// A clock for timestamps of nine digits.
static INCREASING: IncreasingClock = IncreasingClock::new(SystemClock, Duration::from_nanos(1));

/// Any timer. tracing-subscriber does not implement `FormatTime` for boxes.
pub(crate) struct Boxed(pub(crate) Box<dyn FormatTime + Send + Sync>);

impl FormatTime for Boxed {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        self.0.format_time(writer)
    }
}

/// Returns every timer with a clock that stands still, and its text.
pub(crate) fn still() -> Vec<(Boxed, String)> {
    fn entry(
        timer: impl FormatTime + Send + Sync + 'static,
        text: impl Into<String>,
    ) -> (Boxed, String) {
        (Boxed(Box::new(timer)), text.into())
    }
    let offset = || "-03:30".parse().unwrap();
    #[allow(unused_mut, reason = "a feature adds some")]
    let mut timers = vec![
        entry(Uptime.with_clock(&CLOCK), "   0.000000000s"),
        entry(Uptime::since(CLOCK.now()).with_clock(&CLOCK), "   0.000000000s"),
        entry(Utc.digits(0).with_clock(&CLOCK), "2023-11-14T22:13:20Z"),
        entry(Utc.digits(3).with_clock(&CLOCK), "2023-11-14T22:13:20.123Z"),
        entry(Utc.with_clock(&CLOCK), "2023-11-14T22:13:20.123456Z"),
        entry(Utc.digits(9).with_clock(&CLOCK), "2023-11-14T22:13:20.123456789Z"),
        entry(FixedOffset::new(offset()).digits(0).with_clock(&CLOCK), "2023-11-14T18:43:20-03:30"),
        entry(FixedOffset::new(offset()).with_clock(&CLOCK), "2023-11-14T18:43:20.123456-03:30"),
        entry(UnixMillis.with_clock(&CLOCK), "1700000000123"),
        entry(UnixNanos.with_clock(&CLOCK), "1700000000123456789"),
    ];
    #[cfg(feature = "jiff")]
    {
        let timestamp = jiff::Timestamp::from(NOW);
        let zoned = timestamp.to_zoned(jiff::tz::TimeZone::system());
        let here = format!("{:.6}", timestamp.display_with_offset(zoned.offset()));
        timers.push(entry(Local.with_clock(&CLOCK), here));
    }
    timers
}

pub(crate) fn system() -> Vec<Boxed> {
    fn boxed(timer: impl FormatTime + Send + Sync + 'static) -> Boxed {
        Boxed(Box::new(timer))
    }
    let offset = || "-03:30".parse().unwrap();
    #[allow(unused_mut, reason = "a feature adds some")]
    let mut timers = vec![
        boxed(Uptime),
        boxed(Uptime::since(std::time::Instant::now())),
        boxed(Utc.digits(0)),
        boxed(Utc),
        boxed(Utc.digits(9).with_clock(&INCREASING)),
        boxed(FixedOffset::new(offset())),
        boxed(FixedOffset::new(offset()).digits(9).with_clock(&INCREASING)),
        boxed(UnixMillis),
        boxed(UnixNanos),
        boxed(UnixNanos.with_clock(&INCREASING)),
    ];
    #[cfg(feature = "jiff")]
    timers.extend([boxed(Local), boxed(Local.digits(9).with_clock(&INCREASING))]);
    timers
}
