//! The spans that were not passed on yet, in a part of the file: open ones, and those that have
//! ended and wait.
//!
//! Entries are only appended, so that a table that counts names a beginning of the part that stays
//! as it is. When the part is full, a new one begins with all that waits. The old one is free after
//! the commit that names the new one.

use core::time::Duration;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use foldhash::fast::RandomState;

use super::super::layout::waiting;
use super::super::mapping::Mapping;
use super::Store;
use super::commits::{Area, Waits};
use crate::survive::standing::{Change, Standing};

/// The shortest part. In tests some spans fill it.
const LEAST: usize = if cfg!(test) { 4 * 1024 } else { 128 * 1024 };
/// The longest part. Further spans are not in the file.
const MOST: usize = 8 * 1024 * 1024;
/// How long a part that is nearly full after it began is not replaced.
const PAUSE: Duration = Duration::from_secs(1);

pub(in crate::survive) struct WaitingSpans {
    store: Arc<Store>,
    /// `None` until the first span waits.
    part: Option<Part>,
    /// What a table names.
    waits: Waits,
    /// The spans of which the part has entries: their state, and the bytes of their records.
    known: HashMap<u64, (Standing, usize), RandomState>,
    /// The spans for which there is no room.
    outside: HashSet<u64, RandomState>,
    /// The parts that the table which counts may name.
    before: Vec<Part>,
    spare: Option<Part>,
    /// When no part may begin before.
    pause: Option<Instant>,
}

struct Part {
    memory: Mapping,
    area: Area,
}

impl WaitingSpans {
    pub(in crate::survive) fn new(store: &Arc<Store>) -> Self {
        Self {
            store: Arc::clone(store),
            part: None,
            waits: Waits::default(),
            known: HashMap::default(),
            outside: HashSet::default(),
            before: Vec::new(),
            spare: None,
            pause: None,
        }
    }

    /// Adds the changes that `each` passes. They count after a commit with [`waits`](Self::waits).
    /// Returns whether there was room. If not, call [`begin`](Self::begin).
    pub(in crate::survive) fn add(
        &mut self,
        each: impl FnOnce(&mut dyn FnMut(&Change<'_>)),
    ) -> bool {
        let (mut has_room, mut early) = (true, None);
        each(&mut |change| {
            if matches!(change, Change::Early(_)) {
                early.get_or_insert(self.waits.length);
            }
            has_room &= self.change(change);
        });
        self.waits.early = early.unwrap_or(self.waits.length);
        self.waits.outside = self.outside.len() as u64;
        has_room
    }

    /// Begins a new part with all that waits, which `each` passes, unless the last part began a
    /// short while ago and was nearly full at once.
    pub(in crate::survive) fn begin(&mut self, each: impl Fn(&mut dyn FnMut(&Change<'_>))) {
        let now = Instant::now();
        if self.pause.is_some_and(|until| now < until) {
            return;
        }
        let mut needed = 0;
        each(&mut |change| needed += length(change, 0) + waiting::HEAD);
        // Few lengths, so that a part that was given back fits the next time.
        let least = needed.clamp(LEAST, MOST).next_power_of_two();
        let wanted = needed.saturating_mul(2).clamp(LEAST, MOST).next_power_of_two();
        let part = self.unused(wanted).or_else(|| self.unused(least));
        let is_short = part.as_ref().is_none_or(|part| part.area.length < 2 * needed);
        self.pause = is_short.then(|| now + PAUSE);
        let Some(part) = part else { return };
        let Waits { number, .. } = self.waits;
        let Area { start, length: capacity } = part.area;
        self.waits = Waits { number: number + 1, start, capacity, ..Waits::default() };
        self.before.extend(self.part.replace(part));
        self.known.clear();
        self.outside.clear();
        self.add(each);
    }

    /// Returns what the next commit names.
    pub(in crate::survive) const fn waits(&self) -> Waits {
        self.waits
    }

    /// Notes that the last [`waits`](Self::waits) count.
    pub(in crate::survive) fn committed(&mut self) {
        for part in self.before.drain(..) {
            if let Some(Part { area, .. }) = self.spare.replace(part) {
                self.store.give_back(area);
            }
        }
    }

    /// Adds an entry. Returns `false` if there is no room.
    #[inline]
    fn change(&mut self, change: &Change<'_>) -> bool {
        match *change {
            Change::Waits(span, ref standing, records) => {
                let room = self.room();
                let known = self.known.entry(span);
                let from = match &known {
                    Entry::Occupied(known) => {
                        let (before, bytes) = known.get();
                        if *bytes == records.len() && before == standing {
                            return true;
                        }
                        *bytes
                    }
                    Entry::Vacant(_) => 0,
                };
                let has_room = length(change, from) <= room;
                if has_room {
                    known.insert_entry((*standing, records.len()));
                    let [flags, end, bytes, first, second] = standing.words();
                    let head = [0, span, flags, end, bytes, first, second];
                    self.append(waiting::SPAN, head, &records[from..]);
                    if !self.outside.is_empty() {
                        self.outside.remove(&span);
                    }
                } else {
                    self.outside.insert(span);
                }
                has_room
            }
            Change::Gone(span) => {
                if !self.outside.is_empty() {
                    self.outside.remove(&span);
                }
                if self.known.remove(&span).is_some() {
                    // Each span that is known has kept room for this.
                    self.append(waiting::GONE, [0, span], &[]);
                }
                true
            }
            Change::Early(record) => {
                let has_room = length(change, 0) <= self.room();
                if has_room {
                    self.append(waiting::EARLY, [0, 0], record);
                }
                has_room
            }
        }
    }

    /// Returns how much room there is for an entry, besides the entries that say that a span is
    /// gone.
    fn room(&self) -> usize {
        let Waits { length, capacity, .. } = self.waits;
        let kept = waiting::HEAD * (self.known.len() + 1);
        capacity.saturating_sub(length + kept)
    }

    /// Appends an entry. The first word of its head is replaced.
    fn append<const WORDS: usize>(&mut self, kind: u64, mut head: [u64; WORDS], body: &[u8]) {
        let Some(Part { memory, .. }) = &self.part else { return };
        let length = size_of_val(&head) + body.len();
        head[0] = length as u64 | kind << u32::BITS;
        let head = head.map(u64::to_ne_bytes);
        let at = self.waits.length;
        memory.copy(at, head.as_flattened());
        if !body.is_empty() {
            memory.copy(at + length - body.len(), body);
        }
        self.waits.length += length;
    }

    /// Returns a part of at least `length` bytes that no table names.
    fn unused(&mut self, length: usize) -> Option<Part> {
        let spare = self.spare.take_if(|it| (length..=4 * length).contains(&it.area.length));
        spare.or_else(|| {
            let (area, memory) = self.store.part(length).ok()?;
            Some(Part { memory, area })
        })
    }
}

/// Returns the length of the entry of a change, of whose records the part has the first bytes.
const fn length(change: &Change<'_>, from: usize) -> usize {
    match change {
        Change::Waits(_, _, records) => waiting::HEAD + 8 * Standing::WORDS + records.len() - from,
        Change::Gone(_) => waiting::HEAD,
        Change::Early(record) => waiting::HEAD + record.len(),
    }
}
