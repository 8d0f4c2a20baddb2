//! Every timer.

use core::fmt;

use tach_core::{Clock as _, ManualClock, UnixTime};
use tach_tracing::{
    FixedOffset, Timer as _, UnixMicros, UnixMillis, UnixNanos, UnixSeconds, Uptime, Utc,
};
#[cfg(feature = "jiff")]
use tach_tracing::{Local, Strftime};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// 2023-11-14T22:13:20.123456789Z.
pub(crate) const NOW: UnixTime = UnixTime::from_nanos(1_700_000_000_123_456_789);

/// The clock of the timers of [`still`].
pub(crate) static CLOCK: ManualClock = ManualClock::new(NOW);

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
        entry(Uptime::default().with_clock(&CLOCK), "   0.000000000s"),
        entry(Uptime::since(CLOCK.now()).with_clock(&CLOCK), "   0.000000000s"),
        entry(Utc::<0>.with_clock(&CLOCK), "2023-11-14T22:13:20Z"),
        entry(Utc::<3>.with_clock(&CLOCK), "2023-11-14T22:13:20.123Z"),
        entry(Utc::<6>.with_clock(&CLOCK), "2023-11-14T22:13:20.123456Z"),
        entry(Utc::<9>.with_clock(&CLOCK), "2023-11-14T22:13:20.123456789Z"),
        entry(FixedOffset::<0>::new(offset()).with_clock(&CLOCK), "2023-11-14T18:43:20-03:30"),
        entry(
            FixedOffset::<6>::new(offset()).with_clock(&CLOCK),
            "2023-11-14T18:43:20.123456-03:30",
        ),
        entry(UnixSeconds.with_clock(&CLOCK), "1700000000"),
        entry(UnixMillis.with_clock(&CLOCK), "1700000000123"),
        entry(UnixMicros.with_clock(&CLOCK), "1700000000123456"),
        entry(UnixNanos.with_clock(&CLOCK), "1700000000123456789"),
    ];
    #[cfg(feature = "jiff")]
    {
        let utc = Strftime::utc("%d %b %Y, %H:%M:%S%.3f").unwrap();
        let fixed = Strftime::fixed_offset("%a %T %:z %Q", offset()).unwrap();
        let local = Strftime::local("%FT%T%.6f%:z").unwrap();
        let timestamp = jiff::Timestamp::from(NOW);
        let zoned = timestamp.to_zoned(jiff::tz::TimeZone::system());
        let here = format!("{:.6}", timestamp.display_with_offset(zoned.offset()));
        timers.extend([
            entry(Local::<6>.with_clock(&CLOCK), here.clone()),
            entry(utc.with_clock(&CLOCK), "14 Nov 2023, 22:13:20.123"),
            entry(fixed.with_clock(&CLOCK), "Tue 18:43:20 -03:30 -0330"),
            entry(local.with_clock(&CLOCK), here),
        ]);
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
        boxed(Uptime::default()),
        boxed(Uptime::since(std::time::Instant::now())),
        boxed(Utc::<0>),
        boxed(Utc::<6>),
        boxed(Utc::<9>.strictly_increasing()),
        boxed(FixedOffset::<6>::new(offset())),
        boxed(FixedOffset::<9>::new(offset()).strictly_increasing()),
        boxed(UnixSeconds),
        boxed(UnixMillis),
        boxed(UnixMicros),
        boxed(UnixNanos),
        boxed(UnixSeconds.strictly_increasing()),
    ];
    #[cfg(feature = "jiff")]
    timers.extend([
        boxed(Local::<6>),
        boxed(Local::<9>.strictly_increasing()),
        boxed(Strftime::utc("%d %b %Y, %H:%M:%S%.3f %Q").unwrap()),
        boxed(Strftime::fixed_offset("%a %T %:z", offset()).unwrap()),
        boxed(Strftime::local("%A %FT%T%.6f%:z %Z %Q").unwrap()),
    ]);
    timers
}
