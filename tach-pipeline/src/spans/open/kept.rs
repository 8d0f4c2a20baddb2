//! The open spans in the file of a pipeline, and those of another process.

use tach_core::UnixTime;

use super::span::Open;
use super::{Ending, Spans};
use crate::frame::{self, Frame, SpanPart};
use crate::queue::QueueId;
use crate::spans::standing::{Change, End, Standing};

/// The queue of a thread that is not known.
const UNKNOWN: QueueId = QueueId(usize::MAX);

impl Spans {
    /// Keeps a list of the changes.
    pub(in crate::spans) fn keep(&mut self) {
        self.changed = Some(Vec::new());
    }

    /// Calls `each` with what has changed since the last call.
    pub(in crate::spans) fn take_changes(&mut self, each: &mut dyn FnMut(&Change<'_>)) {
        let Self { open, changed: Some(changed), gone, .. } = self else { return };
        gone.drain(..).for_each(|span| each(&Change::Gone(span)));
        for span in changed.drain(..) {
            // A span that is gone may be in the list of changes too.
            let Some(open) = open.get_mut(&span) else { continue };
            open.is_changed = false;
            each(&if open.context.is_sampled { open.waits(span) } else { Change::Gone(span) });
        }
        self.each_early(each);
    }

    /// Calls `each` with all that waits.
    pub(in crate::spans) fn each_waiting(&self, each: &mut dyn FnMut(&Change<'_>)) {
        for (span, open) in self.open.iter().filter(|(_, open)| open.context.is_sampled) {
            each(&open.waits(*span));
        }
        self.each_early(each);
    }

    fn each_early(&self, each: &mut dyn FnMut(&Change<'_>)) {
        for (record, ..) in self.retried.iter().chain(&self.early) {
            each(&Change::Early(record));
        }
    }

    /// Adds a span of another process, with copies of its records. `standing` is its state.
    pub(in crate::spans) fn restore(&mut self, standing: &Standing, records: &[Vec<u8>]) {
        let Some(start) = records.first().and_then(|start| SpanPart::read(start)) else { return };
        let span = start.context.span;
        let thread = start.site().thread_id.and_then(|id| usize::try_from(id).ok());
        let queue = thread.map_or(UNKNOWN, QueueId);
        for record in records {
            let time = frame::time(record).map_or(UnixTime::EPOCH, frame::Time::unix_time);
            if frame::is_of_span(record) {
                self.part(record, time, queue);
            } else if let Some(event) = Frame::read(record) {
                self.event(&event, time);
            }
        }
        let Some(open) = self.open.get_mut(&span) else { return };
        open.dropped = standing.dropped;
        open.is_passed_on = standing.is_passed_on;
        if let Some(End { time: end, is_recorded, is_on_one_thread }) = standing.end {
            let of_end = if is_on_one_thread { queue } else { UNKNOWN };
            let queue = is_recorded.then_some(of_end);
            open.ended = Some((end, queue));
            self.ending.push(Ending { span, end, queue });
        }
    }
}

impl Open {
    fn waits(&self, span: u64) -> Change<'_> {
        let Self { is_passed_on, dropped, ended, .. } = *self;
        let standing = ended
            .map_or(Standing { end: None, is_passed_on, dropped }, |(end, queue)| {
                Standing::of_ended(&self.span(end, queue, &[], false))
            });
        Change::Waits(span, standing, &self.records)
    }
}
