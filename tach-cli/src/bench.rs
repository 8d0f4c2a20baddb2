//! `tach bench`: the quick table of costs.

use core::time::Duration;
use std::time::{Instant as StdInstant, SystemTime, UNIX_EPOCH};

use clap::Args;
use serde::Serialize;
use tach_core::{Instant, MonotonicInstant, OrderedInstant, UnixTime, unix_nanos};

use crate::Outcome;
use crate::measure::{Cost, Subject, costs, subject};
use crate::output::{Ns, Output, Table, Width, faint, heading, paragraph, warning};
use crate::progress::Progress;

/// The time that a round of all groups takes, for the progress.
const ROUND: Duration = Duration::from_millis(8);

/// Measures what reads cost, beside std, quanta and minstant
///
/// The best round of each counts.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many rounds of 10,000 calls each read runs
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

/// Reads with one purpose. std's is the measure of the others.
#[derive(Debug, Serialize)]
struct Group {
    name: &'static str,
    costs: Vec<Cost>,
}

#[derive(Debug, Serialize)]
struct Findings {
    rounds: u32,
    is_debug_build: bool,
    groups: Vec<Group>,
}

pub(crate) fn run(options: &Options, output: &mut Output) -> anyhow::Result<Outcome> {
    let rounds = options.rounds;
    let groups = groups();
    let length = u32::try_from(groups.len()).unwrap_or(1);
    let progress = Progress::new(ROUND * rounds);
    let measured = (0..).zip(groups).map(|(index, (name, subjects))| {
        let costs = costs(&subjects, rounds, |round| {
            progress.set(ROUND * (index * rounds + round) / length, name);
        });
        Group { name, costs }
    });
    let groups = measured.collect();
    drop(progress);
    let found = Findings { rounds, is_debug_build: cfg!(debug_assertions), groups };
    output.write(&found, |width| found.text(width))?;
    Ok(Outcome::Good)
}

fn groups() -> Vec<(&'static str, Vec<Subject>)> {
    vec![
        (
            "a read",
            vec![
                subject!("std Instant", StdInstant::now()),
                subject!("tach Instant", Instant::now()),
                subject!("tach OrderedInstant", OrderedInstant::now()),
                subject!("tach MonotonicInstant", MonotonicInstant::now()),
                subject!("quanta Instant", quanta::Instant::now()),
                subject!("minstant Instant", minstant::Instant::now()),
            ],
        ),
        (
            "a read and its elapsed()",
            vec![
                subject!("std Instant", StdInstant::now().elapsed()),
                subject!("tach Instant", Instant::now().elapsed()),
                subject!("tach MonotonicInstant", MonotonicInstant::now().elapsed()),
                subject!("quanta Instant", quanta::Instant::now().elapsed()),
                subject!("minstant Instant", minstant::Instant::now().elapsed()),
            ],
        ),
        (
            "Unix time in ns",
            vec![
                subject!(
                    "std SystemTime",
                    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos())
                ),
                subject!("tach unix_nanos", unix_nanos()),
                subject!("tach UnixTime with bound", UnixTime::now_with_uncertainty()),
            ],
        ),
    ]
}

impl Findings {
    fn text(&self, width: Width) -> String {
        let mut parts = Vec::new();
        for Group { name, costs } in &self.groups {
            let mut table = Table::new(["clock", "a call", "of std's"]);
            for cost in costs {
                let ratio = format!("{:.2}", cost.ns / costs[0].ns);
                table.row([cost.name.to_owned(), Ns(cost.ns).to_string(), ratio]);
            }
            parts.push(format!("{}\n{}", heading(name), table.text(width)));
        }
        let note = format!("best of {} rounds, all of a group in turn", self.rounds);
        parts.push(faint(paragraph(&note, width)).to_string());
        if self.is_debug_build {
            let note = paragraph("This is a debug build: the costs mean nothing.", width);
            parts.push(warning(note).to_string());
        }
        parts.join("\n\n")
    }
}
