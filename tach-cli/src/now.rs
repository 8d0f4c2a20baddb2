//! `tach now`: the time with its bound.

use clap::Args;
use serde::Serialize;
use tach_core::{BoundedTime, UnixTime};

use crate::output::{Ns, Output, faint, heading};
use crate::{Outcome, measure};

/// Prints the time and the bound of its error
#[derive(Debug, Args)]
pub(crate) struct Options {}

#[derive(Debug, Serialize)]
struct Now {
    time: String,
    unix_ns: u64,
    /// Against this machine's real-time clock.
    uncertainty_ns: u64,
    /// Against UTC, as the kernel estimates it; `null` if it has no estimate.
    utc_uncertainty_ns: Option<u64>,
}

impl Now {
    fn new(now: BoundedTime) -> Self {
        Self {
            time: now.time().to_string(),
            unix_ns: now.time().as_nanos(),
            uncertainty_ns: measure::nanos(now.uncertainty()),
            utc_uncertainty_ns: now
                .with_kernel_error()
                .map(|utc| measure::nanos(utc.uncertainty())),
        }
    }
}

pub(crate) fn run(_: &Options, output: &mut Output) -> anyhow::Result<Outcome> {
    let now = Now::new(UnixTime::now_with_uncertainty());
    let utc = match now.utc_uncertainty_ns {
        Some(ns) => format!("±{} from UTC at worst", Ns(measure::as_f64(ns))),
        None => "the kernel does not estimate its error against UTC".to_owned(),
    };
    let bound = Ns(measure::as_f64(now.uncertainty_ns));
    let text =
        format!("{} ±{bound} {}", heading(&now.time), faint(format!("to the OS clock; {utc}")));
    output.write(&now, text)?;
    Ok(Outcome::Good)
}
