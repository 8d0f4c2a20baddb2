//! `tach skew`: do the counters of all cores agree, and do reads keep their order?

mod offsets;
mod order;

use core::time::Duration;

use clap::Args;
use serde::Serialize;
use tach_core::{Source, status};

pub(crate) use self::offsets::{Offset, offsets};
use self::order::{Clock, Promise, clocks};
use crate::output::{Ns, Output, bad, faint, good, heading, warning};
use crate::{Outcome, measure, time};

/// Measures the skew between cores, and the order of reads across threads
///
/// Every thread loads its neighbour's last value, reads the clock, compares and publishes. The bare
/// counter is the control: it should show inversions. If it shows none, this host did not provoke
/// any, and the zeros of the other clocks prove nothing. With `TACH_ORDER=enforced` in the
/// environment, a `MonotonicInstant` keeps its order by a maximum that all threads share. Exit
/// status 1 if a clock that promises strict order did not keep it.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long to run each clock
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = time)]
    time: Duration,
    /// The number of threads
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=1024))]
    threads: u16,
}

/// The findings for all clocks.
#[derive(Debug, Serialize)]
struct Report {
    seconds: f64,
    threads: u16,
    /// `null` if threads can't be bound to cores here.
    cores: Option<Vec<Offset>>,
    clocks: Vec<Clock>,
    conclusion: Conclusion,
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

pub(crate) fn run(options: &Options, output: Output) -> anyhow::Result<Outcome> {
    let &Options { time, threads } = options;
    let (cores, clocks) = (offsets(), clocks(threads.into(), time));
    let conclusion = conclude(&clocks, status().source == Source::Counter);
    let report = Report { seconds: time.as_secs_f64(), threads, cores, clocks, conclusion };
    output.write(&report, || report.text())?;
    Ok(if conclusion == Conclusion::Broken { Outcome::Problem } else { Outcome::Good })
}

fn conclude(clocks: &[Clock], has_control: bool) -> Conclusion {
    let is_inverted =
        |by: Promise| clocks.iter().any(|clock| clock.promise == by && clock.inversions > 0);
    if is_inverted(Promise::Strict) {
        Conclusion::Broken
    } else if !has_control {
        Conclusion::NoControl
    } else if is_inverted(Promise::Control) {
        Conclusion::Kept
    } else {
        Conclusion::ProvesNothing
    }
}

impl Report {
    fn text(&self) -> String {
        let conclusion = match self.conclusion {
            Conclusion::Kept => {
                good("The bare counter is out of order, so the zeros mean something.")
            }
            Conclusion::ProvesNothing => {
                warning("The bare counter shows no inversion: this run proves nothing.")
            }
            Conclusion::NoControl => {
                warning("No counter is read here, so there is no control: this run proves nothing.")
            }
            Conclusion::Broken => bad("A clock that promises strict order did not keep it."),
        };
        format!("{}\n\n{}\n\n{conclusion}", self.offsets(), self.order())
    }

    fn offsets(&self) -> String {
        let Some(cores) = &self.cores else {
            return faint("threads can't be bound to cores here").to_string();
        };
        let title = heading("offset of each core's clock from the first core's");
        let mut lines = vec![title.to_string(), "core          offset    known to".to_owned()];
        for offset in cores {
            let [ns, bound] = [offset.ns, offset.bound_ns].map(|ns| Ns(ns).to_string());
            let ns = if offset.is_known() { &*ns } else { "not measured" };
            lines.push(format!("{:<6}{ns:>14}{bound:>12}", offset.core));
        }
        if !cores.iter().all(Offset::is_known) {
            let why = "not measured: the machine is busy, the bound is wider than a microsecond";
            lines.push(warning(why).to_string());
        }
        lines.join("\n")
    }

    fn order(&self) -> String {
        let title = format!("order of reads on {} threads, {} s each", self.threads, self.seconds);
        let names = "clock                        reads  inversions    largest    M/s  order";
        let mut lines = vec![heading(title).to_string(), names.to_owned()];
        for Clock { name, promise, reads, inversions, largest_inversion_ns } in &self.clocks {
            let largest = if *inversions == 0 { f64::NAN } else { *largest_inversion_ns };
            let rate = measure::as_f64(*reads) / self.seconds / 1e6;
            let order = match (promise, inversions) {
                (Promise::Strict, 0) => good("promised, kept"),
                (Promise::Strict, _) => bad("promised, NOT KEPT"),
                (Promise::Control, _) => faint("the control"),
                (Promise::None, _) => faint("not promised"),
            };
            let largest = Ns(largest);
            lines.push(format!(
                "{name:<22}{reads:>12}{inversions:>12}{largest:>11}{rate:>7.1}  {order}"
            ));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conclusion_needs_a_control_that_fails() {
        let clock = |promise, inversions| Clock {
            name: "",
            promise,
            reads: 9,
            inversions,
            largest_inversion_ns: 0.0,
        };
        let all = |control, strict, other| {
            [
                clock(Promise::Control, control),
                clock(Promise::Strict, strict),
                clock(Promise::None, other),
            ]
        };
        assert_eq!(conclude(&all(5, 0, 7), true), Conclusion::Kept);
        assert_eq!(conclude(&all(0, 0, 7), true), Conclusion::ProvesNothing);
        assert_eq!(conclude(&all(0, 0, 0), false), Conclusion::NoControl);
        assert_eq!(conclude(&all(5, 1, 0), true), Conclusion::Broken);
        assert_eq!(conclude(&all(0, 1, 0), false), Conclusion::Broken);
    }
}
