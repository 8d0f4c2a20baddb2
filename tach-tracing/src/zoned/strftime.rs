//! Patterns of `strftime`.

mod pattern;

use jiff::Timestamp;
use jiff::fmt::StdFmtWrite;
use jiff::fmt::strtime::{BrokenDownTime, Config};
use jiff::tz::TimeZone;
use tach_core::{Clock, Offset, UnixTime, adapter};
use tracing_subscriber::fmt::format::Writer;

use super::Error;
use crate::timer::Timer;
use crate::timer::sealed::Format;
use crate::timers::current;

/// The format of a timer that prints the time by a pattern of `strftime`, such as `%d %b
/// %H:%M:%S%.3f`.
///
/// [jiff's documentation](jiff::fmt::strtime) lists the directives. The constructors check the
/// pattern, so that printing can't fail. Each directive prints what chrono prints for it (in the C
/// locale, if it depends on the locale), except these:
///
/// | chrono's | here |
/// |---|---|
/// | `%Z`, an offset in `ChronoLocal` | the zone's abbreviation, such as `CEST`; `%:z` is the offset |
/// | `%.f`, none, three, six or nine digits | as many digits as are needed; `%.6f` prints six |
/// | `%:::z` at `+05:30`: `+05` | `+05:30` |
/// | `%+` | an error: use [`Utc`](const@crate::Utc) or its like, or `%FT%T%.6f%:z` |
///
/// # Cost
///
/// Each text interprets the pattern: for RFC 3339 [`Utc`](const@crate::Utc),
/// [`FixedOffset`](crate::FixedOffset) and [`Local`](const@crate::Local) are faster. No allocation,
/// no lock, except that [`local`](Self::local) looks for the zone as
/// [`Local`](const@crate::Local#cost) does.
///
/// # Examples
///
/// ```
/// use tach_tracing::Strftime;
///
/// tracing_subscriber::fmt().with_timer(Strftime::utc("%a %d %b %Y, %H:%M:%S%.3f")?).init();
/// tracing::info!("ready");
/// # Ok::<(), tach_tracing::Error>(())
/// ```
///
/// `cargo run --example timer_strftime` prints
///
/// ```text
/// Sat 21 Nov 2026, 13:48:46.892  INFO timer_strftime: ready
/// ```
#[derive(Debug, Clone)]
pub struct Strftime {
    pattern: Box<str>,
    zone: Zone,
}

#[derive(Debug, Clone)]
enum Zone {
    Fixed(TimeZone),
    System,
}

impl Zone {
    fn at(&self, time: UnixTime) -> TimeZone {
        match self {
            Self::Fixed(zone) => zone.clone(),
            Self::System => adapter::local_time::zone_at(time),
        }
    }
}

impl Strftime {
    /// Creates a timer that prints UTC.
    ///
    /// # Errors
    ///
    /// If a directive of the pattern can't be printed.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::Strftime;
    ///
    /// let timer = Strftime::utc("%H:%M:%S")?;
    /// assert_eq!(Strftime::utc("%H:%M:%!").unwrap_err().position(), 6);
    /// # Ok::<(), tach_tracing::Error>(())
    /// ```
    pub fn utc(pattern: &str) -> Result<Timer<Self>, Error> {
        Self::new(pattern, Zone::Fixed(TimeZone::UTC))
    }

    /// Creates a timer that prints the time at `offset`.
    ///
    /// # Errors
    ///
    /// If a directive of the pattern can't be printed.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::Strftime;
    ///
    /// let timer = Strftime::fixed_offset("%H:%M:%S %:z", "+01:00".parse()?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fixed_offset(pattern: &str, offset: Offset) -> Result<Timer<Self>, Error> {
        // The fallback is never used: jiff supports every offset of RFC 3339.
        let offset = jiff::tz::Offset::from_seconds(offset.as_minutes() * 60);
        let zone = offset.map_or(TimeZone::UTC, TimeZone::fixed);
        Self::new(pattern, Zone::Fixed(zone))
    }

    /// Creates a timer that prints the time in the system's zone, like
    /// [`Local`](const@crate::Local).
    ///
    /// # Errors
    ///
    /// If a directive of the pattern can't be printed.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_tracing::Strftime;
    ///
    /// let timer = Strftime::local("%a %H:%M:%S %Z")?;
    /// # Ok::<(), tach_tracing::Error>(())
    /// ```
    pub fn local(pattern: &str) -> Result<Timer<Self>, Error> {
        Self::new(pattern, Zone::System)
    }

    fn new(pattern: &str, zone: Zone) -> Result<Timer<Self>, Error> {
        let sample =
            BrokenDownTime::from(&Timestamp::UNIX_EPOCH.to_zoned(zone.at(UnixTime::now())));
        Ok(Timer::new(Self { pattern: pattern::checked(pattern, &sample)?, zone }))
    }
}

impl Format for Strftime {
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let time = current::unix_time(clock);
        let time = Timestamp::from(time).to_zoned(self.zone.at(time));
        // Print leniently: if the system's zone changes to one that lacks a name, the directive for
        // that name is printed as it stands.
        let config = Config::new().lenient(true);
        let mut writer = StdFmtWrite(writer);
        let time = BrokenDownTime::from(&time);
        let _ = time.format_with_config(&config, &*self.pattern, &mut writer);
    }
}
