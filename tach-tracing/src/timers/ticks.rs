//! The counter itself.

use tach_core::Clock;
use tracing_subscriber::fmt::format::Writer;

use crate::form::{Form, impl_timer, write_fmt};
use crate::moment;

/// Prints the tick of the CPU's counter, as it is: `81234567890`.
///
/// Nothing is converted, and nothing is lost: whoever reads the log later turns ticks into times, to within
/// a tick of each other. For that the program logs a [`TickScale`](tach_core::TickScale) at its start and now
/// and then, before the ticks that are to be read by it.
///
/// # Cost
///
/// A counter read and the digits. No allocation, no lock, no write that threads share.
///
/// # Examples
///
/// ```
/// use tach_core::TickScale;
///
/// tracing_subscriber::fmt().with_timer(tach_tracing::Ticks).init();
/// tracing::info!("{}", TickScale::now());
/// tracing::info!("ready");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ticks;

impl_timer!([] Ticks, "Ticks", "assert_eq!(text, \"0\")");

impl Form for Ticks {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        write_fmt(writer, format_args!("{}", moment::instant(clock).as_ticks()));
    }
}
