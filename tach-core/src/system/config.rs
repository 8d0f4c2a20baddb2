//! The configuration of the process's clock.

use super::{REALTIME, choice};
use crate::error::Error;
use crate::os;
use crate::source::{Request, Source};
use crate::timeline::BackwardStep;

/// The configuration of the process's clock, which the program installs once, before the first
/// read.
///
/// A configuration applies to every crate in the process, so only a program should install one: at
/// the start of `main`, before it starts threads. A library should not, because then the program
/// can't.
///
/// # Examples
///
/// ```
/// use tach_core::{Config, Source, status};
///
/// Config::new().force_source(Source::Os).hold_backward_steps().install()?;
/// assert_eq!(status().source, Source::Os);
/// # Ok::<(), tach_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use = "`install` puts the configuration in force"]
pub struct Config {
    request: Request,
    backward_step: BackwardStep,
    trusts_environment: bool,
}

impl Config {
    /// Creates the configuration of a process that installs none.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::Config::new(), tach_core::Config::default());
    /// ```
    pub const fn new() -> Self {
        Self {
            request: Request { source: None, enforced: false },
            backward_step: BackwardStep::Follow,
            trusts_environment: false,
        }
    }

    /// Forces the source of all ticks.
    ///
    /// The configuration has priority over `TACH_SOURCE`. A counter that does not exist or may not
    /// be executed can't be forced; [`status`](crate::status()) then reports the reason, and
    /// [`source_request_refused`](crate::Status::source_request_refused).
    ///
    /// If [`Source::Os`] is forced, tach asks neither the CPU nor the kernel about the counter. So
    /// don't force it in a process that may not read the counter (`PR_SET_TSC` on Linux): there,
    /// the C library's clocks read the counter too. Without the request, tach notices that, and
    /// reads the clocks by system calls.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Config, Source, status};
    ///
    /// Config::new().force_source(Source::Os).install()?;
    /// assert_eq!(status().reason.as_str(), "call");
    /// # Ok::<(), tach_core::Error>(())
    /// ```
    pub const fn force_source(mut self, source: Source) -> Self {
        self.request.source = Some(source);
        self
    }

    /// Makes [`MonotonicInstant`](crate::MonotonicInstant) keep its order by a shared maximum, even
    /// where the kernel trusts the counter on all CPUs.
    ///
    /// Use it on hosts whose counter you trust less than their kernel does, or in a program in
    /// which one thread at a time reads the time: there, a read with enforced order is cheaper. See
    /// [`MonotonicInstant`](crate::MonotonicInstant#cost). `TACH_ORDER=enforced` in the environment
    /// does the same. If ticks come from the OS clock, order is always enforced.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Config, Order, status};
    ///
    /// Config::new().enforce_order().install()?;
    /// assert_eq!(status().order, Order::Enforced);
    /// # Ok::<(), tach_core::Error>(())
    /// ```
    pub const fn enforce_order(mut self) -> Self {
        self.request.enforced = true;
        self
    }

    /// Makes Unix time wait if the OS's real-time clock is set back by more than a millisecond,
    /// instead of going back with that clock.
    ///
    /// Unix time then slows until the OS clock has caught up: to half the rate while it is more
    /// than a millisecond ahead, then by 500 ppm. Durations must not be computed from it. If it is
    /// more than a minute ahead, it goes back at once: a wrong clock was corrected, and half speed
    /// would last for twice the step.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Config;
    ///
    /// // The lines of this program's log must stay in order, even if the clock is set back.
    /// Config::new().hold_backward_steps().install()?;
    /// # Ok::<(), tach_core::Error>(())
    /// ```
    pub const fn hold_backward_steps(mut self) -> Self {
        self.backward_step = BackwardStep::Hold;
        self
    }

    /// Lets tach's crates read environment variables although the process has privileges that its
    /// caller lacks. Install the configuration before you use any other crate of tach.
    ///
    /// Without this setting, a set-user-ID program, or one with capabilities of its own, reads no
    /// variable: not `TACH_SOURCE`, `RUST_LOG`, `TZ`, `SSL_CERT_FILE`, nor those of OpenTelemetry.
    /// Its caller chose them, and could otherwise redirect the log of a program that may do more
    /// than the caller.
    ///
    /// # Platform-specific behavior
    ///
    /// Linux reports such a process by `AT_SECURE`, the BSDs, macOS, illumos and Solaris by
    /// `issetugid`. FreeBSD and macOS do so for a process that changed its own ids as well, as a
    /// daemon does that root starts: use this setting in such a program. Other Unix systems are
    /// asked for the ids themselves. Elsewhere no process has such privileges.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Config;
    ///
    /// // A launcher that only a trusted program starts.
    /// Config::new().trust_environment().install()?;
    /// # Ok::<(), tach_core::Error>(())
    /// ```
    #[cfg(feature = "std")]
    pub const fn trust_environment(mut self) -> Self {
        self.trusts_environment = true;
        self
    }

    /// Puts the configuration in force.
    ///
    /// # Errors
    ///
    /// Fails if the process has installed a configuration already, or has read the clock: the first
    /// read chooses the source, and instants of two sources can't be compared. Then nothing
    /// changes. [`Error::is_too_late`] recognises both.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{Config, Instant};
    ///
    /// Config::new().enforce_order().install()?;
    /// assert!(Config::new().install().unwrap_err().is_too_late());
    /// # Ok::<(), tach_core::Error>(())
    /// ```
    pub fn install(self) -> Result<(), Error> {
        choice().install(self.request)?;
        if self.trusts_environment {
            os::trust_environment();
        }
        REALTIME.set_backward_step(self.backward_step);
        Ok(())
    }
}
