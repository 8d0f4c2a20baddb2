//! The words of a slot, which any thread may read without a lock: the ids of one open span, its
//! references, and the facts that a thread may read without a reference.

// `cargo xtask loom` compiles this file and its models alone.
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// The trace, the span, and whether it is sampled.
pub(super) type Ids = (u128, u64, bool);

/// The ids of one open span, and the time when a thread last left it. `id` is zero while the slot
/// is free.
///
/// Only the thread that creates a span writes its ids. A reader has the span's number from that
/// thread or, like the back end, from the slot. While the reader holds a reference to the span, the
/// ids do not change. A reader without a reference reads `id` again after the other words: if
/// another span has taken the slot, the words may be a mixture, and the reader drops them.
///
/// The alignment keeps the eight words on one cache line. We don't use `CachePadded`, which would
/// double the 64 bytes of an open span so that no two slots share a pair of lines: the neighbours
/// of a slot are spans of the same thread, so threads seldom contend for a pair.
#[derive(Default)]
#[repr(align(64))]
pub struct Slot {
    id: AtomicU64,
    trace: [AtomicU64; 2],
    span: AtomicU64,
    /// The flags below. A flag is never removed while the span is open. The upper half is the
    /// number of the pipeline.
    flags: AtomicU64,
    /// [How](Begun) the span began. If the span is moved to another trace, that trace's id
    /// overwrites these words; the span's record, which contains its start, is written before.
    after: [AtomicU64; 2],
    /// When a thread last left the span. Zero if none has left it yet.
    left: AtomicU64,
}

/// The lowest bit of the pipeline's number.
const PIPELINE_SHIFT: u32 = u32::BITS;
/// The bits of the pipeline's number.
pub(super) const PIPELINE: u64 = u64::MAX << PIPELINE_SHIFT;
const SAMPLED: u64 = 1;
/// The span becomes the current one of `opentelemetry` when it is entered.
pub(super) const ACTIVE: u64 = 2;
/// The span has something that its children inherit: a caller's context or baggage.
pub(super) const PASSES_ON: u64 = 4;
/// A thread is about to overwrite `after` with the trace that the span is moved to, or has done so.
pub(super) const MOVING: u64 = 8;
/// `after` contains the trace that the span was moved to.
const MOVED: u64 = 16;
/// The span was moved to a trace that is sampled.
const MOVED_SAMPLED: u64 = 32;
/// The registry will never close the span.
pub(super) const ABANDONED: u64 = 64;
/// The span is as sampled as its parent from the start, since it is not at the boundary of the
/// service: no parent that is set later changes that.
pub(super) const FOLLOWS: u64 = 128;
/// The span takes a parent in another process from the context in which it is entered.
pub(super) const TAKES: u64 = 256;
/// Added to the flags when a thread leaves a span that waits: from then on, the span stays
/// unsampled. We add instead of setting a bit, because an addition that also returns the old flags
/// is one instruction, and an `or` is a loop. Several threads may add at once.
const LEFT: u64 = 512;
/// The bits that sums of [`LEFT`] use.
pub(super) const ANY_LEFT: u64 = u32::MAX as u64 & !(LEFT - 1);
/// If any of these is set, it is decided whether the span is sampled.
const DECIDED: u64 = SAMPLED | MOVED_SAMPLED | FOLLOWS | ANY_LEFT;

/// How a span began. The default is for a span that logs nothing when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Begun {
    /// `Time::number` of the start, plus one. Zero if the span logs nothing when it ends.
    since: u64,
    /// The id of the parent in the same trace, or zero.
    pub parent: u64,
}

impl Begun {
    /// Returns how a span began at the time with this number.
    #[inline]
    pub const fn at(since: u64, parent: u64) -> Self {
        Self { since: since.wrapping_add(1), parent }
    }

    /// Returns the number of the time, unless the span logs nothing when it ends.
    #[inline]
    pub const fn since(self) -> Option<u64> {
        self.since.checked_sub(1)
    }
}

/// The `id` of a slot while [`take`](Slot::take) writes it. No span has this number.
const TAKEN: u64 = u64::MAX;

impl Slot {
    /// Takes the slot for a span. Returns `false` if another span has the slot. `flags` are
    /// [`ACTIVE`] and [`FOLLOWS`], and the [number](of_pipeline) of the pipeline. The span may have
    /// been open before: other threads may know its number.
    #[inline]
    pub(super) fn take(&self, id: u64, ids: Ids, flags: u64, begun: Begun) -> bool {
        // ORDERING: Acquire, with the Release of `remove`: the last read of the previous span's ids
        // comes before the writes below.
        let taken = self.id.compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_ok() {
            self.write(ids, flags, begun);
            // ORDERING: Release, with the Acquire of `has`: publishes the words.
            self.id.store(id, Ordering::Release);
        }
        taken.is_ok()
    }

    /// Like [`take`](Self::take), for the slot of a span that no other thread knows.
    #[inline]
    pub(super) fn take_own(&self, id: u64, ids: Ids, flags: u64, begun: Begun) -> bool {
        let is_free = self.is_free();
        if is_free {
            self.write(ids, flags, begun);
            // ORDERING: Release, with the Acquire of `has`: publishes the words, since the back end
            // reads the number from the slot. A thread that sees the previous span gone sees what
            // that span logged.
            self.id.store(id, Ordering::Release);
        }
        is_free
    }

    /// Writes the ids of the span that has just taken the slot.
    #[inline]
    fn write(&self, (trace, span, is_sampled): Ids, flags: u64, begun: Begun) {
        // ORDERING: Release, with the Acquire fence of `get_unheld`: a reader that sees a word
        // written below sees the new number afterwards.
        fence(Ordering::Release);
        let [low, high] = halves(trace);
        let sampled = if is_sampled { SAMPLED } else { 0 };
        for (word, value) in [
            (&self.trace[0], low),
            (&self.trace[1], high),
            (&self.span, span),
            (&self.flags, sampled | flags),
            (&self.left, 0),
            (&self.after[0], begun.since),
            (&self.after[1], begun.parent),
        ] {
            // ORDERING: Relaxed: a reader got the span's number from this thread, or finds it in
            // `id`, which publishes the words.
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Moves the span to another trace. Returns `false` if it was moved before, or would be sampled
    /// although it was [decided](Self::decide) that it is not.
    pub fn move_to(&self, trace: u128, is_sampled: bool) -> bool {
        let begins = self.begin_move(trace, is_sampled);
        if begins {
            self.end_move(is_sampled);
        }
        begins
    }

    /// Begins to [move](Self::move_to) the span: [how it began](Begun) is overwritten. Until
    /// [`end_move`](Self::end_move), the span is still in its old trace and, if it waited before,
    /// still waits.
    pub fn begin_move(&self, trace: u128, is_sampled: bool) -> bool {
        let moving = |flags| {
            let is_refused = flags & MOVING != 0 || is_sampled && flags & ANY_LEFT != 0;
            (!is_refused).then_some(flags | MOVING)
        };
        // ORDERING: Relaxed: decides which thread writes, and publishes nothing.
        if self.flags.fetch_update(Ordering::Relaxed, Ordering::Relaxed, moving).is_err() {
            return false;
        }
        // ORDERING: Release, with the Acquire fences of `get_unheld` and `begun_unheld`: another
        // thread may have taken the slot, so the fence of `take` does not order the words below.
        fence(Ordering::Release);
        for (word, value) in self.after.iter().zip(halves(trace)) {
            // ORDERING: Relaxed: published by `flags`.
            word.store(value, Ordering::Relaxed);
        }
        true
    }

    /// Returns how the span began. Call for a span that no thread has begun to move.
    #[inline]
    pub fn begun(&self) -> Begun {
        // ORDERING: Relaxed: the caller has the span's number from the thread that wrote this.
        let [since, parent] = [&self.after[0], &self.after[1]].map(|it| it.load(Ordering::Relaxed));
        Begun { since, parent }
    }

    /// Returns how the span with that number began, for a caller that does not hold the span, unless
    /// a thread has begun to move it.
    pub(super) fn begun_unheld(&self, id: u64) -> Option<Begun> {
        let begun = self.begun();
        // ORDERING: Acquire, with the Release fence of `begin_move`.
        fence(Ordering::Acquire);
        let is_moving = self.has_flag(MOVING);
        // Read the number last: if another span took the slot, `MOVING` may be that span's.
        // ORDERING: Acquire, with the Release fence of `write`.
        fence(Ordering::Acquire);
        // ORDERING: Relaxed: the fence orders it.
        let is_same = self.id.load(Ordering::Relaxed) == id;
        (is_same && !is_moving).then_some(begun)
    }

    /// Ends a move. More than one call changes nothing.
    pub fn end_move(&self, is_sampled: bool) {
        let moved = if is_sampled { MOVED | MOVED_SAMPLED } else { MOVED };
        // ORDERING: Release, with the Acquire of `get`: a reader of the flag also sees the new
        // trace.
        self.flags.fetch_or(moved, Ordering::Release);
    }

    /// Returns whether the span with that number has the slot. The answer stays true while the
    /// caller holds the span.
    #[inline]
    pub(super) fn has(&self, id: u64) -> bool {
        // ORDERING: Acquire, with the Release of `take`: the words are the span's. With the Release
        // of `remove`: if the span is gone, its records are in the queues.
        self.id.load(Ordering::Acquire) == id
    }

    /// Returns the ids of the span that has the slot.
    #[inline]
    pub(super) fn get(&self) -> Ids {
        self.get_all().0
    }

    /// Returns the ids of the span that has the slot, and its flags.
    #[inline]
    pub(super) fn get_all(&self) -> (Ids, Flags) {
        // ORDERING: Relaxed: the caller has the number from the thread that wrote the ids.
        let span = self.span.load(Ordering::Relaxed);
        // ORDERING: Acquire, with the Release of `end_move`.
        let flags = self.flags.load(Ordering::Acquire);
        let (trace, is_sampled) = match flags & MOVED {
            0 => (&self.trace, flags & SAMPLED != 0),
            _ => (&self.after, flags & MOVED_SAMPLED != 0),
        };
        // ORDERING: Relaxed: the ids are from the thread that wrote the number, and the Acquire of
        // `flags` publishes the trace that the span was moved to.
        let [low, high] = [&trace[0], &trace[1]].map(|word| word.load(Ordering::Relaxed));
        ((u128::from(high) << u64::BITS | u128::from(low), span, is_sampled), Flags(flags))
    }

    /// Returns whether the span waits: a parent that is set later may still decide that the span is
    /// sampled, so records of the span must be kept until then.
    #[inline]
    pub fn waits(&self) -> bool {
        // `MOVING` alone does not end the wait: the move has not ended.
        // ORDERING: Relaxed: the caller holds the lock of the kept records. A thread that sets
        // `MOVED` or `DECIDED` takes that lock before it takes the records, so none is kept after.
        self.flags.load(Ordering::Relaxed) & (DECIDED | MOVED) == 0
    }

    /// Call when a thread leaves the span, which has these flags. If the span waits, decides that
    /// it stays unsampled. Returns whether the span is sampled.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub fn decide(&self, mut flags: Flags) -> bool {
        if flags.are_undecided() {
            // ORDERING: Relaxed: publishes nothing. `waits` reads it under the lock of the kept
            // records.
            flags = Flags(self.flags.fetch_add(LEFT, Ordering::Relaxed));
        }
        flags.may_be_sampled()
    }

    /// Returns whether the span is sampled, or was before it was moved.
    #[inline]
    pub fn may_be_sampled(&self) -> bool {
        // ORDERING: Relaxed: publishes nothing.
        self.flags.load(Ordering::Relaxed) & (SAMPLED | MOVED_SAMPLED) != 0
    }

    /// Returns the flags, if the slot has the ids of the span with that number.
    #[inline]
    pub(super) fn flags_of(&self, id: u64) -> Option<Flags> {
        // ORDERING: Relaxed: the caller has the number from the thread that wrote the flags. A flag
        // that was added later publishes nothing.
        self.has(id).then(|| Flags(self.flags.load(Ordering::Relaxed)))
    }

    /// Returns the ids of the span with that number, for a caller that does not hold the span: it
    /// may end while another span takes the slot.
    pub(super) fn get_unheld(&self, id: u64) -> Option<Ids> {
        let ids = self.get();
        // ORDERING: Acquire, with the Release fences of `take` and `begin_move`.
        fence(Ordering::Acquire);
        // ORDERING: Relaxed: the fence orders it.
        let is_same = self.id.load(Ordering::Relaxed) == id;
        let (_, span, _) = ids;
        (is_same && span != 0).then_some(ids)
    }

    /// Returns whether no span has the slot. Call for a slot that no other thread takes.
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        // ORDERING: Relaxed: the caller has the slot from the thread that took or freed it.
        self.id.load(Ordering::Relaxed) == 0
    }

    #[inline]
    pub(super) fn has_flag(&self, flag: u64) -> bool {
        // ORDERING: Relaxed: the caller has the span's number from the thread that wrote the flags.
        // A flag that was added later publishes nothing.
        self.flags.load(Ordering::Relaxed) & flag != 0
    }

    /// Sets a flag. Returns `false` if it was set before.
    pub(super) fn set_flag(&self, flag: u64) -> bool {
        // ORDERING: Relaxed: publishes nothing.
        self.flags.fetch_or(flag, Ordering::Relaxed) & flag == 0
    }

    /// Stores that a thread left the span at `time`, a `Time::number`. If several threads leave the
    /// span, the latest time counts, in whichever order they call.
    #[inline]
    pub fn leave_at(&self, time: u64) {
        // Zero means that no thread has left the span.
        // ORDERING: Relaxed: the caller holds the span, and its subscriber orders this before the
        // span's close.
        self.left.fetch_max(time.saturating_add(1), Ordering::Relaxed);
    }

    /// Returns the number of the time when a thread last left the span, if any has.
    #[inline]
    pub fn left(&self) -> Option<u64> {
        // ORDERING: Relaxed: the span's subscriber orders each leave before the span's close.
        self.left.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Frees the slot. Call when its span closes.
    #[inline]
    pub fn remove(&self) {
        // ORDERING: Release, with the Acquire of `take`: the next span's ids are written only after
        // the last read of this span's ids. With the Acquire of `has`: a thread that finds the span
        // gone finds its records in the queues.
        self.id.store(0, Ordering::Release);
    }
}

/// The flags of a slot, as they were read.
#[derive(Clone, Copy)]
pub struct Flags(u64);

impl Flags {
    #[inline]
    const fn have(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// Returns whether the span is sampled, or a thread moves it to a trace in which it may be.
    #[inline]
    pub(super) const fn may_log_end(self) -> bool {
        match self.0 & MOVED {
            0 => self.have(SAMPLED | MOVING),
            _ => self.have(MOVED_SAMPLED),
        }
    }

    /// Returns whether the span was moved to another trace, or a thread has begun that.
    #[inline]
    pub const fn are_moved(self) -> bool {
        self.have(MOVING)
    }

    /// Returns whether the span belongs to this [pipeline](of_pipeline).
    #[inline]
    pub(super) const fn are_of(self, pipeline: u64) -> bool {
        self.0 >> PIPELINE_SHIFT == pipeline >> PIPELINE_SHIFT
    }

    /// Returns whether the span belongs to this [pipeline](of_pipeline), never was sampled, and
    /// passes only the trace on to its children. An [`ACTIVE`] span passes its context of
    /// `opentelemetry` on too: if `but` is `ACTIVE`, that is ignored.
    #[inline]
    pub(super) const fn are_unsampled(self, pipeline: u64, but: u64) -> bool {
        const MASK: u64 = PIPELINE | SAMPLED | MOVED_SAMPLED | ACTIVE | PASSES_ON;
        self.0 & MASK & !but == pipeline
    }

    /// Returns whether the span still waits for the decision whether it is sampled.
    #[inline]
    const fn are_undecided(self) -> bool {
        self.0 & DECIDED == 0
    }

    /// Returns whether the span is sampled, or was before it was moved.
    #[inline]
    const fn may_be_sampled(self) -> bool {
        self.0 & (SAMPLED | MOVED_SAMPLED) != 0
    }
}

/// Returns the flags with which a span of the [pipeline](of_pipeline) starts.
#[inline]
pub(super) const fn flags(pipeline: u64, is_active: bool, follows: bool) -> u64 {
    let active = if is_active { ACTIVE } else { 0 };
    let follows = if follows { FOLLOWS } else { 0 };
    pipeline | active | follows
}

/// Shifts the number of a pipeline to the place that it has among the flags.
pub(super) const fn of_pipeline(number: u64) -> u64 {
    number << PIPELINE_SHIFT
}

#[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
const fn halves(trace: u128) -> [u64; 2] {
    [trace as u64, (trace >> u64::BITS) as u64]
}

/// A slot holds one span after another: each is a turn of the slot. `word` is the number of the
/// turn, and below it how many references the span has. A closed span has none.
#[derive(Default)]
pub(super) struct References {
    word: AtomicU64,
    /// The number of the parent, or zero.
    parent: AtomicU64,
    /// The code of the callsite, or zero.
    callsite: AtomicU32,
    /// How long before the span its trace began in this process, in the units of records.
    age: AtomicU32,
}

/// What the span of a slot starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Facts {
    pub(super) parent: u64,
    pub(super) callsite: u32,
}

/// The bits of the turn's number. It wraps after four billion spans in one slot: only then could
/// the number of a closed span find another span. The count below can't overflow: four billion
/// handles would take 60 GB.
pub(super) const TURN: u64 = u64::MAX << u32::BITS;
const NEXT: u64 = 1 << u32::BITS;

impl References {
    /// Begins the turn of a span that has one reference. Returns the [bits](TURN) of the turn. Call
    /// on the thread that owns the slot.
    #[inline]
    pub(super) fn begin(&self, facts: Facts) -> u64 {
        // ORDERING: Relaxed: the previous owner of the slot has passed it to this thread.
        let turn = (self.word.load(Ordering::Relaxed) & TURN).wrapping_add(NEXT);
        // ORDERING: Release, with the Acquire fence of `facts`: a reader that sees a fact written
        // below sees afterwards that the previous span is closed.
        fence(Ordering::Release);
        // ORDERING: Relaxed: a reader got the span's number from this thread.
        self.parent.store(facts.parent, Ordering::Relaxed);
        self.callsite.store(facts.callsite, Ordering::Relaxed);
        self.word.store(turn | 1, Ordering::Relaxed);
        turn
    }

    /// Sets the age of the span's trace when the span starts.
    #[inline]
    pub(super) fn set_age(&self, age: u32) {
        // ORDERING: Relaxed: a reader received the span's number from this thread after the store.
        self.age.store(age, Ordering::Relaxed);
    }

    /// Returns the age of the span's trace when the span started.
    #[inline]
    pub(super) fn age(&self) -> u32 {
        // ORDERING: Relaxed: the caller received the span's number from the thread that stored the
        // age.
        self.age.load(Ordering::Relaxed)
    }

    /// Returns the turn of the span that is open.
    pub(super) fn turn(&self) -> u64 {
        // ORDERING: Relaxed: the caller checks whether the span has ids.
        self.word.load(Ordering::Relaxed) & TURN
    }

    /// Adds a reference. Returns `false` if the span of that turn is closed.
    #[inline]
    pub(super) fn add(&self, turn: u64) -> bool {
        // ORDERING: Relaxed: the caller has a reference, or will use nothing of the span.
        let add = |word| is_open(word, turn).then_some(word + 1);
        self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Removes a reference. Returns `true` if it was the last one, so that the caller closes the
    /// span.
    #[inline]
    pub(super) fn remove(&self, turn: u64) -> bool {
        let remove = |word| is_open(word, turn).then(|| word - 1);
        // ORDERING: Release, with the Acquire of the last removal: what other threads did with the
        // span happens before it closes.
        let before = self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, remove);
        before.is_ok_and(|before| before - 1 == turn)
    }

    /// Returns whether the span of that turn is open.
    #[inline]
    pub(super) fn are_any(&self, turn: u64) -> bool {
        // ORDERING: Relaxed: the caller has a reference, or uses only this answer.
        is_open(self.word.load(Ordering::Relaxed), turn)
    }

    /// Returns the facts of the span of that turn, unless the span is closed.
    #[inline]
    pub(super) fn facts(&self, turn: u64) -> Option<Facts> {
        let facts = self.last_facts();
        // ORDERING: Acquire, with the Release fence of `begin`.
        fence(Ordering::Acquire);
        self.are_any(turn).then_some(facts)
    }

    /// Returns the facts of the span whose last reference the caller has removed.
    #[inline]
    pub(super) fn last_facts(&self) -> Facts {
        // ORDERING: Relaxed: the caller has the span's number from the thread that wrote the facts.
        Facts {
            parent: self.parent.load(Ordering::Relaxed),
            callsite: self.callsite.load(Ordering::Relaxed),
        }
    }
}

#[inline]
const fn is_open(word: u64, turn: u64) -> bool {
    // One comparison checks both that the turn is the same and that the count is not zero.
    word.wrapping_sub(turn).wrapping_sub(1) < u32::MAX as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_reference_closes_and_the_next_turn_has_its_own() {
        let references = References::default();
        let facts = Facts { parent: 3, callsite: 4 };
        let turn = references.begin(facts);
        assert!(references.add(turn) && references.are_any(turn));
        assert_eq!(references.facts(turn), Some(facts));
        assert!(!references.remove(turn));
        assert!(references.remove(turn));
        assert!(!references.are_any(turn) && !references.add(turn) && !references.remove(turn));
        assert_eq!((references.facts(turn), references.last_facts()), (None, facts));
        let next = references.begin(Facts::default());
        assert_ne!(next, turn);
        assert!(references.are_any(next));
        assert!(!references.are_any(turn) && !references.add(turn) && !references.remove(turn));
    }

    #[test]
    fn the_number_of_a_turn_wraps() {
        let references = References { word: AtomicU64::new(TURN), ..References::default() };
        let turn = references.begin(Facts::default());
        assert_eq!(turn, 0);
        assert!(references.are_any(turn) && !references.are_any(TURN) && !references.are_any(NEXT));
        assert!(references.remove(turn) && !references.are_any(turn));
        assert_eq!(references.begin(Facts::default()), NEXT);
    }
}

/// The models need all orderings above: `cargo xtask loom` weakens each of them in turn.
#[cfg(all(test, loom))]
mod loom_models;
