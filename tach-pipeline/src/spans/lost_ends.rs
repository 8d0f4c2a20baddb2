//! Spans whose end was dropped, because the queue was full. They would stay open for ever.

use core::mem;
use std::collections::HashSet;

/// After so many rounds a record has been taken that was in its queue before.
const ROUNDS: u32 = 3;

/// Finds spans that have ended without a record of it.
#[derive(Default)]
pub(super) struct LostEnds {
    /// Whether records were dropped since the last look.
    are_suspected: bool,
    /// Spans that had ended when the look began, and how many rounds ago that was.
    look: Option<(Vec<u64>, u32)>,
}

impl LostEnds {
    /// Has the next round look, since records were dropped.
    pub(super) fn suspect(&mut self) {
        self.are_suspected = true;
    }

    pub(super) fn is_looking(&self) -> bool {
        self.are_suspected || self.look.is_some()
    }

    /// Proceeds by a round. `known` are the spans whose end has not been taken, and `open` returns
    /// those that are open. Returns the spans whose end was dropped.
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
            let open = open();
            self.look = Some((known.filter(|span| !open.contains(span)).collect(), 0));
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
            // A span that ends meanwhile has time until the next look.
            assert!(round(&mut ends, &[1, 2], &[]).is_empty());
        }
        assert_eq!(round(&mut ends, &[1, 2], &[]), [1, 3]);
        assert!(!ends.is_looking());
        assert!(round(&mut ends, &[2], &[]).is_empty());
    }
}
