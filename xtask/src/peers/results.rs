//! The results of a peer's tests, and their differences from those expected.

use std::collections::BTreeMap;
use std::fmt;

use super::Expected;
use super::taken::File;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome<'a> {
    Passed,
    /// With all that the test printed.
    Failed(&'a str),
    Ignored,
}

/// The outcome of each test by its name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Results<'a>(BTreeMap<&'a str, Outcome<'a>>);

impl<'a> Results<'a> {
    /// Adds the outcomes in the output of a test program, which `succeeded` or not. Fails if the
    /// output makes no sense.
    pub(super) fn add(&mut self, printed: &'a str, succeeded: bool) -> Result<(), String> {
        self.0.extend(Self::parse(printed, succeeded)?.0);
        Ok(())
    }

    /// Reads the output of a test program, which `succeeded` or not. Fails if the output has no
    /// summary, as after an abort, or does not match it.
    fn parse(printed: &'a str, succeeded: bool) -> Result<Self, String> {
        let tests = printed.lines().filter_map(|line| {
            let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
            let outcome = match outcome {
                "ok" => Outcome::Passed,
                "FAILED" => Outcome::Failed(message(name, printed)),
                outcome if outcome.starts_with("ignored") => Outcome::Ignored,
                _ => return None,
            };
            Some((name.trim_end_matches(" - should panic"), outcome))
        });
        let results = Self(tests.collect());
        let [passed, failed, ignored] = results.counts();
        let verdict = if failed == 0 { "ok" } else { "FAILED" };
        let summary = format!(
            "test result: {verdict}. {passed} passed; {failed} failed; {ignored} ignored; "
        );
        let has_summary = printed.lines().any(|line| line.starts_with(&summary));
        if has_summary && succeeded == (failed == 0) {
            return Ok(results);
        }
        Err(format!("the tests' output makes no sense:\n{printed}"))
    }

    fn counts(&self) -> [usize; 3] {
        let count = |is: fn(&Outcome) -> bool| self.0.values().filter(|one| is(one)).count();
        [
            count(|one| matches!(one, Outcome::Passed)),
            count(|one| matches!(one, Outcome::Failed(_))),
            count(|one| matches!(one, Outcome::Ignored)),
        ]
    }

    /// Returns everything that differs from `expected`.
    pub(super) fn faults(&self, expected: &Expected, files: &[File]) -> Vec<String> {
        let difference = |name: &str| expected.differences.iter().find(|one| one.test == name);
        let is_left_out = |name: &str| {
            let function = name.rsplit("::").next().unwrap_or(name);
            files.iter().flat_map(|file| file.left_out).any(|(test, _)| *test == function)
        };
        let mut faults = Vec::new();
        for (name, outcome) in &self.0 {
            match (outcome, difference(name)) {
                (Outcome::Passed, Some(_)) => {
                    faults.push(format!("{name} passes, but is listed as a difference"));
                }
                (Outcome::Failed(_), None) => faults.push(format!("{name} fails")),
                (Outcome::Failed(message), Some(listed)) if !message.contains(listed.message) => {
                    faults.push(format!("{name} fails without the listed message"));
                }
                (Outcome::Ignored, _) if !is_left_out(name) => {
                    faults.push(format!("{name} is ignored, but not listed as left out"));
                }
                _ => {}
            }
        }
        let differences = expected.differences.iter().map(|difference| difference.test);
        let gone = differences.filter(|test| !self.0.contains_key(*test));
        faults.extend(gone.map(|test| format!("{test} is listed as a difference, but is gone")));
        let [passed, ..] = self.counts();
        if passed != expected.passed {
            faults.push(format!("{passed} tests pass, not {}", expected.passed));
        }
        faults
    }
}

/// Returns the output of a test that failed.
fn message<'a>(name: &str, printed: &'a str) -> &'a str {
    let head = format!("\n---- {name} stdout ----\n");
    let (_, after) = printed.split_once(&head).unwrap_or_default();
    let end = after.find("\n---- ").or_else(|| after.find("\nfailures:\n"));
    &after[..end.unwrap_or(after.len())]
}

impl fmt::Display for Results<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [passed, failed, ignored] = self.counts();
        write!(f, "{passed} passed, {failed} failed, {ignored} left out")
    }
}

#[cfg(test)]
mod tests {
    use super::super::Difference;
    use super::*;

    const FILES: [File; 1] = [File {
        from: "",
        begin: None,
        end: None,
        to: "",
        substitutions: &[],
        left_out: &[("slow", "")],
    }];
    const EXPECTED: Expected = Expected {
        passed: 2,
        differences: &[Difference { test: "a::wrong", message: "no ticks", reason: "" }],
    };
    const PRINTED: &str = "running 4 tests\ntest a::good ... ok\ntest a::slow ... ignored, slow\n\
        test a::throws - should panic ... ok\ntest a::wrong ... FAILED\n\nfailures:\n\n\
        ---- a::wrong stdout ----\nno ticks\n\nfailures:\n    a::wrong\n\n\
        test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n";

    /// Returns the faults of results that are given as lines.
    fn faults(outcomes: &[(&str, Outcome)]) -> Vec<String> {
        Results(outcomes.iter().copied().collect()).faults(&EXPECTED, &FILES)
    }

    const AS_EXPECTED: [(&str, Outcome); 4] = [
        ("a::good", Outcome::Passed),
        ("a::slow", Outcome::Ignored),
        ("a::throws", Outcome::Passed),
        ("a::wrong", Outcome::Failed("no ticks\n")),
    ];

    #[test]
    fn each_test_has_an_outcome() {
        let results = Results::parse(PRINTED, false).unwrap();
        assert_eq!(results.0, BTreeMap::from(AS_EXPECTED));
        assert_eq!(results.to_string(), "2 passed, 1 failed, 1 left out");
        assert!(results.faults(&EXPECTED, &FILES).is_empty());
    }

    #[test]
    fn outcomes_of_several_programs_are_added() {
        let mut results = Results::default();
        results.add(PRINTED, false).unwrap();
        let other = "test b::good ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 meas";
        results.add(other, true).unwrap();
        assert_eq!(results.to_string(), "3 passed, 1 failed, 1 left out");
        assert!(results.add(other, false).is_err());
    }

    #[test]
    fn a_message_ends_before_the_next() {
        let printed = "\n---- a stdout ----\nx\n\n---- b stdout ----\ny\n\nfailures:\n    a\n";
        assert_eq!(message("a", printed), "x\n");
        assert_eq!(message("b", printed), "y\n");
        assert_eq!(message("c", printed), "");
    }

    #[test]
    fn an_output_that_is_not_whole_is_a_fault() {
        assert!(Results::parse(PRINTED, true).is_err(), "a test failed");
        let (tests, _) = PRINTED.split_once("test result").unwrap();
        assert!(Results::parse(tests, false).is_err(), "the program was aborted");
        assert!(Results::parse(&PRINTED.replace("... FAILED", "..."), false).is_err());
        assert!(Results::parse("", true).is_err());
    }

    #[test]
    fn every_difference_from_the_list_is_a_fault() {
        use Outcome::{Failed, Ignored, Passed};

        let with = |index: usize, outcome| {
            let mut outcomes = AS_EXPECTED;
            outcomes[index].1 = outcome;
            faults(&outcomes)
        };
        let count = |count: usize| format!("{count} tests pass, not 2");
        assert_eq!(with(0, Failed("")), ["a::good fails".to_owned(), count(1)]);
        let ignored = "a::good is ignored, but not listed as left out".to_owned();
        assert_eq!(with(0, Ignored), [ignored, count(1)]);
        assert_eq!(with(1, Passed), [count(3)]);
        let other = "a::wrong fails without the listed message";
        assert_eq!(with(3, Failed("too many ticks")), [other]);
        let honest = "a::wrong passes, but is listed as a difference".to_owned();
        assert_eq!(with(3, Passed), [honest, count(3)]);
        assert_eq!(faults(&AS_EXPECTED[1..]), [count(1)]);
        let gone = "a::wrong is listed as a difference, but is gone";
        assert_eq!(faults(&AS_EXPECTED[..3]), [gone]);
    }
}
