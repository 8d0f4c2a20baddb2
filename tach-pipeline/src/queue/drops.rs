//! Counts the records that a queue dropped, and keeps their times and what remains of them.

use core::mem;

use crate::frame::{self, Remains};
use crate::stats::Dropped;
use crate::sync::Lock;

/// The most bytes of remains. The ends of 1,300 spans fit, and the back end takes them in each
/// round.
const MOST_BYTES: usize = 64 * 1024;

/// The records that a queue dropped. The queue's thread counts, and the back end reports.
#[derive(Default)]
pub(super) struct Drops(Lock<Unreported>);

#[derive(Default)]
struct Unreported {
    records: Option<Dropped>,
    spans: u64,
    is_incomplete: bool,
    /// Records in place of those that were dropped of spans.
    remains: Vec<u8>,
}

/// What a queue has dropped since the last report.
#[derive(Debug)]
pub(crate) struct Loss {
    pub(crate) records: Dropped,
    /// How many of the records are starts of spans. These spans are lost.
    pub(crate) spans: u64,
    /// Whether more was dropped of spans than the remains say.
    pub(crate) is_incomplete: bool,
}

impl Drops {
    /// Drops a record. Returns `true` if it is the end of a span, which is kept after all.
    pub(super) fn add(&self, record: &[u8]) -> bool {
        let Some(time) = frame::time(record) else { return false };
        let remains = frame::remains(record);
        let mut unreported = self.0.lock();
        match remains {
            Remains::Nothing => {}
            Remains::NoSpan => unreported.spans += 1,
            Remains::End if unreported.keep(record) => return true,
            Remains::Part(part) if frame::add_lost(&mut unreported.remains, &part) => {}
            Remains::Part(part) if unreported.keep(&part) => {}
            Remains::End | Remains::Part(_) => unreported.is_incomplete = true,
        }
        Dropped::add(&mut unreported.records, time.unix_time());
        false
    }

    pub(super) fn is_empty(&self) -> bool {
        let unreported = self.0.lock();
        unreported.records.is_none() && unreported.remains.is_empty()
    }

    pub(super) fn count(&self) -> u64 {
        self.0.lock().records.map_or(0, |records| records.count)
    }

    /// Takes what was dropped since the last call, except for the remains.
    pub(super) fn take(&self) -> Option<Loss> {
        let mut unreported = self.0.lock();
        let records = unreported.records.take()?;
        let (spans, is_incomplete) = (unreported.spans, unreported.is_incomplete);
        (unreported.spans, unreported.is_incomplete) = (0, false);
        Some(Loss { records, spans, is_incomplete })
    }

    /// Moves the remains to the end of `bytes`.
    pub(super) fn take_remains(&self, bytes: &mut Vec<u8>) {
        let remains = mem::take(&mut self.0.lock().remains);
        bytes.extend_from_slice(&remains);
    }
}

impl Unreported {
    /// Keeps a record, if there is room.
    fn keep(&mut self, record: &[u8]) -> bool {
        let has_room = self.remains.len() + record.len() <= MOST_BYTES;
        if has_room {
            self.remains.extend_from_slice(record);
        }
        has_room
    }
}
