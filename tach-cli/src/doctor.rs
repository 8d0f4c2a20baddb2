//! `tach doctor`: is this host's clock good, and if not, which change would help?
//!
//! `evidence` collects the facts: `host` reads the kernel's `files`, and `os_clock`, `costs`,
//! `skew` and `tach drift` measure. `findings`, which is pure, draws the conclusions that `report`
//! prints.

mod costs;
mod evidence;
mod files;
mod findings;
mod host;
mod os_clock;
mod report;
mod skew;

use core::time::Duration;
use std::path::PathBuf;

use clap::Args;

use self::evidence::Evidence;
use self::files::Files;
use self::report::Report;
use crate::output::Output;
use crate::{Outcome, time};

/// Says whether this host's clock is good, and which change would help
///
/// Exit status 1 if there is a problem: something that makes reads slower or times wrong. Advice
/// alone leaves the status at 0, and so does a machine that is too busy to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long to compare tach's timelines with the OS's clocks
    #[arg(long = "for", value_name = "TIME", default_value = "3s", value_parser = time)]
    time: Duration,
    /// Prints problems alone, and nothing if there is none: for cron and monitors. With --json,
    /// prints the whole report if there is a problem
    #[arg(long)]
    check: bool,
    /// Makes it a problem if nothing keeps the clock at UTC: for hosts whose times are compared
    #[arg(long)]
    utc: bool,
    /// A folder in place of `/`, with the files of another host: for tests
    #[arg(long, hide = true)]
    root: Option<PathBuf>,
}

pub(crate) fn run(options: &Options, output: Output) -> anyhow::Result<Outcome> {
    let evidence = Evidence::collect(&Files::new(options.root.clone()), options.time);
    let report = Report::new(evidence, options.utc);
    if !options.check {
        output.write(&report, || report.text(output.width))?;
    } else if report.outcome() == Outcome::Problem {
        output.write(&report, || report.problems(output.width))?;
    }
    Ok(report.outcome())
}
