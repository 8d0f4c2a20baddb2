//! The back end as seen by the keeper of its records.

use tach_core::UnixTime;
use tach_record::keep::{Piece, Receiver, Waiting};

use super::inboxes::Inboxes;
use super::selection::{Selected, Selection};
use crate::frame::Frame;
use crate::queue::WhenFull;
use crate::shared::Shared;
use crate::sink::all::Sinks;

pub(super) struct Kept<'a> {
    pub(super) shared: &'a Shared,
    pub(super) inboxes: &'a mut Inboxes,
    pub(super) selection: &'a mut Selection,
    pub(super) sinks: &'a mut Sinks,
}

impl Receiver for Kept<'_> {
    fn now(&self) -> UnixTime {
        self.shared.now()
    }

    fn mark(&mut self) {
        self.inboxes.mark();
    }

    fn free(&mut self) {
        self.inboxes.free();
    }

    fn stated(&self) -> u64 {
        self.sinks.reported_drops.wrapping_sub(self.selection.repeats())
    }

    fn unreported(&self) -> u64 {
        self.sinks.unreported()
    }

    fn refused(&self) -> u64 {
        self.sinks.refused()
    }

    fn came(&self, came: &mut Vec<u64>) {
        self.sinks.taken(came);
    }

    fn waiting(&self, came: &[u64]) -> Waiting {
        self.sinks.gather();
        self.sinks.waiting_of(came)
    }

    fn has_room(&self) -> bool {
        self.sinks.have_room()
    }

    fn is_pressed(&self) -> bool {
        let channel = &self.shared.channel;
        channel.when_full != WhenFull::Block && channel.signals.pressure.is_on()
    }

    fn is_full(&self) -> bool {
        self.sinks.is_full()
    }

    fn pass_on(&mut self, piece: Piece) {
        let Self { shared, selection, sinks, .. } = self;
        let own = |sinks: &mut Sinks, report: &[u8]| {
            if let Some(record) = Frame::read(report) {
                sinks.record(&record, shared.now());
            }
        };
        match piece {
            Piece::Report(report) => own(sinks, &report),
            Piece::Batch { report, sink, bytes, ends } => {
                own(sinks, &report);
                sinks.add_events((sink, bytes, ends), shared.now());
            }
            Piece::Record(record, time) => {
                selection.record(&record, time, &shared.filters, |record, time, selected| {
                    if selected != Selected::Count {
                        sinks.came(record.level);
                    }
                    if selected != Selected::Repeated {
                        sinks.record(record, time);
                    }
                });
            }
        }
    }

    fn write(&mut self) {
        self.sinks.write(false);
    }
}
