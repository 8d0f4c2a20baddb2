//! Words that are targets to the syntax of filters, and were meant as levels.

use log::LevelFilter;

/// What other programs and loggers call each level.
const OTHER_NAMES: [(LevelFilter, &[&str]); 6] = [
    (LevelFilter::Off, &["disable", "disabled", "false", "never", "no", "none", "quiet", "silent"]),
    (
        LevelFilter::Error,
        &["alert", "crit", "critical", "emerg", "emergency", "err", "fatal", "severe"],
    ),
    (LevelFilter::Warn, &["warning"]),
    (LevelFilter::Info, &["information", "informational", "notice"]),
    (LevelFilter::Debug, &["dbg", "fine", "verbose"]),
    (LevelFilter::Trace, &["all", "always", "everything", "finest", "on", "true", "yes"]),
];

/// Targets of libraries that differ from a level in one letter.
const LIBRARIES: [&str; 1] = ["warp"];

/// Returns the level that a word without `=` was meant to be, if it is hardly a target. As a target
/// it would select the records of no module, and switch all others off.
pub(super) fn meant_as(word: &str) -> Option<LevelFilter> {
    let word = word.to_ascii_lowercase();
    let is_other = |(_, names): &&(LevelFilter, &[&str])| names.contains(&&*word);
    let other = OTHER_NAMES.iter().find(is_other).map(|(level, _)| *level);
    let is_mistyped = |level: &LevelFilter| {
        let level = level.as_str().to_ascii_lowercase();
        word != level && !LIBRARIES.contains(&&*word) && is_one_slip_off(&word, &level)
    };
    other.or_else(|| LevelFilter::iter().find(is_mistyped))
}

/// Returns whether one letter is missing, too much or wrong, or two neighbours have changed places.
fn is_one_slip_off(word: &str, level: &str) -> bool {
    let start = word.bytes().zip(level.bytes()).take_while(|(a, b)| a == b).count();
    let (word, level) = (&word.as_bytes()[start..], &level.as_bytes()[start..]);
    let end = word.iter().rev().zip(level.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&word[..word.len() - end], &level[..level.len() - end]) {
        ([] | [_], [] | [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keys_is_no_target() {
        let slips = [
            ("inof", LevelFilter::Info),
            ("Infoo", LevelFilter::Info),
            ("DEBG", LevelFilter::Debug),
            ("trcae", LevelFilter::Trace),
            ("eror", LevelFilter::Error),
            ("wanr", LevelFilter::Warn),
            ("of", LevelFilter::Off),
            ("WARNING", LevelFilter::Warn),
            ("none", LevelFilter::Off),
        ];
        for (word, level) in slips {
            assert_eq!(meant_as(word), Some(level), "{word}");
        }
        let targets = ["app", "my_app", "warp", "hyper", "sqlx", "tower", "o", "infra", "debugger"];
        for target in targets {
            assert_eq!(meant_as(target), None, "{target}");
        }
        LevelFilter::iter().for_each(|level| assert_eq!(meant_as(level.as_str()), None));
    }
}
