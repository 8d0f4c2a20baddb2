//! The runs, each in a child, and their expectations.

use core::time::Duration;
use std::env;
use std::process;

use crate::again;
use crate::findings::Problem;
use crate::storm::{self, Storm};

const CHILD: &str = "storm";
/// The range of the delays after which the storms of the short runs begin: from before the first
/// read until after the first conversions.
const DELAYS: Duration = Duration::from_micros(120);

pub(crate) fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let Some((CHILD, rest)) = arguments.split_first().map(|(first, rest)| (&**first, rest)) {
        let storm = from_arguments(rest);
        let findings = storm::run(&storm);
        let problems = findings.problems();
        if storm.flaw.is_none() && !problems.is_empty() {
            eprintln!("{findings}");
        }
        process::exit(exit_code(problems));
    }
    let short_runs = again::runs();
    let step = DELAYS / short_runs;
    let calm = Storm { handlers: 2_000, delay: step, neighbour: false, flaw: None };
    for run in 0..short_runs {
        // In every second run, a thread that is not interrupted shares the timeline.
        expect(&Storm { delay: step * run, neighbour: run % 2 == 1, ..calm }, None);
    }
    // The log has no room for more.
    let handlers = (1000 * short_runs as usize).min(20_000);
    expect(&Storm { handlers, neighbour: true, ..calm }, None);
    // The positive controls: a flawed handler is detected.
    for flaw in Problem::ALL {
        expect(&Storm { flaw: Some(flaw), ..calm }, Some(flaw));
    }
    eprintln!("{} passed, 0 failed", short_runs as usize + 1 + Problem::ALL.len());
}

fn expect(storm: &Storm, problem: Option<Problem>) {
    let status = again::run(&to_arguments(storm));
    let code = status.code().unwrap_or_else(|| panic!("{storm:?}: {status}"));
    match problem {
        None => assert_eq!(code, 0, "{storm:?}"),
        Some(problem) => assert_ne!(code & exit_code(&[problem]), 0, "{storm:?} ended with {code}"),
    }
}

/// Returns an exit code with one bit per problem. None of them is set in 101, the code of a panic.
fn exit_code(problems: &[Problem]) -> i32 {
    problems.iter().fold(0, |code, problem| code | [2, 8, 16][*problem as usize])
}

fn to_arguments(storm: &Storm) -> Vec<String> {
    let flaw = storm.flaw.map_or(0, |flaw| flaw as u8 + 1);
    let numbers =
        [storm.handlers as u128, storm.delay.as_nanos(), storm.neighbour.into(), flaw.into()];
    [CHILD.to_owned()].into_iter().chain(numbers.map(|number| number.to_string())).collect()
}

fn from_arguments(arguments: &[String]) -> Storm {
    let number = |index: usize| arguments[index].parse::<usize>().expect("a number");
    Storm {
        handlers: number(0),
        delay: Duration::from_nanos(number(1) as u64),
        neighbour: number(2) == 1,
        flaw: number(3).checked_sub(1).map(|index| Problem::ALL[index]),
    }
}
