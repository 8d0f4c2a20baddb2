//! The findings of a run's checks.

use core::fmt;

use crate::reading::{Reading, Witnessed};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The reading is not between the readings before and after it.
    Disordered,
    /// Its tick converts to a different value later.
    Impure,
    /// Its time is not the OS clock's.
    Untrue,
}

impl Problem {
    pub(crate) const ALL: [Self; 3] = [Self::Disordered, Self::Impure, Self::Untrue];
}

/// The problems of a run, with the first examples.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    problems: Vec<Problem>,
    examples: Vec<String>,
}

impl Findings {
    const EXAMPLES: usize = 8;

    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Checks that `within` is in order and not before `before`.
    pub(crate) fn check_order(&mut self, before: &Reading, within: &[Reading]) {
        let mut before = before;
        for reading in within {
            if !reading.is_not_before(before) {
                self.add(Problem::Disordered, &format_args!("{before:?} then {reading:?}"));
            }
            before = reading;
        }
    }

    pub(crate) fn check_purity(&mut self, reading: &Reading) {
        if !reading.is_pure() {
            let again = Reading::at(reading.tick);
            self.add(Problem::Impure, &format_args!("{reading:?} became {again:?}"));
        }
    }

    pub(crate) fn check_truth(&mut self, witnessed: &Witnessed, base: &Witnessed) {
        if !witnessed.is_true(base) {
            self.add(Problem::Untrue, &format_args!("{witnessed:?} after {base:?}"));
        }
    }

    pub(crate) fn check_past(&mut self, reading: &Reading) {
        if !reading.is_past() {
            self.add(Problem::Disordered, &format_args!("the current time is before {reading:?}"));
        }
    }

    fn add(&mut self, problem: Problem, example: &fmt::Arguments<'_>) {
        self.problems.push(problem);
        if self.examples.len() < Self::EXAMPLES {
            self.examples.push(format!("{problem:?}: {example}"));
        }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for example in &self.examples {
            writeln!(f, "{example}")?;
        }
        write!(f, "{} problems in all", self.problems.len())
    }
}
