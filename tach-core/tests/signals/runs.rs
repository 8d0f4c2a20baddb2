//! The runs, each in a child, and what is expected of each.

use core::time::Duration;
use std::env;
use std::process;

use crate::again;
use crate::findings::Problem;
use crate::storm::{self, Storm};

/// The first argument of a child.
const CHILD: &str = "storm";
/// The delays of the short runs reach over the first read and the first conversions: each begins its storm a little
/// later.
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
        // Every second one shares the timeline with a thread that nothing interrupts.
        expect(&Storm { delay: step * run, neighbour: run % 2 == 1, ..calm }, None);
    }
    // More would not find room in the log.
    let handlers = (1000 * short_runs as usize).min(20_000);
    expect(&Storm { handlers, neighbour: true, ..calm }, None);
    // The positive controls: a handler that tells something else is found out.
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

/// One bit a problem, none of which is in 101, the code of a panic.
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
