//! Finds spans whose end was dropped because the queue was full. Otherwise they would stay open for
//! ever.

use core::mem;
use std::collections::HashSet;

/// After this many rounds, all records have been taken that were in the queues when the search
/// began.
const ROUNDS: u32 = 3;

/// Searches for spans that have ended although no record of the end will come.
#[derive(Default)]
pub(super) struct LostEnds {
    /// Whether records were dropped since the last search began.
    are_suspected: bool,
    /// The search that is under way: the spans that had ended when the search began but whose end
    /// was not taken, and the number of rounds since then.
    look: Option<(Vec<u64>, u32)>,
}

impl LostEnds {
    /// Requests that a search begins in the next round. Call after records were dropped.
    pub(super) fn suspect(&mut self) {
        self.are_suspected = true;
    }

    pub(super) fn is_looking(&self) -> bool {
        self.are_suspected || self.look.is_some()
    }

    /// Continues the search by a round. `known` are the spans whose end was not taken, and `open`
    /// returns the spans that are still open. Returns the spans whose end was dropped.
    pub(super) fn end_round(
        &mut self,
        known: impl Iterator<Item = u64>,
        open: impl FnOnce() -> HashSet<u64>,
    ) -> Vec<u64> {
        if let Some((spans, rounds)) = &mut self.look {
            *rounds += 1;
            if *rounds < ROUNDS {
                return Vec::new();
            }
            let ended = mem::take(spans);
            self.look = None;
            return ended;
        }
        if mem::take(&mut self.are_suspected) {
            let known: Vec<_> = known.collect();
            if !known.is_empty() {
                let open = open();
                self.look = Some((known.into_iter().filter(|it| !open.contains(it)).collect(), 0));
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(ends: &mut LostEnds, known: &[u64], open: &[u64]) -> Vec<u64> {
        ends.end_round(known.iter().copied(), || open.iter().copied().collect())
    }

    #[test]
    fn spans_that_ended_before_the_look_are_found_after_it() {
        let mut ends = LostEnds::default();
        assert!(round(&mut ends, &[1, 2], &[]).is_empty(), "nothing was dropped");
        ends.suspect();
        assert!(round(&mut ends, &[1, 2, 3], &[2]).is_empty());
        for _ in 1..ROUNDS {
            assert!(ends.is_looking());
            // A span that ends during a search is checked by the next search.
            assert!(round(&mut ends, &[1, 2], &[]).is_empty());
        }
        assert_eq!(round(&mut ends, &[1, 2], &[]), [1, 3]);
        assert!(!ends.is_looking());
        assert!(round(&mut ends, &[2], &[]).is_empty());
    }
}
