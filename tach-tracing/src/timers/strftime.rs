//! Patterns of one's own.

mod error;

use jiff::Timestamp;
use jiff::fmt::StdFmtWrite;
use jiff::fmt::strtime::{BrokenDownTime, Config};
use jiff::tz::TimeZone;
use tach_core::rfc3339::Offset;
use tach_core::{Clock, UnixTime};
use tracing_subscriber::fmt::format::Writer;

pub use self::error::PatternError;
use super::system_zone;
use crate::form::{Form, impl_timer};
use crate::moment;

/// Prints the time by a pattern of `strftime`, such as `%d %b %H:%M:%S%.3f`: in UTC, at an offset, or in the
/// system's zone.
///
/// [jiff's documentation](jiff::fmt::strtime) lists what a pattern may hold. The pattern is checked when the
/// timer is made, so that nothing is amiss when it prints. For RFC 3339 take [`Utc`](crate::Utc),
/// [`FixedOffset`](crate::FixedOffset) or [`Local`](crate::Local), which are faster.
///
/// # Cost
///
/// The pattern is interpreted each time. No allocation, no lock; [`local`](Self::local) finds the zone once a
/// minute on each thread, which costs what it costs [`Local`](crate::Local).
///
/// # Examples
///
/// ```
/// use tach_tracing::Strftime;
///
/// tracing_subscriber::fmt().with_timer(Strftime::utc("%a %d %b %Y, %H:%M:%S%.3f")?).init();
/// tracing::info!("ready");
/// # Ok::<(), tach_tracing::PatternError>(())
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
            Self::System => system_zone::at(time),
        }
    }
}

impl Strftime {
    /// Prints UTC by `pattern`.
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
    /// # Ok::<(), tach_tracing::PatternError>(())
    /// ```
    pub fn utc(pattern: &str) -> Result<Self, PatternError> {
        Self::new(pattern, Zone::Fixed(TimeZone::UTC))
    }

    /// Prints local time at `offset` by `pattern`.
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
    pub fn fixed_offset(pattern: &str, offset: Offset) -> Result<Self, PatternError> {
        // jiff knows all offsets that RFC 3339 does.
        let offset = jiff::tz::Offset::from_seconds(offset.as_minutes() * 60);
        let zone = offset.map_or(TimeZone::UTC, TimeZone::fixed);
        Self::new(pattern, Zone::Fixed(zone))
    }

    /// Prints local time in the system's zone by `pattern`. [`Local`](crate::Local) tells how the zone is
    /// found, and when a zone that is set anew is honoured.
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
    /// # Ok::<(), tach_tracing::PatternError>(())
    /// ```
    pub fn local(pattern: &str) -> Result<Self, PatternError> {
        Self::new(pattern, Zone::System)
    }

    fn new(pattern: &str, zone: Zone) -> Result<Self, PatternError> {
        let sample =
            BrokenDownTime::from(&Timestamp::UNIX_EPOCH.to_zoned(zone.at(UnixTime::now())));
        error::check(pattern, &sample)?;
        Ok(Self { pattern: pattern.into(), zone })
    }
}

impl_timer!(
    [] Strftime,
    "Strftime::utc(\"%d %b %Y, %H:%M\").unwrap()",
    "assert_eq!(text, \"01 Jan 1970, 00:00\")"
);

impl Form for Strftime {
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let time = moment::unix_time(clock);
        let time = Timestamp::from(time).to_zoned(self.zone.at(time));
        // A zone that is set later may lack what the pattern was checked for: that is printed as it stands.
        let config = Config::new().lenient(true);
        let mut writer = StdFmtWrite(writer);
        let time = BrokenDownTime::from(&time);
        let _ = time.format_with_config(&config, &*self.pattern, &mut writer);
    }
}
