//! The published records, in fixed memory and without locks.
//!
//! A record's piece lies in a [`Versioned`] slot under the record's id, which consists of a
//! generation and the slot's index. The knowledge behind the piece is needed only while the record
//! is the newest, and lies in one of a few other slots. The head holds the newest record's id. A
//! thread that has a successor for that record writes it to free slots and moves the head by a
//! compare-exchange. Of several concurrent threads one wins, and none waits.
//!
//! A slot's mark says whether its record is kept. A record that lost its race was never kept, so
//! its slot is still free. A record that is given up is marked so, and readers skip it.

use super::horizon::{Horizon, Reach};
use crate::sync::Versioned;
use crate::sync::{AtomicU64, Ordering, array_of, const_fn};

/// A record's id: its generation, then its slot's index. It rises with every record.
pub(crate) type Id = u64;

const SLOT_BITS: u32 = 8;

/// `SLOTS` pieces of `PIECE` words, and `NEWEST` slots of `KNOWLEDGE` words for the newest records.
/// If `NEWEST - 1` concurrent appenders are all stopped in the middle, the next one converts by a
/// record that is not published.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct History<
    const SLOTS: usize,
    const PIECE: usize,
    const KNOWLEDGE: usize,
    const NEWEST: usize,
> {
    /// The id of the newest record; 0 before the first.
    head: AtomicU64,
    /// A record's knowledge is at its slot's index modulo `NEWEST`. It lies beside the first slots,
    /// so that a process's first records touch few pages.
    knowledge: [Versioned<KNOWLEDGE>; NEWEST],
    slots: [Slot<PIECE>; SLOTS],
}

#[derive(Debug)]
struct Slot<const WORDS: usize> {
    /// The version is the record's id.
    piece: Versioned<WORDS>,
    horizon: Horizon,
    mark: Mark,
}

/// The reason why there is no free slot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// No slot is free for the piece: some record must be given up.
    Pieces,
    /// No slot is free for the knowledge: too many appenders are stopped in the middle.
    Knowledge,
}

impl<const SLOTS: usize, const PIECE: usize, const KNOWLEDGE: usize, const NEWEST: usize>
    History<SLOTS, PIECE, KNOWLEDGE, NEWEST>
{
    const_fn! {
        pub(crate) const fn new() -> Self {
            const { assert!(SLOTS <= 1 << SLOT_BITS) };
            Self {
                head: AtomicU64::new(0),
                knowledge: array_of![Versioned::new(); NEWEST],
                slots: array_of![Slot::new(); SLOTS],
            }
        }
    }

    /// Returns the id of the newest record, or 0 before the first.
    pub(crate) fn head(&self) -> Id {
        // ORDERING: Acquire, pairs with the Release in `publish`: a thread that sees an id finds
        // its record.
        self.head.load(Ordering::Acquire)
    }

    /// Returns the newest record's id, and the first words of its piece and of its knowledge.
    /// `None` before the first record.
    pub(crate) fn newest<const P: usize, const K: usize>(
        &self,
    ) -> Option<(Id, [u64; P], [u64; K])> {
        loop {
            let id = self.head();
            if id == 0 {
                return None;
            }
            // The record's slots are reused only after the head has moved on: then the next round
            // finds the new head.
            let knowledge = self.knowledge[slot_index(id) % NEWEST].read();
            if let (Some(piece), Some((version, knowledge))) = (self.read(id), knowledge) {
                if version == id {
                    return Some((id, piece, knowledge));
                }
            }
        }
    }

    /// Returns the first words of a record's piece, or `None` if its slot has been reused.
    pub(crate) fn read<const N: usize>(&self, id: Id) -> Option<[u64; N]> {
        // `read_any` suffices: an id equals no version of a cell that is empty or being written.
        let (version, words) = self.slot(id)?.piece.read_any()?;
        (version == id).then_some(words)
    }

    /// Returns the tick up to which the record with this knee may be used, or `None` if its slot
    /// has been reused.
    #[inline(never)]
    pub(crate) fn reach(&self, id: Id, knee_tick: u64) -> Option<Reach> {
        // Read the version after the horizon: if the version is still this record's, so was the
        // horizon.
        let reach = self.slot(id)?.horizon.reach(knee_tick);
        self.read(id).map(|[]| reach)
    }

    /// Raises the tick up to which a record may be used, if it has not changed since `seen` was
    /// read.
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

    /// Publishes a record as the successor of `after`, unless `after` already has one.
    pub(crate) fn publish(
        &self,
        after: Id,
        piece: &[u64; PIECE],
        knowledge: &[u64; KNOWLEDGE],
    ) -> Result<(), Full> {
        if let Some(slot) = self.slot(after) {
            slot.mark.raise(after, 0);
        }
        let mut full = Full::Pieces;
        // Try the slots that follow the slot of `after`. Skip those that would overwrite the
        // knowledge of `after`, which readers need until the head has moved on.
        for ahead in 1..SLOTS {
            let index = (slot_index(after) + ahead) % SLOTS;
            let slot = &self.slots[index];
            let id = successor(after, index);
            let knowledge_slot = &self.knowledge[index % NEWEST];
            if index % NEWEST == slot_index(after) % NEWEST
                || slot.is_kept()
                || !slot.piece.try_write(id, piece)
            {
                continue;
            }
            // Keep the knowledge of another record of this generation: that record may be about to
            // become the head.
            if !knowledge_slot.try_write_below(first_of_generation(id), id, knowledge) {
                full = Full::Knowledge;
                continue;
            }
            // ORDERING: Release, pairs with the Acquire in `head`: publishes the record, and the
            // mark that keeps its predecessor. Relaxed on failure: the caller reads the head again.
            let _ = self.head.compare_exchange(after, id, Ordering::Release, Ordering::Relaxed);
            return Ok(());
        }
        if self.head() == after { Err(full) } else { Ok(()) }
    }

    /// Fills `ids` with the ids of `newest` and of the kept records before it, in order.
    pub(crate) fn in_order<'a>(&self, newest: Id, ids: &'a mut [Id; SLOTS]) -> &'a [Id] {
        let mut count = 0;
        for slot in &self.slots {
            let Some((id, [])) = slot.read(newest) else { continue };
            // An insertion sort suffices: the slots are nearly in order.
            let mut at = count;
            while at > 0 && ids[at - 1] > id {
                at -= 1;
            }
            ids.copy_within(at..count, at + 1);
            ids[at] = id;
            count += 1;
        }
        &ids[..count]
    }

    /// Returns the id of the record in a slot, the first words of its piece, and the tick up to
    /// which it may be used, unless that is before its knee. `None` if the record is neither
    /// `newest` nor a kept one before it.
    #[inline]
    pub(crate) fn in_slot<const N: usize>(
        &self,
        index: usize,
        newest: Id,
    ) -> Option<(Id, [u64; N], u64)> {
        let slot = self.slots.get(index)?;
        // Read the version after the horizon: if the version is still this record's, so was the
        // horizon.
        let until = slot.horizon.reach(0).until;
        slot.read(newest).map(|(id, words)| (id, words, until))
    }

    /// Gives up a record, so that its slot can be reused.
    pub(crate) fn give_up(&self, id: Id) {
        if let Some(slot) = self.slot(id) {
            slot.mark.raise(id, GIVEN_UP);
        }
    }

    /// Returns the note on a kept record, 0 at first.
    pub(crate) fn note(&self, id: Id) -> u32 {
        self.slot(id).map_or(0, |slot| slot.mark.note(id))
    }

    /// Raises the note on a kept record to `note`, which must have less than [`NOTE_BITS`] bits.
    pub(crate) fn raise_note(&self, id: Id, note: u32) {
        if let Some(slot) = self.slot(id) {
            slot.mark.raise(id, note);
        }
    }

    /// Leaves a slot as a writer that was stopped in the middle of a write would, unless the slot's
    /// record is kept. Returns whether it did.
    #[cfg(test)]
    pub(crate) fn stall(&self, index: usize) -> bool {
        let slot = &self.slots[index];
        let free = !slot.is_kept() && slot_index(self.head()) != index;
        if free {
            slot.piece.stall();
        }
        free
    }

    /// Returns the slot of a record, or `None` if the id is 0.
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
            }
        }
    }

    /// Returns the id and the first words of the slot's record, if that is `newest` or a kept one
    /// before it.
    #[inline]
    fn read<const N: usize>(&self, newest: Id) -> Option<(Id, [u64; N])> {
        let (id, words) = self.piece.read()?;
        (id == newest || id < newest && self.mark.is_kept(id)).then_some((id, words))
    }

    /// Returns whether the slot's record is kept. A record that is not kept may be the newest.
    fn is_kept(&self) -> bool {
        self.piece.read().is_some_and(|(id, [])| self.mark.is_kept(id))
    }
}

/// A slot's mark: the generation of the last record that was kept, and a note on the record, or
/// [`GIVEN_UP`]. It only rises, so a thread that comes late changes nothing.
///
/// At one record per 10 ms, generations last for 300 years.
#[derive(Debug)]
struct Mark(AtomicU64);

/// The number of bits of a note.
pub(crate) const NOTE_BITS: u32 = 24;
/// The note on a record that was given up.
const GIVEN_UP: u32 = (1 << NOTE_BITS) - 1;

impl Mark {
    const_fn! {
        const fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// Returns the note on a record; [`GIVEN_UP`] if the record is not kept.
    #[inline]
    fn note(&self, id: Id) -> u32 {
        // ORDERING: Relaxed. The note publishes nothing: readers check the record by the version in
        // its slot.
        let mark = self.0.load(Ordering::Relaxed);
        let note = mark.wrapping_sub(id >> SLOT_BITS << NOTE_BITS);
        u32::try_from(note).unwrap_or(GIVEN_UP).min(GIVEN_UP)
    }

    #[inline]
    fn is_kept(&self, id: Id) -> bool {
        self.note(id) != GIVEN_UP
    }

    /// Keeps a record, and raises the note on it.
    fn raise(&self, id: Id, note: u32) {
        // ORDERING: Relaxed. The note publishes nothing: readers check the record by the version in
        // its slot.
        self.0.fetch_max(id >> SLOT_BITS << NOTE_BITS | u64::from(note), Ordering::Relaxed);
    }
}

/// Returns the id of the successor of `after` in the slot `index`.
fn successor(after: Id, index: usize) -> Id {
    ((after >> SLOT_BITS) + 1) << SLOT_BITS | index as u64
}

fn first_of_generation(id: Id) -> Id {
    id >> SLOT_BITS << SLOT_BITS
}

/// Returns the index of a record's slot.
pub(crate) fn slot_index(id: Id) -> usize {
    (id & ((1 << SLOT_BITS) - 1)) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Two slots for pieces share each slot for knowledge.
    type Small = History<8, 2, 1, 4>;

    /// Returns a full history of eight records, whose newest is in the slot `newest_slot`.
    fn full(newest_slot: usize) -> Small {
        let history = Small::new();
        // Fill all slots. The newest record is not marked yet.
        for n in 1.. {
            let after = history.head();
            if n > 8 && slot_index(after) == newest_slot {
                break;
            }
            let next = history.slots[(slot_index(after) + 1) % 8].piece.version();
            history.give_up(next);
            assert_eq!(history.publish(after, &[n, n], &[n]), Ok(()));
        }
        history
    }

    #[test]
    fn a_full_history_takes_any_slot_but_those_that_share_the_newest_records_knowledge() {
        for newest in 0..8 {
            for free in (1..8).map(|ahead| (newest + ahead) % 8) {
                let history = full(newest);
                let before = history.newest::<2, 1>().unwrap();
                assert_eq!(history.publish(before.0, &[0, 0], &[0]), Err(Full::Pieces));
                let (oldest, []) = history.slots[free].piece.read().unwrap();
                history.give_up(oldest);
                let published = history.publish(before.0, &[77, 78], &[79]);
                if free % 4 == newest % 4 {
                    assert_eq!((published, history.newest()), (Err(Full::Pieces), Some(before)));
                } else {
                    let (id, piece, knowledge) = history.newest().unwrap();
                    assert_eq!((published, piece, knowledge), (Ok(()), [77, 78], [79]));
                    assert_eq!((slot_index(id), id >> SLOT_BITS), (free, (before.0 >> 8) + 1));
                }
            }
        }
    }

    #[test]
    fn the_kept_records_are_in_order_wherever_they_are() {
        let history = Small::new();
        let mut ids = vec![];
        // A stopped writer occupies a slot, so the next record is in a later one. This way the
        // order of the slots is not the order of the records.
        for (generation, stalled) in [(1, 0), (2, 2), (3, 5), (4, 6), (5, 7)] {
            history.stall(stalled);
            history.publish(history.head(), &[generation; 2], &[0]).expect("there is room");
            ids.push(history.head());
        }
        let in_order = |newest| history.in_order(newest, &mut [0; 8]).to_vec();
        assert!(!ids.is_sorted_by_key(|&id| slot_index(id)));
        assert_eq!((in_order(ids[4]), in_order(ids[2])), (ids.clone(), ids[..3].to_vec()));
        history.give_up(ids[1]);
        assert_eq!(in_order(ids[4]), [ids[0], ids[2], ids[3], ids[4]]);
        let in_slot = |id, newest| history.in_slot::<2>(slot_index(id), newest);
        assert_eq!(in_slot(ids[3], ids[4]), Some((ids[3], [4; 2], 0)));
        assert_eq!([in_slot(ids[1], ids[4]), in_slot(ids[3], ids[2])], [None; 2]);
        // A writer may fill a slot and then lose the race for the head. Its record must not be
        // found.
        assert!(history.slots[slot_index(ids[1])].piece.try_write(ids[1] + 256, &[0, 0]));
        assert_eq!(in_slot(ids[1], ids[4]), None);
    }

    #[test]
    fn a_record_begins_without_a_note_though_its_slot_had_one() {
        let history = full(3);
        let after = history.head();
        let (old, []) = history.slots[4].piece.read().unwrap();
        history.raise_note(old, 5);
        history.raise_note(old, 4);
        assert_eq!(history.note(old), 5);
        history.give_up(old);
        assert_eq!(history.publish(after, &[0, 0], &[0]), Ok(()));
        let newest = history.head();
        assert_eq!(history.publish(newest, &[0, 0], &[0]), Err(Full::Pieces));
        assert_eq!((slot_index(newest), history.note(newest)), (4, 0));
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use loom::model;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// A small history. Two of its three free slots share a slot for knowledge.
    type Small = History<4, 2, 1, 3>;

    fn begun() -> (Arc<Small>, Id) {
        let history = Small::new();
        history.publish(0, &[1, 1], &[1]).expect("there is room");
        let first = history.head();
        (Arc::new(history), first)
    }

    /// A late thread notes a record whose slot was reused, and gives it up.
    #[test]
    fn a_late_note_changes_no_newer_record() {
        model(|| {
            let mark = Arc::new(Mark::new());
            let [old, new] = [1, 2].map(|generation| generation << SLOT_BITS);
            mark.raise(old, 0);
            let late = thread::spawn({
                let mark = Arc::clone(&mark);
                move || {
                    mark.raise(old, 5);
                    mark.raise(old, GIVEN_UP);
                    assert!(!mark.is_kept(old));
                }
            });
            mark.raise(new, 0);
            assert!(mark.is_kept(new) && !mark.is_kept(old));
            mark.raise(new, 7);
            late.join().expect("the late thread ends");
            assert_eq!((mark.note(new), mark.note(old)), (7, GIVEN_UP));
        });
    }

    #[test]
    fn a_thread_that_sees_an_id_finds_its_record() {
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
    fn a_thread_that_sees_a_successor_finds_its_predecessor_kept() {
        model(|| {
            let (history, first) = begun();
            let reader = thread::spawn({
                let history = Arc::clone(&history);
                move || {
                    let newest = history.head();
                    if newest != first {
                        assert_eq!(history.in_order(newest, &mut [0; 4]), [first, newest]);
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
    fn the_newest_record_is_never_overwritten() {
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
