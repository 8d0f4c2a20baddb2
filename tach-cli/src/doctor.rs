//! `tach doctor`: is this host's clock good, and if not, which change would help?
//!
//! `host` collects the statements of the kernel's files, `errors` compares the timelines with the
//! OS's clocks, and `findings`, which is pure, draws the conclusions that `report` prints.

mod errors;
mod evidence;
mod findings;
mod host;
mod report;

use core::time::Duration;
use std::path::PathBuf;

use clap::Args;

use self::evidence::Evidence;
use self::host::Files;
use crate::Outcome;
use crate::output::Output;
use crate::times;

/// Says whether this host's clock is good, and which change would help
///
/// Exit status 1 if there is a problem: something that makes reads slower or times wrong. Advice
/// alone leaves the status at 0.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long to compare tach's timelines with the OS's clocks
    #[arg(long = "for", value_name = "TIME", default_value = "3s", value_parser = times::time)]
    time: Duration,
    /// A folder in place of `/`, with the files of another host: for tests
    #[arg(long, hide = true)]
    root: Option<PathBuf>,
}

pub(crate) fn run(options: &Options, output: &mut Output) -> anyhow::Result<Outcome> {
    let evidence = Evidence::collect(&Files::new(options.root.clone()), options.time);
    let report = report::Report::new(&evidence);
    output.write(&report, &report)?;
    Ok(report.outcome())
}
