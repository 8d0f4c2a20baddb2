//! The programs that discipline the clock, and their own statements beside the kernel's.

mod chrony;
mod ptp;

use core::time::Duration;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant as StdInstant;

use serde::Serialize;
use tach_core::adapter;

pub(crate) use self::chrony::Chrony;
pub(crate) use self::ptp::Ptp;
use super::files::Files;

/// The programs that steer the real-time clock, by the names of their processes, which the kernel
/// cuts at 15 bytes.
const STEERING: [&str; 6] = ["chronyd", "ntpd", "openntpd", "phc2sys", "ptp4l", "systemd-timesyn"];
/// systemd-timesyncd creates this file when it has set the clock.
const TIMESYNCD_DONE: &str = "run/systemd/timesync/synchronized";
/// A daemon on this machine answers within milliseconds.
const LONGEST: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// What disciplines the clock, as far as it can be found out.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Daemons {
    /// The programs that run. In a container, those outside can't be seen.
    pub(crate) running: Vec<String>,
    /// chronyd's statement.
    pub(crate) chrony: Option<Chrony>,
    /// ptp4l's statement, which only root gets.
    pub(crate) ptp: Option<Ptp>,
    /// Whether systemd-timesyncd has set the clock.
    pub(crate) timesyncd_is_synchronized: bool,
}

impl Daemons {
    /// Looks for the programs, and asks those of this host.
    pub(crate) fn find(files: &Files) -> Self {
        let mut running: Vec<_> =
            files.processes().into_iter().filter(|name| STEERING.contains(&&**name)).collect();
        running.dedup();
        let is_here = |name: &str| running.iter().any(|one| one == name);
        let asks = files.is_this_host();
        Self {
            // chronyd answers on the loopback device, also if it runs outside of a container.
            chrony: asks.then(chrony::ask).flatten(),
            ptp: (asks && is_here("ptp4l")).then(ptp::ask).flatten(),
            timesyncd_is_synchronized: files.exists(TIMESYNCD_DONE),
            running,
        }
    }
}

/// Runs a program that asks a daemon. Returns its output, or `None` if there is no such program, it
/// fails, or it takes too long. If this process has more privileges than its caller, who chose
/// `PATH`, runs nothing.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    if adapter::has_more_privileges_than_caller() {
        return None;
    }
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let start = StdInstant::now();
    // The output is shorter than a pipe's buffer, so the program does not wait for its reader.
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() < LONGEST => thread::sleep(PAUSE),
            _ => {
                let _gone = child.kill();
                let _reaped = child.wait();
                return None;
            }
        }
    };
    let mut text = String::new();
    child.stdout?.read_to_string(&mut text).ok()?;
    status.success().then_some(text)
}

/// Converts seconds, as daemons print them, to nanoseconds.
fn ns(seconds: &str) -> Option<f64> {
    seconds.trim().parse::<f64>().ok().filter(|seconds| seconds.is_finite()).map(|s| s * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_program_that_is_missing_or_fails_or_hangs_says_nothing() {
        assert_eq!(output("sh", &["-c", "echo yes"]).as_deref(), Some("yes\n"));
        assert_eq!(output("sh", &["-c", "echo no; exit 1"]), None);
        assert_eq!(output("/no/such/program", &[]), None);
        assert_eq!(output("sleep", &["600"]), None);
    }

    #[test]
    fn seconds_are_nanoseconds() {
        assert_eq!(ns("-0.000001500").map(f64::to_bits), Some((-1500.0_f64).to_bits()));
        assert_eq!((ns("soon"), ns("nan")), (None, None));
    }
}
