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

/// Returns the level that a word without `=` was meant to be, if it is hardly a target. As a target
/// it would select the records of no module, and switch all others off.
pub(super) fn meant_as(word: &str) -> Option<LevelFilter> {
    let word = word.to_lowercase();
    let is_other = |(_, names): &&(LevelFilter, &[&str])| names.contains(&&*word);
    OTHER_NAMES.iter().find(is_other).map(|(level, _)| *level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_name_of_a_level_is_no_target() {
        for (word, level) in [("WARNING", LevelFilter::Warn), ("none", LevelFilter::Off)] {
            assert_eq!(meant_as(word), Some(level), "{word}");
        }
        for target in ["app", "my_app", "warp", "hyper", "sqlx", "tower", "o", "infra", "debugger"]
        {
            assert_eq!(meant_as(target), None, "{target}");
        }
        LevelFilter::iter().for_each(|level| assert_eq!(meant_as(level.as_str()), None));
    }
}
