//! Random ids, as W3C's trace context asks for.

use core::cell::RefCell;
use core::hash::BuildHasher as _;
use std::hash::RandomState;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

thread_local! {
    static IDS: RefCell<Option<Ids>> = const { RefCell::new(None) };
}

/// A thread's generator of ids.
pub(super) struct Ids {
    /// The pipeline that it was seeded for. A forked process has a copy of the generator: its spans
    /// are those of another pipeline, or are not sent and have no header.
    pipeline: u64,
    random: SmallRng,
}

/// Calls `f` with the thread's generator, or with a new one while the thread ends.
#[inline]
pub(super) fn with<R>(pipeline: u64, f: impl Fn(&mut Ids) -> R) -> R {
    let known = IDS.try_with(|ids| {
        let mut ids = ids.try_borrow_mut().ok()?;
        Some(f(ids.as_mut().filter(|ids| ids.pipeline == pipeline)?))
    });
    known.ok().flatten().unwrap_or_else(|| seeded(pipeline, f))
}

/// Like [`with`], with a generator that is seeded first.
#[cold]
fn seeded<R>(pipeline: u64, f: impl Fn(&mut Ids) -> R) -> R {
    let known = IDS.try_with(|ids| {
        let mut ids = ids.try_borrow_mut().ok()?;
        Some(f(ids.insert(Ids::new(pipeline))))
    });
    known.ok().flatten().unwrap_or_else(|| f(&mut Ids::new(pipeline)))
}

impl Ids {
    #[cold]
    fn new(pipeline: u64) -> Self {
        let random = SmallRng::try_from_os_rng();
        // Without the OS's random bytes the keys of hash maps are random still.
        let seed = || SmallRng::seed_from_u64(RandomState::new().hash_one(pipeline));
        Self { pipeline, random: random.unwrap_or_else(|_| seed()) }
    }

    #[inline]
    pub(super) fn trace(&mut self) -> u128 {
        u128::from(self.random.random::<u64>()) << u64::BITS | u128::from(self.span())
    }

    #[inline]
    pub(super) fn span(&mut self) -> u64 {
        match self.random.random() {
            0 => 1,
            span => span,
        }
    }
}

/// 2^64 by the golden ratio, and the number by which a product with it is undone.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
const UNDO: u64 = 0xF1DE_83E1_9937_733D;
const _: () = assert!(FACTOR.wrapping_mul(UNDO) == 1, "each undoes the other");

/// Returns the id of a span with that number. `secret` is random, so the id is too. Spans with
/// different numbers have different ids, except for one pair of the 2^64 numbers: zero is no id, so
/// the number that leads to it shares the id 1 with another number.
#[inline]
pub(super) const fn id(secret: u64, number: u64) -> u64 {
    let id = (secret ^ number).wrapping_mul(FACTOR);
    match id ^ id >> u32::BITS {
        0 => 1,
        id => id,
    }
}

/// Returns the number of the span with that id. The span need not exist.
#[inline]
pub(super) const fn number(secret: u64, id: u64) -> u64 {
    (id ^ id >> u32::BITS).wrapping_mul(UNDO) ^ secret
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::*;

    #[test]
    fn ids_differ_between_calls_threads_and_pipelines() {
        const COUNT: u64 = 1_000;
        let ids =
            |pipeline| (0..COUNT).map(move |_| with(pipeline, |ids| (ids.trace(), ids.span())));
        let mut all: HashSet<_> = ids(1).chain(ids(2)).chain(ids(1)).collect();
        all.extend(thread::spawn(move || ids(1).collect::<Vec<_>>()).join().unwrap());
        assert_eq!(all.len() as u64, 4 * COUNT);
        let spans: HashSet<_> = all.iter().map(|(_, span)| span).collect();
        assert_eq!(spans.len(), all.len());
    }

    #[test]
    fn an_id_leads_to_its_number() {
        for secret in [0, 1, u64::MAX, FACTOR, with(1, Ids::span)] {
            let numbers = (0..64).flat_map(|bit| [1 << bit, u64::MAX >> bit]);
            for known in numbers.filter(|known| *known != secret) {
                assert_eq!(number(secret, id(secret, known)), known);
            }
            // That one has no id of its own.
            assert_eq!((id(secret, secret), number(secret, 0)), (1, secret));
        }
    }

    /// As in a forked process, which has the parent's generator.
    #[test]
    fn another_pipeline_has_another_seed() {
        let mut ids = Ids::new(1);
        let copy = || Some(Ids { pipeline: 1, random: ids.random.clone() });
        IDS.with(|known| *known.borrow_mut() = copy());
        let of_fork = with(2, Ids::span);
        assert_ne!(of_fork, ids.span());
        // The control: the same pipeline goes on with the same seed.
        let mut ids = Ids::new(1);
        IDS.with(|known| {
            *known.borrow_mut() = Some(Ids { pipeline: 1, random: ids.random.clone() });
        });
        assert_eq!(with(1, Ids::span), ids.span());
    }
}
