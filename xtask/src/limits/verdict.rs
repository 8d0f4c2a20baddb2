//! What was counted against what is allowed.

use crate::limits::allowed::{AIMS, Allowed, Limit, grouped, line};

/// A section of the limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    pub(crate) section: &'static str,
    /// What is counted.
    pub(crate) what: &'static str,
    /// Whether the limit follows what is counted, also below the aim.
    pub(crate) follows: bool,
}

/// What was counted of one thing.
#[derive(Debug)]
pub(crate) struct Count {
    pub(crate) measure: &'static Measure,
    pub(crate) of: String,
    pub(crate) number: usize,
    /// The code lines that it is counted in, if the aim is per 1,000 of them.
    pub(crate) code_lines: Option<usize>,
    /// Where to look.
    pub(crate) places: Vec<String>,
}

/// A limit that doesn't hold, and the lines to write in its place.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) text: String,
    /// The line of the file of limits and its new text, of which `None` removes it, if that lowers
    /// the limit.
    pub(crate) lower: Option<(usize, Option<String>)>,
}

/// The part of a limit, in hundredths, that what is counted must reach.
const LEAST: usize = 98;
/// How much a new limit is above what is counted, in hundredths: small mends need no raise.
const ROOM: usize = 101;

/// Compares one count.
pub(crate) fn compare(count: &Count, allowed: &Allowed) -> Option<Fault> {
    let Measure { section, what, follows } = *count.measure;
    let (of, number) = (&count.of, count.number);
    let aim = allowed.aim(section).map(|aim| match count.code_lines {
        Some(lines) => aim * lines / 1000,
        None => aim,
    });
    let listed = allowed.find(section, of);
    let Some(limit) = listed.map(|limit| limit.number).or(aim) else {
        let line = line(of, number * ROOM / 100, None);
        return Some(fault(format!("{of} has no limit of {what}: write `{line}` in [{section}]")));
    };
    let is_low = number * 100 < limit * LEAST && (follows || listed.is_some());
    let is_done = !follows && listed.is_some() && aim.is_some_and(|aim| number <= aim);
    let is_unexplained =
        aim.is_some_and(|aim| limit > aim) && listed.is_some_and(|limit| limit.reason.is_none());
    let place = listed.map(|limit| format!(" (limits.toml:{})", limit.line)).unwrap_or_default();
    let counted = format!("{of}: {} {what}, limit {}{place}", grouped(number), grouped(limit));
    if number > limit {
        let line = line(of, number, Some("ADR n"));
        let places: Vec<_> = count.places.iter().map(|place| format!("\n    {place}")).collect();
        let places = places.concat();
        return Some(fault(format!(
            "{counted}. Take as much out, or write `{line}` in [{section}], and in that ADR what \
             pays for it{places}"
        )));
    }
    if !is_low && !is_done {
        let text = format!("{counted}: above the aim. Write which ADR says so, or `until` when");
        return is_unexplained.then(|| fault(text));
    }
    let most = aim.filter(|aim| number <= *aim).unwrap_or(limit);
    let lower = (number * ROOM / 100).min(most);
    // Without a line, the aim is the limit.
    let line = (Some(lower) != aim && !is_done).then(|| {
        let is_above = aim.is_none_or(|aim| lower > aim);
        line(of, lower, listed.and_then(|limit| limit.reason.as_deref()).filter(|_| is_above))
    });
    let text = match &line {
        Some(line) => format!("{counted}: more than 2 % below. Write `{line}` in [{section}]"),
        None => format!("{counted}. The aim is met: remove the line"),
    };
    Some(Fault { text, lower: listed.map(|limit| (limit.line, line)) })
}

fn fault(text: String) -> Fault {
    Fault { text, lower: None }
}

/// Returns the faults of the file itself: lines of things that aren't there, reasons that name no
/// decision, and limits that were raised since `before` without a new reason.
pub(crate) fn check_lines(
    allowed: &Allowed,
    before: Option<&Allowed>,
    counts: &[Count],
    has_adr: impl Fn(&str) -> bool,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for limit in &allowed.limits {
        let Limit { section, of, number, reason, line } = limit;
        let is_counted = |count: &Count| {
            let it = count.measure.section;
            if section == AIMS { it == of } else { it == section && count.of == *of }
        };
        if !counts.iter().any(is_counted) {
            let text =
                format!("limits.toml:{line}: there is no {of} in [{section}]: remove the line");
            faults.push(Fault { text, lower: Some((*line, None)) });
        }
        let reason = reason.as_deref();
        let names_adr = |reason: &str| {
            let (_, number) = reason.split_once("ADR ")?;
            let end = number.find(|one: char| !one.is_ascii_digit()).unwrap_or(number.len());
            Some(has_adr(&number[..end]))
        };
        let is_known = |reason: &str| names_adr(reason).unwrap_or(reason.starts_with("until "));
        if let Some(reason) = reason.filter(|reason| !is_known(reason)) {
            let text = format!(
                "limits.toml:{line}: \"{reason}\" names no ADR of docs/adr and begins with no `until`"
            );
            faults.push(fault(text));
        }
        // A new line above the aim is a raise too.
        let is_scaled = |section: &str| {
            let mut of = counts.iter().filter(|count| count.measure.section == section);
            of.any(|count| count.code_lines.is_some())
        };
        let old = before.and_then(|before| match before.find(section, of) {
            Some(old) => Some((old.number, old.reason.as_deref())),
            None => Some((before.aim(section).filter(|_| !is_scaled(section))?, None)),
        });
        let explains = |reason: &str| names_adr(reason) == Some(true);
        let is_raised = |(from, old): &(usize, Option<&str>)| {
            *number > *from && (reason == *old || !reason.is_some_and(explains))
        };
        if let Some((from, _)) = old.filter(is_raised) {
            let (from, to) = (grouped(from), grouped(*number));
            faults.push(fault(format!(
                "limits.toml:{line}: {of} was raised from {from} to {to}: add `# ADR n`, which \
                 says why"
            )));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    static FOLLOWS: Measure = Measure { section: "a", what: "things", follows: true };
    static BOUND: Measure = Measure { section: "b", what: "things", follows: false };

    const TEXT: &str =
        "[aims]\na = 20\nb = 6\n[a]\nx = 1_000 # until y\nz = 15\n[b]\nx = 50 # ADR 7\n";

    fn counted(measure: &'static Measure, of: &str, number: usize) -> Count {
        Count { measure, of: of.to_owned(), number, code_lines: None, places: vec!["here".into()] }
    }

    /// Returns the text of the fault and the new text of a line, if the number is a fault.
    fn fault(
        measure: &'static Measure,
        of: &str,
        number: usize,
    ) -> Option<(String, Option<String>)> {
        let fault = compare(&counted(measure, of, number), &Allowed::read(TEXT).unwrap())?;
        Some((fault.text, fault.lower.and_then(|(_, line)| line)))
    }

    #[test]
    fn more_than_the_limit_is_a_fault() {
        assert_eq!(fault(&FOLLOWS, "x", 1000), None);
        let (text, line) = fault(&FOLLOWS, "x", 1001).unwrap();
        assert!(text.starts_with("x: 1_001 things, limit 1_000 (limits.toml:5). Take"), "{text}");
        assert!(
            text.contains("`x = 1_001 # ADR n` in [a]") && text.ends_with("\n    here"),
            "{text}"
        );
        assert_eq!(line, None);
        // Without a line, the aim is the limit.
        assert!(fault(&FOLLOWS, "new", 21).is_some());
        assert!(fault(&BOUND, "new", 7).is_some());
        assert!(fault(&BOUND, "x", 51).is_some());
    }

    #[test]
    fn far_below_the_limit_is_a_fault() {
        assert_eq!(fault(&FOLLOWS, "x", 980), None);
        assert_eq!(fault(&FOLLOWS, "x", 979).unwrap().1.unwrap(), "x = 988 # until y");
        assert_eq!(fault(&BOUND, "x", 40).unwrap().1.unwrap(), "x = 40 # ADR 7");
        // At the aim there is nothing to explain.
        assert_eq!(fault(&FOLLOWS, "x", 18).unwrap().1.unwrap(), "x = 18");
        // The aim of what follows is a limit as well; a bound is not.
        assert!(fault(&FOLLOWS, "new", 10).unwrap().0.contains("Write `new = 10` in [a]"));
        assert_eq!(fault(&BOUND, "new", 1), None);
        // A line that only repeats the aim is of no use.
        assert_eq!(fault(&FOLLOWS, "x", 20).unwrap().1, None);
        assert!(fault(&BOUND, "x", 6).unwrap().0.contains("remove the line"));
    }

    #[test]
    fn an_aim_can_be_per_code_line() {
        let allowed = Allowed::read(TEXT).unwrap();
        let count = |number| Count { code_lines: Some(2500), ..counted(&BOUND, "new", number) };
        assert!(compare(&count(15), &allowed).is_none());
        assert!(compare(&count(16), &allowed).is_some());
    }

    #[test]
    fn what_has_no_aim_needs_a_limit() {
        let count = counted(&FOLLOWS, "new", 500);
        let fault = compare(&count, &Allowed::read("").unwrap()).unwrap();
        assert!(fault.text.ends_with("write `new = 505` in [a]"), "{}", fault.text);
    }

    #[test]
    fn a_limit_above_its_aim_says_why() {
        let allowed = Allowed::read(&TEXT.replace(" # until y", "")).unwrap();
        let fault = compare(&counted(&FOLLOWS, "x", 1000), &allowed).unwrap();
        assert!(fault.text.contains("above the aim"), "{}", fault.text);
    }

    /// Returns the faults of the lines in this text, which had another text before.
    fn of_lines(text: &str, before: &str) -> Vec<String> {
        let counts =
            [("x", 1000), ("z", 15), ("x2", 21)].map(|(of, number)| counted(&FOLLOWS, of, number));
        let counts = counts.into_iter().chain([counted(&BOUND, "x", 50)]).collect::<Vec<_>>();
        let (allowed, before) = (Allowed::read(text).unwrap(), Allowed::read(before).unwrap());
        let faults = check_lines(&allowed, Some(&before), &counts, |number| number == "7");
        faults.into_iter().map(|fault| fault.text).collect()
    }

    #[test]
    fn a_raise_needs_a_new_reason() {
        assert_eq!(of_lines(TEXT, TEXT), [""; 0]);
        assert_eq!(of_lines(&TEXT.replace("15", "16 # ADR 7"), TEXT), [""; 0]);
        for raised in [
            TEXT.replace("15", "16"),
            TEXT.replace("15", "16 # until later"),
            TEXT.replace("1_000", "1_001"),
            // A new line above the aim.
            TEXT.replace("z = 15\n", "z = 15\nx2 = 21\n"),
        ] {
            assert!(of_lines(&raised, TEXT)[0].contains("was raised from"));
        }
        assert!(of_lines(&TEXT.replace("a = 20", "a = 21"), TEXT)[0].contains("was raised from"));
    }

    #[test]
    fn a_reason_is_an_adr_that_exists_or_an_end() {
        assert!(of_lines(&TEXT.replace("ADR 7", "ADR 8"), TEXT)[0].contains("names no ADR"));
        assert!(of_lines(&TEXT.replace("until y", "it is big"), TEXT)[0].contains("names no ADR"));
    }

    #[test]
    fn a_line_of_what_is_gone_is_a_fault() {
        let gone = of_lines(&format!("{TEXT}gone = 1\n"), TEXT);
        assert_eq!(gone, ["limits.toml:9: there is no gone in [b]: remove the line"]);
    }
}
