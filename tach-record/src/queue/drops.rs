//! Counts the records that a queue dropped, and keeps their times and what remains of them.

use core::mem;

use crate::counts::{Dropped, Happened};
use crate::frame::{self, LOST_BYTES, Remains};
use crate::sync::Lock;

/// The most bytes of remains. 256 to 900 spans fit, and the back end takes them in each round.
const MOST_BYTES: usize = 64 * 1024;

/// The records that a queue dropped. The queue's thread counts, and the back end reports.
#[derive(Default)]
pub(super) struct Drops(Lock<Unreported>);

#[derive(Default)]
struct Unreported {
    records: Option<Dropped>,
    spans: u64,
    is_incomplete: bool,
    /// The records that replace dropped records of spans: short ones as they were, and counts of
    /// the others.
    remains: Vec<u8>,
    /// Where the last record of `remains` begins, if it is a count. The next drop of the same span
    /// adds to it.
    last_lost: Option<usize>,
}

/// What a queue has dropped since the last report.
#[derive(Debug)]
pub struct Loss {
    /// The records, with their levels and times.
    pub records: Dropped,
    /// How many of the records are spans that have ended. These spans are lost.
    pub spans: u64,
    /// Whether records of spans were dropped that `remains` has no room to count.
    pub is_incomplete: bool,
}

impl Drops {
    /// Drops a record. Returns `true` if it is kept after all, as a short span is.
    pub(super) fn add(&self, record: &[u8]) -> bool {
        let Some(time) = frame::time(record) else { return false };
        let remains = frame::remains(record);
        let mut unreported = self.0.lock();
        match remains {
            Remains::Nothing => {}
            Remains::Whole | Remains::Span if unreported.keep(record) => return true,
            Remains::NoSpan | Remains::Span => unreported.spans += 1,
            Remains::Part(part) if unreported.count(&part) => {}
            Remains::Whole | Remains::Part(_) => unreported.is_incomplete = true,
        }
        let happened = Happened { time: time.unix_time(), level: frame::event_level(record) };
        Dropped::add(&mut unreported.records, happened);
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
        let spans = mem::take(&mut unreported.spans);
        let is_incomplete = mem::take(&mut unreported.is_incomplete);
        Some(Loss { records, spans, is_incomplete })
    }

    /// Moves the remains to the end of `bytes`.
    pub(super) fn take_remains(&self, bytes: &mut Vec<u8>) {
        let mut unreported = self.0.lock();
        unreported.last_lost = None;
        let remains = mem::take(&mut unreported.remains);
        drop(unreported);
        bytes.extend_from_slice(&remains);
    }
}

impl Unreported {
    /// Keeps a record, if there is room.
    fn keep(&mut self, record: &[u8]) -> bool {
        let has_room = self.remains.len() + record.len() <= MOST_BYTES;
        if has_room {
            self.remains.extend_from_slice(record);
            self.last_lost = None;
        }
        has_room
    }

    /// Adds the counts of a part to the last record, if that has counts of the same span. Otherwise
    /// keeps the part, if there is room.
    fn count(&mut self, part: &[u8; LOST_BYTES]) -> bool {
        if self.last_lost.is_some_and(|at| frame::add_lost(&mut self.remains[at..], part)) {
            return true;
        }
        let at = self.remains.len();
        let is_kept = self.keep(part);
        if is_kept {
            self.last_lost = Some(at);
        }
        is_kept
    }
}

#[cfg(test)]
mod tests {
    use tach_core::UnixTime;
    use tach_log::Value;

    use super::*;
    use crate::frame::MaybeStatic;
    use crate::frame::{Linked, Origin, RecordKind, Scratch, SpanPart, Time, What, Writer};
    use crate::ids::SpanContext;

    const CONTEXT: SpanContext = SpanContext { trace: 1, span: 2, is_sampled: true };

    fn part(kind: RecordKind, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut scratch = Scratch::new();
        let time = Time::Unix(UnixTime::EPOCH);
        let mut to = Writer::begin_part(&mut scratch, time, kind, CONTEXT);
        write(&mut to);
        to.end();
        scratch.written().to_owned()
    }

    fn parent(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        part(RecordKind::Parent, |to| {
            to.link(Linked { context: CONTEXT, origin: Origin::Remote });
            write(to);
        })
    }

    /// Without its parent, a span would be sent as the root of another trace. Without the decision,
    /// a span that is not sampled would be sent.
    #[test]
    fn a_parent_and_a_decision_are_kept() {
        for record in [parent(|_| {}), part(RecordKind::Discard, |_| {})] {
            let drops = Drops::default();
            assert!(drops.add(&record));
            let mut bytes = Vec::new();
            drops.take_remains(&mut bytes);
            assert_eq!((bytes, drops.take().is_none()), (record, true));
        }
    }

    /// A text of the parent has the bytes of a record with counts of the same span.
    #[test]
    fn counts_are_added_to_counts_alone() {
        let key = MaybeStatic::Static("key");
        let values = part(RecordKind::Values, |to| to.field(key, Value::Bool(true)));
        let counts = Drops::default();
        counts.add(&values);
        let mut counted = Vec::new();
        counts.take_remains(&mut counted);
        let text = core::str::from_utf8(&counted).unwrap();
        let parent = parent(|to| to.field(key, Value::Str(text)));
        assert!(parent.ends_with(&counted), "the control: they could be taken for counts");
        let drops = Drops::default();
        drops.add(&parent);
        drops.add(&values);
        drops.add(&values);
        let mut bytes = Vec::new();
        drops.take_remains(&mut bytes);
        let (first, rest) = frame::split(&bytes).unwrap();
        assert_eq!(first, parent);
        let What::Lost(lost) = SpanPart::read(rest).unwrap().what else { panic!("{rest:?}") };
        assert_eq!((lost.attributes, rest.len()), (2, counted.len()), "both are counted in one");
        // Once the counts are taken, counting starts at zero.
        drops.add(&values);
        bytes.clear();
        drops.take_remains(&mut bytes);
        assert_eq!(bytes, counted);
    }
}
