//! `tach skew`: do the counters of all cores agree, and do reads keep their order?

mod offsets;
mod order;

use core::time::Duration;
use std::env;
use std::process::Command;

use anyhow::{Context as _, ensure};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use tach_core::{Order, status};

pub(crate) use self::offsets::{Offset, cores, offsets};
use self::order::{Findings, Role, Subject, has_control, subjects};
use crate::Outcome;
use crate::measure::{as_f64, nanos};
use crate::output::{Ns, Output, Table, Width, bad, faint, good, heading, paragraph, warning};
use crate::progress::Progress;
use crate::times;

/// Measures the skew between cores, and the order of reads across threads
///
/// Every thread loads its neighbour's last value, reads the clock, compares and publishes. The bare
/// counter is the control: it should show inversions. If it shows none, this host did not provoke
/// any, and the zeros of the other clocks prove nothing. Exit status 1 if a clock that promises
/// strict order did not keep it.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long to run each clock
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = times::some_time)]
    time: Duration,
    /// The number of threads
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=1024))]
    threads: u16,
    /// Runs the clock with enforced order alone: this program starts itself so
    #[arg(long, hide = true)]
    enforced: bool,
}

/// The findings for all clocks.
#[derive(Debug, Serialize)]
struct Report {
    seconds: f64,
    threads: u16,
    /// `null` if threads can't be bound to cores here.
    cores: Option<Vec<Offset>>,
    clocks: Vec<Clock>,
    /// The reason for which the clock with enforced order was not run.
    enforced_not_run: Option<String>,
    conclusion: Conclusion,
}

#[derive(Debug, Serialize)]
struct Clock {
    name: String,
    role: Role,
    /// Whether strict order is promised on this machine.
    is_strict: bool,
    reads: u64,
    inversions: u64,
    largest_inversion_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Conclusion {
    /// Every promised order was kept, and the control was not in order.
    Kept,
    /// Every promised order was kept, and so was the control's.
    ProvesNothing,
    /// Every promised order was kept. No counter is read here, so there is no control.
    NoControl,
    Broken,
}

pub(crate) fn run(options: &Options, output: &mut Output) -> anyhow::Result<Outcome> {
    let order_options = order::Options { threads: options.threads.into(), time: options.time };
    if options.enforced {
        ensure!(status().order != Order::OrderedRead, "order is not enforced in this process");
        let mut enforced = subjects().into_iter().filter(|one| one.role == Role::Enforced);
        let subject = enforced.next().context("no clock has enforced order")?;
        let clock = Clock::new(&subject, (subject.run)(order_options));
        output.write(&clock, |_| "")?;
        return Ok(Outcome::Good);
    }
    let subjects = subjects();
    let count = u32::try_from(subjects.len()).unwrap_or(1);
    let progress = Progress::new(options.time * count);
    let cores = offsets(|_| ());
    let (mut clocks, mut enforced_not_run) = (Vec::new(), None);
    for (done, subject) in (0..).zip(&subjects) {
        progress.set(options.time * done, subject.name);
        if subject.role != Role::Enforced {
            clocks.push(Clock::new(subject, (subject.run)(order_options)));
            continue;
        }
        match again_enforced(options) {
            Ok(clock) => clocks.push(clock),
            Err(error) => enforced_not_run = Some(format!("{error:#}")),
        }
    }
    drop(progress);
    let conclusion = conclude(&clocks, has_control());
    let seconds = as_f64(nanos(options.time)) / 1e9;
    let threads = options.threads;
    let report = Report { seconds, threads, cores, clocks, enforced_not_run, conclusion };
    output.write(&report, |width| report.text(width))?;
    Ok(if conclusion == Conclusion::Broken { Outcome::Problem } else { Outcome::Good })
}

/// Runs the clock with enforced order in another process, since order is enforced for a whole
/// process.
fn again_enforced(options: &Options) -> anyhow::Result<Clock> {
    let program = env::current_exe().context("this program has no path")?;
    let mut child = Command::new(program);
    let time = humantime::format_duration(options.time).to_string();
    child.args(["skew", "--json", "--enforced", "--for", &time.replace(' ', "")]);
    child.args(["--threads", &options.threads.to_string()]).env("TACH_ORDER", "enforced");
    // An emulated program can't start itself.
    let found = child.output().context("this program can't start itself again")?;
    let clock: Value = serde_json::from_slice(&found.stdout)
        .with_context(|| format!("this program, started again, ended with {}", found.status))?;
    let number = |name: &str| clock[name].as_u64().with_context(|| format!("no {name}: {clock}"));
    Ok(Clock {
        name: clock["name"].as_str().unwrap_or_default().to_owned(),
        role: Role::Enforced,
        is_strict: true,
        reads: number("reads")?,
        inversions: number("inversions")?,
        largest_inversion_ns: number("largest_inversion_ns")?,
    })
}

fn conclude(clocks: &[Clock], has_control: bool) -> Conclusion {
    if clocks.iter().any(|clock| clock.is_strict && clock.inversions > 0) {
        return Conclusion::Broken;
    }
    let control = clocks.iter().find(|clock| clock.role == Role::Control);
    match control.map(|control| control.inversions) {
        _ if !has_control => Conclusion::NoControl,
        Some(0) | None => Conclusion::ProvesNothing,
        Some(_) => Conclusion::Kept,
    }
}

impl Clock {
    fn new(subject: &Subject, found: Findings) -> Self {
        Self {
            name: subject.name.to_owned(),
            role: subject.role,
            is_strict: subject.role.is_strict(),
            reads: found.reads,
            inversions: found.inversions,
            largest_inversion_ns: nanos(found.largest),
        }
    }
}

impl Report {
    fn text(&self, width: Width) -> String {
        let mut parts = vec![self.offsets(width), self.order(width)];
        if let Some(reason) = &self.enforced_not_run {
            let text = format!("enforced order was not measured: {reason}");
            parts.push(faint(paragraph(&text, width)).to_string());
        }
        parts.push(self.conclusion.text(width));
        parts.join("\n\n")
    }

    fn offsets(&self, width: Width) -> String {
        let Some(cores) = &self.cores else {
            return faint("threads can't be bound to cores here").to_string();
        };
        let title = paragraph("offset of each core's clock from the first core's", width);
        let mut table = Table::new(["core", "offset", "known to"]);
        for offset in cores {
            let [ns, bound] = [offset.ns, offset.bound_ns].map(|ns| Ns(ns).to_string());
            let is_known = offset.is_known();
            let ns = if is_known { ns } else { "not measured".to_owned() };
            table.row([offset.core.to_string(), ns, bound]);
        }
        let text = format!("{}\n{}", heading(title), table.text(width));
        if cores.iter().all(Offset::is_known) {
            return text;
        }
        let why = "not measured: the machine is busy, and the bound is wider than a microsecond";
        format!("{text}\n{}", warning(paragraph(why, width)))
    }

    fn order(&self, width: Width) -> String {
        let title = format!("order of reads on {} threads, {} s each", self.threads, self.seconds);
        let headings = ["clock", "reads", "inversions", "largest", "M/s"];
        let mut table = Table::new(headings).words("order");
        for clock in &self.clocks {
            let Clock { name, reads, inversions, largest_inversion_ns, .. } = clock;
            let largest = Ns(as_f64(*largest_inversion_ns)).to_string();
            let largest = if *inversions == 0 { "-".to_owned() } else { largest };
            let rate = as_f64(*reads) / self.seconds / 1e6;
            let order = match (clock.is_strict, clock.role, inversions) {
                (true, _, 0) => good("promised, kept").to_string(),
                (true, ..) => bad("promised, NOT KEPT").to_string(),
                (_, Role::Control, _) => faint("the control").to_string(),
                _ => faint("not promised").to_string(),
            };
            let figures = [reads.to_string(), inversions.to_string(), largest];
            let cells = [name.clone()].into_iter().chain(figures);
            table.row(cells.chain([format!("{rate:.1}"), order]));
        }
        format!("{}\n{}", heading(paragraph(&title, width)), table.text(width))
    }
}

impl Conclusion {
    fn text(self, width: Width) -> String {
        let text = match self {
            Self::Kept => "The bare counter is out of order, so the zeros mean something.",
            Self::ProvesNothing => "The bare counter shows no inversion: this run proves nothing.",
            Self::NoControl => {
                "No counter is read here, so there is no control: this run proves nothing."
            }
            Self::Broken => "A clock that promises strict order did not keep it.",
        };
        let text = paragraph(text, width);
        match self {
            Self::Kept => good(text).to_string(),
            Self::ProvesNothing | Self::NoControl => warning(text).to_string(),
            Self::Broken => bad(text).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conclusion_needs_a_control_that_fails() {
        let clock = |role, is_strict, inversions| Clock {
            name: String::new(),
            role,
            is_strict,
            reads: 9,
            inversions,
            largest_inversion_ns: 0,
        };
        let all = |control, strict, other| {
            [
                clock(Role::Control, false, control),
                clock(Role::Strict, true, strict),
                clock(Role::Other, false, other),
            ]
        };
        assert_eq!(conclude(&all(5, 0, 7), true), Conclusion::Kept);
        assert_eq!(conclude(&all(0, 0, 7), true), Conclusion::ProvesNothing);
        assert_eq!(conclude(&all(0, 0, 0), false), Conclusion::NoControl);
        assert_eq!(conclude(&all(5, 1, 0), true), Conclusion::Broken);
        assert_eq!(conclude(&all(0, 1, 0), false), Conclusion::Broken);
    }
}
