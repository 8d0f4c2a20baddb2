//! A limit on the records that a callsite logs each second.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::queue::file::RingFile;
use crate::sync::Switch;

/// How many callsites have counts in one table.
const CALLSITES: usize = 4096;
/// How many slots of a table are tried for a callsite. If other callsites have all of them, the
/// callsite counts in the next table.
const PLACES: usize = 16;
/// The lowest bit of the second in a window. The count of records is below.
const SECOND_SHIFT: u32 = 32;

/// A place in the source that logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Callsite<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: u32,
}

impl Callsite<'_> {
    /// Returns a number other than zero that no other callsite has, unless a file has more than
    /// 65,535 lines.
    #[inline]
    fn key(self) -> u64 {
        self.file.as_ptr().addr() as u64 ^ (u64::from(self.line) + 1).rotate_left(48)
    }
}

pub(crate) struct Limits {
    most: u32,
    /// Of the records over the limit, one in so many is accepted too. Zero for none.
    each: u32,
    /// The file that counts the records over the limit, if records are to outlive the process.
    file: Option<Arc<dyn RingFile>>,
    slots: Box<[Slot]>,
    /// Whether records were refused since the last report.
    are_exceeded: Switch,
    /// The limits of the callsites that found no place.
    next: OnceLock<Box<Self>>,
}

#[derive(Default)]
struct Slot {
    /// The callsite's key, file and line. The file is copied: a library may be unloaded.
    callsite: OnceLock<(u64, Box<str>, u32)>,
    /// A second, and how many records were logged in it.
    window: AtomicU64,
    refused: AtomicU64,
}

impl Limits {
    /// Accepts `most` records of each callsite each second, and one in `each` of those over the
    /// limit unless `each` is zero. Counts the others in `file` too.
    pub(crate) fn new(most: u32, each: u32, file: Option<&Arc<dyn RingFile>>) -> Self {
        let slots = (0..CALLSITES).map(|_| Slot::default()).collect();
        let (are_exceeded, next) = (Switch::default(), OnceLock::new());
        Self { most, each, file: file.map(Arc::clone), slots, are_exceeded, next }
    }

    /// Counts a record of the Unix second `second`, and returns whether it is within the limit.
    pub(crate) fn accept(&self, callsite: Callsite<'_>, second: u64) -> bool {
        let Some(slot) = self.slot(callsite) else { return self.next().accept(callsite, second) };
        let over = slot.count(second).saturating_sub(u64::from(self.most));
        let is_accepted = over.checked_rem(self.each.into()).unwrap_or(over) == 0;
        if !is_accepted {
            // ORDERING: Relaxed: publishes only itself. A report that sees the flag without the
            // count leaves the count for the next report.
            slot.refused.fetch_add(1, Ordering::Relaxed);
            self.are_exceeded.on();
            if let Some(file) = &self.file {
                file.dropped(1);
            }
        }
        is_accepted
    }

    /// Returns the next table. Allocates before the lock is taken: the allocator may log.
    #[cold]
    fn next(&self) -> &Self {
        self.next.get().unwrap_or_else(|| {
            let new = Box::new(Self::new(self.most, self.each, self.file.as_ref()));
            self.next.get_or_init(|| new)
        })
    }

    fn slot(&self, callsite: Callsite<'_>) -> Option<&Slot> {
        let key = callsite.key();
        // A multiplication spreads the bits of an address: the upper ones are the best.
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
        let first = usize::try_from(hash).unwrap_or(0);
        (first..first + PLACES).map(|at| &self.slots[at % CALLSITES]).find(|slot| {
            let known = slot.callsite.get().unwrap_or_else(|| {
                // Allocate before the lock of `callsite` is taken: the allocator may log, and would
                // take it again.
                let new = (key, callsite.file.into(), callsite.line);
                slot.callsite.get_or_init(|| new)
            });
            known.0 == key
        })
    }

    /// Calls `each` with the callsites that had records refused since the last call, and how many.
    pub(crate) fn take_refused(&self, each: &mut dyn FnMut(Callsite<'_>, u64)) {
        if let Some(next) = self.next.get() {
            next.take_refused(each);
        }
        if !self.are_exceeded.off() {
            return;
        }
        for slot in &self.slots {
            // ORDERING: Relaxed: publishes only itself.
            let refused = slot.refused.swap(0, Ordering::Relaxed);
            if let Some((_, file, line)) = slot.callsite.get().filter(|_| refused > 0) {
                each(Callsite { file, line: *line }, refused);
            }
        }
    }

    /// Returns whether records were refused since the last report.
    pub(crate) fn are_exceeded(&self) -> bool {
        self.are_exceeded.is_on() || self.next.get().is_some_and(|next| next.are_exceeded())
    }
}

impl Slot {
    /// Returns how many records were logged in this second, with this one.
    fn count(&self, second: u64) -> u64 {
        let fresh = second << SECOND_SHIFT | 1;
        // ORDERING: Relaxed: publishes only itself.
        let update = self.window.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |window| {
            Some(if window >> SECOND_SHIFT == fresh >> SECOND_SHIFT { window + 1 } else { fresh })
        });
        let (Ok(before) | Err(before)) = update;
        if before >> SECOND_SHIFT == fresh >> SECOND_SHIFT {
            (before & u64::from(u32::MAX)) + 1
        } else {
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const HERE: Callsite<'static> = Callsite { file: "src/here.rs", line: 7 };

    fn accepted(limits: &Limits, callsite: Callsite<'_>, second: u64, records: u32) -> usize {
        (0..records).filter(|_| limits.accept(callsite, second)).count()
    }

    fn refused(limits: &Limits) -> Vec<(Callsite<'static>, u64)> {
        let mut all = Vec::new();
        limits.take_refused(&mut |Callsite { file, line }, count| {
            assert_eq!(file, HERE.file);
            all.push((Callsite { line, ..HERE }, count));
        });
        all
    }

    #[test]
    fn each_callsite_has_its_records_each_second() {
        let limits = Limits::new(3, 0, None);
        let there = Callsite { line: 8, ..HERE };
        assert_eq!(accepted(&limits, HERE, 1, 5), 3);
        assert_eq!(accepted(&limits, there, 1, 3), 3);
        assert_eq!(accepted(&limits, HERE, 2, 2), 2);
        assert_eq!(accepted(&limits, HERE, 2, 2), 1);
        // First the clock was set back. Then it shows a second that is too large for the window.
        assert_eq!(accepted(&limits, HERE, 1, 4), 3);
        assert_eq!(accepted(&limits, HERE, u64::MAX, 4), 3);
        assert!(limits.are_exceeded());
        assert_eq!(refused(&limits), [(HERE, 5)]);
        assert_eq!((refused(&limits), limits.are_exceeded()), (vec![], false));
    }

    #[test]
    fn one_in_so_many_records_over_a_limit_is_accepted_too() {
        let limits = Limits::new(3, 10, None);
        let numbers = (1..=33).filter(|_| limits.accept(HERE, 1)).count();
        assert_eq!((numbers, refused(&limits)), (6, vec![(HERE, 27)]));
        let limits = Limits::new(1, 1, None);
        assert_eq!((accepted(&limits, HERE, 1, 9), limits.are_exceeded()), (9, false));
        let next = Limits::new(1, 2, None);
        assert_eq!(accepted(next.next(), HERE, 1, 9), 5, "a further table has the same limit");
    }

    #[test]
    fn threads_share_a_limit() {
        let limits = Limits::new(1_000, 0, None);
        let each = || accepted(&limits, HERE, 1, 1_000);
        let sum: usize = thread::scope(|scope| {
            let all = [(); 4].map(|()| scope.spawn(each));
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!((sum, refused(&limits)), (1_000, vec![(HERE, 3_000)]));
    }

    #[test]
    fn callsites_beyond_a_table_are_limited_too() {
        let limits = Limits::new(1, 0, None);
        let count = 3 * CALLSITES;
        let all = (0..u32::try_from(count).unwrap()).map(|line| Callsite { line, ..HERE });
        for callsite in all {
            assert_eq!(accepted(&limits, callsite, 1, 3), 1, "{callsite:?}");
        }
        let refused = refused(&limits);
        assert_eq!((refused.len(), refused.iter().all(|(_, count)| *count == 2)), (count, true));
    }
}
