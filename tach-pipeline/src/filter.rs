//! Levels by target, which may change at run time.

mod levels;
mod words;

use core::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;

use arc_swap::ArcSwap;
use log::LevelFilter;

pub(crate) use self::levels::{Levels, OWN_TARGET, Only};
use crate::level::Level;
use crate::sync::{Lock, Switch};

/// Set if the filter has levels for targets.
const BY_TARGET: u8 = 1 << 7;

/// The filter of a pipeline.
pub(crate) struct Filters {
    /// What each sink takes, in the order of [`Counts::sinks`](crate::stats::Counts), and after
    /// them what a flight recorder and durations take.
    takers: ArcSwap<Vec<Levels>>,
    /// Which records are written.
    levels: ArcSwap<Levels>,
    /// Which other records are kept for a backtrace.
    pub(crate) kept: Option<Levels>,
    /// The most verbose level that is logged, and [`BY_TARGET`]: most calls load nothing else.
    summary: AtomicU8,
    /// Held while a filter is replaced, so that `summary` matches the last filters.
    changes: Lock<Changes>,
    /// Whether the pipeline is the logger of `log`, which has a copy of the most verbose level.
    pub(crate) is_logger: Switch,
    /// Whether the pipeline is a layer of a subscriber, which may forward the records of `log`.
    pub(crate) is_layer: Switch,
}

/// The changes of the levels that are written.
#[derive(Default)]
struct Changes {
    count: u64,
    /// The levels to return to when the time of the present levels is over.
    lasting: Option<Arc<Levels>>,
}

impl Filters {
    pub(crate) fn new(levels: Levels, kept: Option<Levels>, takers: Vec<Levels>) -> Self {
        let filters = Self {
            takers: ArcSwap::from_pointee(takers),
            levels: ArcSwap::from_pointee(Levels::all(LevelFilter::Off)),
            kept,
            summary: AtomicU8::new(0),
            changes: Lock::default(),
            is_logger: Switch::default(),
            is_layer: Switch::default(),
        };
        filters.set(levels);
        filters
    }

    /// Replaces the levels.
    pub(crate) fn set(&self, levels: Levels) {
        let mut changes = self.changes.lock();
        changes.count += 1;
        changes.lasting = None;
        self.levels.store(levels.into());
        self.summarize();
    }

    /// Replaces the levels until [`restore`](Self::restore) is called with the number returned.
    pub(crate) fn set_for_now(&self, levels: Levels) -> u64 {
        let mut changes = self.changes.lock();
        changes.count += 1;
        let before = self.levels.swap(levels.into());
        changes.lasting.get_or_insert(before);
        self.summarize();
        changes.count
    }

    /// Returns to the levels before those that were set for now, unless they changed since.
    pub(crate) fn restore(&self, change: u64) -> bool {
        let mut changes = self.changes.lock();
        let is_last = changes.count == change;
        let Some(lasting) = changes.lasting.take_if(|_| is_last) else { return false };
        self.levels.store(lasting);
        self.summarize();
        true
    }

    /// Takes over the filters of a pipeline with the same sinks, except levels that are set for a
    /// time. Waits for no lock: in a forked child, nobody may be left to release the other's.
    pub(crate) fn inherit(&self, other: &Self) {
        let lasting = other.changes.try_lock().and_then(|changes| changes.lasting.clone());
        self.takers.store(other.takers.load_full());
        self.levels.store(lasting.unwrap_or_else(|| other.levels.load_full()));
        self.summarize();
        if other.is_logger.is_on() {
            self.is_logger.on();
        }
        if other.is_layer.is_on() {
            self.is_layer.on();
        }
    }

    /// Returns the directives of the levels that are written.
    pub(crate) fn directives(&self) -> String {
        self.levels.load().directives().to_owned()
    }

    /// Replaces the levels of the sinks whose index `is_changed` accepts. Their functions stay.
    pub(crate) fn set_sinks(&self, levels: &Levels, is_changed: impl Fn(usize) -> bool) {
        self.change_takers(|takers| {
            for (_, taker) in takers.iter_mut().enumerate().filter(|(at, _)| is_changed(*at)) {
                *taker = levels.clone().only(taker.only.take());
            }
        });
    }

    /// Replaces what each sink takes by what `change` makes of it.
    pub(crate) fn change_takers(&self, change: impl FnOnce(&mut Vec<Levels>)) {
        let _one_at_a_time = self.changes.lock();
        let mut takers = Vec::clone(&self.takers.load());
        change(&mut takers);
        self.takers.store(takers.into());
        self.summarize();
    }

    fn summarize(&self) {
        let (levels, kept) = (self.levels.load(), self.kept.as_ref());
        let most = kept.map_or(levels.most, |kept| kept.most.max(levels.most));
        let takers = self.takers.load().iter().map(Levels::most).max();
        let most = most.min(takers.unwrap_or(LevelFilter::Off)) as u8;
        let is_by_target = levels.is_by_target || kept.is_some_and(|kept| kept.is_by_target);
        let by_target = if is_by_target { BY_TARGET } else { 0 };
        // ORDERING: Relaxed: `levels` publishes itself.
        self.summary.store(most | by_target, Ordering::Relaxed);
    }

    /// Returns what each sink takes.
    pub(crate) fn takers(&self) -> Arc<Vec<Levels>> {
        self.takers.load_full()
    }

    /// Returns what each sink takes, unless that is `known`.
    pub(crate) fn new_takers(&self, known: &Arc<Vec<Levels>>) -> Option<Arc<Vec<Levels>>> {
        let takers = self.takers.load();
        (!Arc::ptr_eq(&takers, known)).then(|| Arc::clone(&takers))
    }

    /// Returns the most verbose level that is logged.
    pub(crate) fn most(&self) -> LevelFilter {
        // ORDERING: Relaxed: `levels` publishes itself.
        let most = self.summary.load(Ordering::Relaxed) & !BY_TARGET;
        LevelFilter::iter().nth(usize::from(most)).unwrap_or(LevelFilter::Trace)
    }

    #[inline]
    pub(crate) fn enabled(&self, level: Level, target: &str) -> bool {
        // ORDERING: Relaxed: `levels` publishes itself.
        let summary = self.summary.load(Ordering::Relaxed);
        // With `BY_TARGET`, `summary` is greater than the rank of any level.
        level.rank() <= summary
            && (summary & BY_TARGET == 0 || self.enabled_by_target(summary, level, target))
    }

    #[inline(never)]
    fn enabled_by_target(&self, summary: u8, level: Level, target: &str) -> bool {
        if level.rank() > summary & !BY_TARGET {
            return false;
        }
        self.levels.load().enabled_by_target(level, target)
            || self.kept.as_ref().is_some_and(|kept| kept.enabled_by_target(level, target))
    }

    /// Returns whether such a record is written, and not only kept.
    pub(crate) fn are_written(&self, level: Level, target: &str) -> bool {
        self.levels.load().enabled(level, target)
    }
}

#[cfg(test)]
mod tests {
    use log::Level as L;

    use super::*;

    fn levels(directives: &str) -> Levels {
        Levels::parse(directives).unwrap()
    }

    #[test]
    fn levels_are_those_of_the_target() {
        let filters =
            Filters::new(levels("warn,app::db=trace,noisy=off"), None, vec![levels("debug")]);
        let cases = [
            (L::Warn, "other", true),
            (L::Info, "other", false),
            (L::Debug, "app::db::pool", true),
            // No sink takes records of this level.
            (L::Trace, "app::db", false),
            (L::Error, "noisy", false),
        ];
        for (level, target, expected) in cases {
            assert_eq!(filters.enabled(level.into(), target), expected, "{level} {target}");
        }
        assert_eq!(filters.most(), LevelFilter::Debug);
        filters.set(levels("info"));
        assert!(filters.enabled(L::Error.into(), "noisy"));
        assert!(!filters.enabled(L::Debug.into(), "app::db"));
        assert_eq!(filters.most(), LevelFilter::Info);
        filters.set_sinks(&levels("warn"), |at| at == 0);
        assert!(!filters.enabled(L::Info.into(), "noisy"));
        assert_eq!(filters.most(), LevelFilter::Warn);
    }
}
