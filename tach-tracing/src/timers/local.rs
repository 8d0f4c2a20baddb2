//! Local time.

mod zone;

use tach_core::{Clock, rfc3339};
use tracing_subscriber::fmt::format::Writer;

use super::increasing::impl_strictly_increasing;
use crate::form::{Form, impl_timer, write};
use crate::moment;

/// Prints the time in the system's zone as RFC 3339 with `DIGITS` digits of a second (0 to 9, six by
/// default): `2026-11-21T10:30:00.123456+01:00`.
///
/// The zone is found by [jiff](jiff::tz::TimeZone::system): the variable `TZ`, or else what the OS is set
/// to. No function of the C library is asked for local time, and the variable is read by the standard
/// library, under the lock that [`set_var`](std::env::set_var) takes: no thread reads what another one
/// writes, unless that is C code which sets variables without the lock. Where the zone can't be found, the
/// time is told in UTC, as `+00:00`: there is always a time.
///
/// # Guarantees
///
/// A transition, to summer time for instance, is honoured to the second. A zone that is set anew while the
/// program runs is honoured after six minutes at most: jiff looks for it every five minutes, and each thread
/// asks jiff once in every minute in which it prints. The width never varies. Where an offset is not of whole
/// minutes, as Liberia's was until 1972, it is cut to minutes and the local time with it, so that the two
/// still tell the right moment.
///
/// # Cost
///
/// That of [`Utc`](crate::Utc) and a comparison: each thread keeps the offset for the minute. When a minute
/// begins it takes jiff's lock, and every five minutes one thread reads the zone from files, which allocates.
/// Where the zone can't be found, each thread looks for it in every minute.
///
/// Should jiff log that, as it does with its feature `logging`, those lines tell the time by the zone from
/// before, at first by UTC.
///
/// # Examples
///
/// ```
/// tracing_subscriber::fmt().with_timer(tach_tracing::Local::<6>).init();
/// tracing::info!("ready");
/// ```
///
/// `TZ=Asia/Kolkata cargo run --example timer_local` prints
///
/// ```text
/// 2026-11-21T19:18:46.904041+05:30  INFO timer_local: ready
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Local<const DIGITS: usize = 6>;

impl_timer!(
    [const DIGITS: usize] Local<DIGITS>,
    "Local::<3>",
    "assert_eq!(text.len(), \"1970-01-01T00:00:00.000+00:00\".len())"
);
impl_strictly_increasing!([const DIGITS: usize] Local<DIGITS>, DIGITS, "Local::<6>");

impl<const DIGITS: usize> Form for Local<DIGITS> {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let time = moment::unix_time(clock);
        let offset = zone::offset_at(time);
        rfc3339::with_offset_text::<DIGITS, _>(time, offset, |text| write(writer, text));
    }
}
