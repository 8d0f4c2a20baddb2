//! Where records are published, and which of them are kept: fixed memory, without locks.
//!
//! A record's piece lies in a [`Versioned`] slot under its id, which names its generation and its slot.
//! The knowledge behind it is needed only while it is the newest, and lies in one of a few other
//! slots. The head holds the id of the newest. Whoever has a successor for it writes that to free slots
//! and moves the head by a compare-exchange; of several at once one wins, and nobody waits.
//!
//! A slot's mark says whether the record in it is kept. A record that lost its race was never kept,
//! so its slot is free again; one that is given up is marked so, and readers pass over it.

use super::horizon::{Horizon, Reach};
use crate::sync::Versioned;
use crate::sync::{AtomicU64, Ordering, Padded, array_of, const_fn};

/// A record's id: its generation, then its slot. It rises with every record.
pub(crate) type Id = u64;

const SLOT_BITS: u32 = 8;

/// `SLOTS` pieces of `PIECE` words, and `KNOWLEDGE` words behind each of the `NEWEST` ones: as many
/// appenders at once less one, all stopped in the middle, make the next convert by a record that is not
/// published.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct History<
    const SLOTS: usize,
    const PIECE: usize,
    const KNOWLEDGE: usize,
    const NEWEST: usize,
> {
    /// The id of the newest record; 0 before the first.
    head: Padded<AtomicU64>,
    /// A record's is where its slot's index falls, modulo their number. It lies beside the first slots, so that a
    /// process's first records touch few pages.
    knowledge: [Versioned<KNOWLEDGE>; NEWEST],
    slots: [Slot<PIECE>; SLOTS],
}

#[derive(Debug)]
struct Slot<const WORDS: usize> {
    /// The version is the record's id.
    piece: Versioned<WORDS>,
    horizon: Horizon,
    mark: Mark,
    note: AtomicU64,
}

/// There is no free slot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// For the piece: some record must be given up.
    Pieces,
    /// For the knowledge: so many appenders are stopped in the middle.
    Knowledge,
}

impl<const SLOTS: usize, const PIECE: usize, const KNOWLEDGE: usize, const NEWEST: usize>
    History<SLOTS, PIECE, KNOWLEDGE, NEWEST>
{
    const_fn! {
        pub(crate) const fn new() -> Self {
            const { assert!(SLOTS <= 1 << SLOT_BITS) };
            Self {
                head: Padded(AtomicU64::new(0)),
                knowledge: array_of![Versioned::new(); NEWEST],
                slots: array_of![Slot::new(); SLOTS],
            }
        }
    }

    /// The id of the newest record; 0 before the first.
    pub(crate) fn head(&self) -> Id {
        // ORDERING: Acquire, with the Release in `publish`: whoever sees an id finds its record.
        self.head.0.load(Ordering::Acquire)
    }

    /// The newest record's piece and knowledge; `None` before the first.
    pub(crate) fn newest(&self) -> Option<(Id, [u64; PIECE], [u64; KNOWLEDGE])> {
        loop {
            let id = self.head();
            if id == 0 {
                return None;
            }
            // Its slots are reused only after the head has moved on.
            let knowledge = self.knowledge[slot_index(id) % NEWEST].read();
            if let (Some(piece), Some((version, knowledge))) = (self.read(id), knowledge) {
                if version == id {
                    return Some((id, piece, knowledge));
                }
            }
        }
    }

    /// The first words of a record's piece; `None` if its slot has been reused.
    pub(crate) fn read<const N: usize>(&self, id: Id) -> Option<[u64; N]> {
        let (version, words) = self.slot(id)?.piece.read()?;
        (version == id).then_some(words)
    }

    /// Returns the tick up to which the record with this knee may be used; `None` if its slot has been
    /// reused.
    #[inline(never)]
    pub(crate) fn reach(&self, id: Id, knee_tick: u64) -> Option<Reach> {
        // The version is read after the horizon, which then was this record's.
        let reach = self.slot(id)?.horizon.reach(knee_tick);
        self.read(id).map(|[]| reach)
    }

    /// Raises the tick up to which a record may be used, unless it has changed since `seen` was read.
    #[inline(never)]
    pub(crate) fn raise(&self, id: Id, seen: Reach, until: u64) {
        if let Some(slot) = self.slot(id) {
            slot.horizon.raise(seen, until);
        }
    }

    /// Ends the use of the record with this knee. Returns the tick at which its successor begins.
    #[inline(never)]
    pub(crate) fn close(&self, id: Id, knee_tick: u64) -> u64 {
        self.slot(id).map_or(knee_tick, |slot| slot.horizon.close(knee_tick))
    }

    /// Makes a record the successor of `after`, unless that has one already.
    pub(crate) fn publish(
        &self,
        after: Id,
        piece: &[u64; PIECE],
        knowledge: &[u64; KNOWLEDGE],
    ) -> Result<(), Full> {
        if let Some(slot) = self.slot(after) {
            slot.mark.keep(after);
        }
        let mut full = Full::Pieces;
        let first = slot_index(after) + 1;
        // All slots but that of `after`, and those whose knowledge would take the place of its.
        for index in (first..first + SLOTS - 1).map(|index| index % SLOTS) {
            let slot = &self.slots[index];
            let id = successor(after, index);
            let knowledge_slot = &self.knowledge[index % NEWEST];
            if index % NEWEST == slot_index(after) % NEWEST
                || slot.is_kept()
                || !slot.piece.try_write(id, piece)
            {
                continue;
            }
            // Another of this generation may be about to win: its knowledge stays.
            if !knowledge_slot.try_write_below(first_of_generation(id), id, knowledge) {
                full = Full::Knowledge;
                continue;
            }
            slot.set_note(0);
            // ORDERING: Release, with the Acquire in `head`. Relaxed on failure: the caller looks
            // again.
            let _ = self.head.0.compare_exchange(after, id, Ordering::Release, Ordering::Relaxed);
            return Ok(());
        }
        if self.head() == after { Err(full) } else { Ok(()) }
    }

    /// The first words of every piece that is kept, with its id; in no order. The newest is among them
    /// only if somebody has tried to publish its successor.
    pub(crate) fn kept<const N: usize>(&self) -> impl Iterator<Item = (Id, [u64; N])> {
        self.slots.iter().filter_map(|slot| {
            let (id, words) = slot.piece.read()?;
            slot.mark.is_kept(id).then_some((id, words))
        })
    }

    /// Gives a record up, for its slot to be reused.
    pub(crate) fn give_up(&self, id: Id) {
        if let Some(slot) = self.slot(id) {
            slot.mark.give_up(id);
        }
    }

    /// What was noted beside a record, 0 at first; another record's note if its slot was reused.
    pub(crate) fn note(&self, id: Id) -> u64 {
        // ORDERING: Relaxed, since a note only helps to choose what to give up.
        self.slot(id).map_or(0, |slot| slot.note.load(Ordering::Relaxed))
    }

    /// Notes something beside a record.
    pub(crate) fn set_note(&self, id: Id, note: u64) {
        if let Some(slot) = self.slot(id) {
            slot.set_note(note);
        }
    }

    /// Leaves a slot as a writer does that was stopped in the middle, unless its record is kept.
    #[cfg(test)]
    pub(crate) fn stall(&self, index: usize) -> bool {
        let slot = &self.slots[index];
        let free = !slot.is_kept() && slot_index(self.head()) != index;
        if free {
            slot.piece.stall();
        }
        free
    }

    /// `None` for the id of no record.
    fn slot(&self, id: Id) -> Option<&Slot<PIECE>> {
        (id != 0).then(|| self.slots.get(slot_index(id)))?
    }
}

impl<const WORDS: usize> Slot<WORDS> {
    const_fn! {
        const fn new() -> Self {
            Self {
                piece: Versioned::new(),
                horizon: Horizon::new(),
                mark: Mark::new(),
                note: AtomicU64::new(0),
            }
        }
    }

    /// Whether the record in it is kept; it may be the newest even if not.
    fn is_kept(&self) -> bool {
        self.piece.read().is_some_and(|(id, [])| self.mark.is_kept(id))
    }

    fn set_note(&self, note: u64) {
        // ORDERING: Relaxed, see `History::note`.
        self.note.store(note, Ordering::Relaxed);
    }
}

/// Whether a slot's record is kept: twice the id of the last that was, and one more since that was
/// given up. It only rises, so whoever comes late changes nothing.
#[derive(Debug)]
struct Mark(AtomicU64);

impl Mark {
    const_fn! {
        const fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    fn is_kept(&self, id: Id) -> bool {
        // ORDERING: Relaxed: the record is read and checked by its own version.
        id != 0 && self.0.load(Ordering::Relaxed) == id << 1
    }

    fn keep(&self, id: Id) {
        // ORDERING: Relaxed, as above.
        self.0.fetch_max(id << 1, Ordering::Relaxed);
    }

    fn give_up(&self, id: Id) {
        // ORDERING: Relaxed, as above.
        self.0.fetch_max(id << 1 | 1, Ordering::Relaxed);
    }
}

/// The id of the record after `after`, in the slot `index`.
fn successor(after: Id, index: usize) -> Id {
    ((after >> SLOT_BITS) + 1) << SLOT_BITS | index as u64
}

/// The least id of the same generation.
fn first_of_generation(id: Id) -> Id {
    id >> SLOT_BITS << SLOT_BITS
}

fn slot_index(id: Id) -> usize {
    (id & ((1 << SLOT_BITS) - 1)) as usize
}

#[cfg(all(test, loom))]
mod loom_models {
    use loom::model;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Of its three free slots two share a slot for knowledge.
    type Small = History<4, 2, 1, 3>;

    /// A history of one record, and its id.
    fn begun() -> (Arc<Small>, Id) {
        let history = Small::new();
        history.publish(0, &[1, 1], &[1]).expect("there is room");
        let first = history.head();
        (Arc::new(history), first)
    }

    #[test]
    fn whoever_sees_an_id_finds_its_record() {
        model(|| {
            let (history, first) = begun();
            let reader = thread::spawn({
                let history = Arc::clone(&history);
                move || {
                    let id = history.head();
                    let words = history.read(id);
                    let generation = id >> SLOT_BITS;
                    assert_eq!(words, Some([generation, generation]));
                }
            });
            history.publish(first, &[2, 2], &[2]).expect("there is room");
            reader.join().expect("the reader ends");
        });
    }

    #[test]
    fn whoever_sees_a_successor_finds_its_predecessor_kept() {
        model(|| {
            let (history, first) = begun();
            let reader = thread::spawn({
                let history = Arc::clone(&history);
                move || {
                    if history.head() != first {
                        let kept: Vec<(Id, [u64; 2])> = history.kept().collect();
                        assert!(kept.contains(&(first, [1, 1])), "{kept:?}");
                    }
                }
            });
            history.publish(first, &[2, 2], &[2]).expect("there is room");
            reader.join().expect("the reader ends");
        });
    }

    #[test]
    fn of_two_successors_one_wins() {
        model(|| {
            let (history, first) = begun();
            let other = thread::spawn({
                let history = Arc::clone(&history);
                move || {
                    history.publish(first, &[2, 20], &[20]).expect("there is room");
                    history.newest().expect("it has begun")
                }
            });
            history.publish(first, &[2, 30], &[30]).expect("there is room");
            let (id, [_, mine], [knowledge]) = history.newest().expect("it has begun");
            assert_eq!((id >> SLOT_BITS, mine), (2, knowledge));
            assert_eq!(other.join().expect("the other ends"), (id, [2, mine], [knowledge]));
        });
    }

    #[test]
    fn what_is_newest_is_never_overwritten() {
        model(|| {
            let (history, first) = begun();
            let reader = thread::spawn({
                let history = Arc::clone(&history);
                move || {
                    let (id, [generation, _], [knowledge]) =
                        history.newest().expect("it has begun");
                    assert_eq!((id >> SLOT_BITS, generation), (generation, knowledge));
                }
            });
            history.publish(first, &[2, 2], &[2]).expect("there is room");
            let second = history.head();
            history.give_up(first);
            history.publish(second, &[3, 3], &[3]).expect("there is room");
            reader.join().expect("the reader ends");
        });
    }
}
