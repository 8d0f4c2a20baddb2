//! The counter itself.

use tach_core::{Clock, decimal};
use tracing_subscriber::fmt::format::Writer;

use crate::form::{Form, impl_timer, write};
use crate::moment;

/// Prints the tick of the CPU's counter, as it is: `81234567890`.
///
/// Nothing is converted, and nothing is lost: whoever reads the log later turns ticks into times, to within
/// a tick of each other. For that the program logs a [`TickScale`](tach_core::TickScale) at its start and now
/// and then. The example `render_ticks` is a program that reads such a log.
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
///
/// `cargo run --example timer_ticks`, which logs requests as well, prints among others
///
/// ```text
/// 92252974193258  INFO tick=92252974096486 time=2026-11-21T13:53:49.643251389Z ns_per_tick=0.399965603136
/// 92252974331362  INFO request number=1
/// 92252974350160  INFO request number=2
/// ```
///
/// and `cargo run --example render_ticks` makes of the last two lines
///
/// ```text
/// 2026-11-21T13:53:49.643345340Z  INFO request number=1
/// 2026-11-21T13:53:49.643352859Z  INFO request number=2
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ticks;

impl_timer!([] Ticks, "Ticks", "assert_eq!(text, \"0\")");

impl Form for Ticks {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let tick = moment::instant(clock).as_ticks();
        decimal::with_text(tick, |text| write(writer, text));
    }
}
