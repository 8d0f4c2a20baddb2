//! Local time.

use tach_core::{Clock, adapter};
use tracing_subscriber::fmt::format::Writer;

use super::{DIGITS, current, write};
use crate::timer::Timer;
use crate::timer::sealed::{Digits, Format};

/// The format of the timer [`Local`](const@Local), whose type is `Timer<Local>`.
#[derive(Debug, Clone, Copy)]
pub struct Local {
    digits: usize,
}

/// A timer that prints the time in the system's zone as RFC 3339:
/// `2026-11-21T10:30:00.123456+01:00`.
///
/// [`digits`](Timer::digits) sets the number of digits of a second, six by default.
///
/// [jiff](https://docs.rs/jiff) finds the zone from the variable `TZ`, or else from the OS's
/// setting. If it finds none, the timer prints UTC. In a process with privileges that its caller
/// lacks, only the OS's setting counts: see [`tach_core::Config::trust_environment`].
///
/// No function of the C library is called. The standard library reads the variable under the lock
/// that [`set_var`](std::env::set_var) takes, so the read races only with C code that sets
/// variables without the lock.
///
/// # Guarantees
///
/// A transition, to summer time for instance, takes effect at its second. A change of the system's
/// zone takes effect within six minutes: jiff looks for the zone every five minutes, and a thread
/// asks jiff once a minute. An offset with seconds, such as Liberia's until 1972, is cut to minutes
/// together with the local time, so that the two still name the right moment.
///
/// # Cost
///
/// The same as [`Utc`](const@crate::Utc), and a comparison: each thread keeps the offset for the
/// minute. The first text of a minute takes jiff's lock, and every five minutes one thread reads
/// the zone from files, which allocates. If the zone can't be found, each thread looks for it every
/// minute.
///
/// With its feature `logging`, jiff logs that search, in lines that have the previous offset.
///
/// # Examples
///
/// ```
/// tracing_subscriber::fmt().with_timer(tach_tracing::Local).init();
/// tracing::info!("ready");
/// ```
///
/// `TZ=Asia/Kolkata cargo run --example timer_local` prints
///
/// ```text
/// 2026-11-21T19:18:46.904041+05:30  INFO timer_local: ready
/// ```
#[expect(non_upper_case_globals, reason = "a timer reads like a unit struct")]
pub const Local: Timer<Local> = Timer::new(Local { digits: DIGITS });

impl Digits for Local {
    fn digits(&mut self) -> &mut usize {
        &mut self.digits
    }
}

impl Format for Local {
    #[inline]
    fn print(&self, clock: &impl Clock, writer: &mut Writer<'_>) {
        let time = current::unix_time(clock);
        let offset = adapter::local_time::offset_at(time);
        adapter::rfc3339::with_offset_text(time, self.digits, offset, |text| write(writer, text));
    }
}
