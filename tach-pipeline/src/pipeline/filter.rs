//! Levels by target, which may change at run time.

use core::sync::atomic::{AtomicU8, Ordering};

use arc_swap::ArcSwap;
use env_filter::{Builder, Filter};
use log::{LevelFilter, Metadata};

use crate::error::Error;
use crate::level::Level;

/// Set if the filter has levels for targets.
const BY_TARGET: u8 = 1 << 7;

pub(crate) struct Filters {
    /// The most verbose level of the sinks.
    sinks: LevelFilter,
    filter: ArcSwap<Filter>,
    /// The most verbose level that is logged, and [`BY_TARGET`]: most calls load nothing else.
    summary: AtomicU8,
}

impl Filters {
    ///
    /// # Errors
    ///
    /// If `directives` can't be parsed.
    pub(crate) fn new(directives: &str, sinks: LevelFilter) -> Result<Self, Error> {
        let filters = Self {
            sinks,
            filter: ArcSwap::from_pointee(Builder::new().build()),
            summary: AtomicU8::new(0),
        };
        filters.set(directives)?;
        Ok(filters)
    }

    /// Replaces the directives.
    ///
    /// # Errors
    ///
    /// If `directives` can't be parsed. Then the old directives stay.
    pub(crate) fn set(&self, directives: &str) -> Result<(), Error> {
        // A slash begins a pattern for messages, and the filter is applied before there is one.
        if directives.contains('/') {
            return Err(Error::filter(
                "the filter has a slash, which begins a pattern for messages".to_owned(),
            ));
        }
        let filter = Builder::new()
            .try_parse(directives)
            .map_err(|error| Error::filter(error.to_string()))?
            .build();
        let most = filter.filter().min(self.sinks) as u8;
        let by_target =
            if directives.trim().parse::<LevelFilter>().is_ok() { 0 } else { BY_TARGET };
        self.filter.store(filter.into());
        // ORDERING: Relaxed: `filter` publishes itself.
        self.summary.store(most | by_target, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the most verbose level that is logged.
    pub(crate) fn most(&self) -> LevelFilter {
        // ORDERING: Relaxed, as in `set`.
        let most = self.summary.load(Ordering::Relaxed) & !BY_TARGET;
        LevelFilter::iter().nth(usize::from(most)).unwrap_or(LevelFilter::Trace)
    }

    /// Returns whether records of that level are logged for any target.
    #[inline]
    #[cfg(feature = "slog")]
    pub(crate) fn level_enabled(&self, level: Level) -> bool {
        // ORDERING: Relaxed, as in `set`.
        level.of_log() as u8 <= self.summary.load(Ordering::Relaxed) & !BY_TARGET
    }

    #[inline]
    pub(crate) fn enabled(&self, level: Level, target: &str) -> bool {
        // ORDERING: Relaxed, as in `set`.
        let summary = self.summary.load(Ordering::Relaxed);
        if level.of_log() as u8 > summary & !BY_TARGET {
            return false;
        }
        summary & BY_TARGET == 0 || self.enabled_by_target(level, target)
    }

    #[inline(never)]
    fn enabled_by_target(&self, level: Level, target: &str) -> bool {
        let metadata = Metadata::builder().level(level.of_log()).target(target).build();
        self.filter.load().enabled(&metadata)
    }
}

#[cfg(test)]
mod tests {
    use log::Level as L;

    use super::*;

    #[test]
    fn levels_are_those_of_the_target() {
        let filters = Filters::new("warn,app::db=trace,noisy=off", LevelFilter::Debug).unwrap();
        let cases = [
            (L::Warn, "other", true),
            (L::Info, "other", false),
            (L::Debug, "app::db::pool", true),
            // No sink is so verbose.
            (L::Trace, "app::db", false),
            (L::Error, "noisy", false),
        ];
        for (level, target, expected) in cases {
            assert_eq!(filters.enabled(level.into(), target), expected, "{level} {target}");
        }
        assert_eq!(filters.most(), LevelFilter::Debug);
        filters.set("info").unwrap();
        assert!(filters.enabled(L::Error.into(), "noisy"));
        assert!(!filters.enabled(L::Debug.into(), "app::db"));
        assert_eq!(filters.most(), LevelFilter::Info);
    }

    #[test]
    fn an_invalid_filter_changes_nothing() {
        let filters = Filters::new("error", LevelFilter::Trace).unwrap();
        assert!(filters.set("app=loud").unwrap_err().to_string().contains("loud"));
        assert!(filters.set("info/secret").unwrap_err().is_filter());
        assert_eq!(filters.most(), LevelFilter::Error);
    }
}
