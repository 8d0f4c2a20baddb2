//! What is in the file of a process that has ended: how many records, and what its flight recorder
//! had kept.

use core::time::Duration;

use tach_core::UnixTime;
use tach_record::keep::Each;

use super::image::{self, Foreign, Image, Left};
use tach_record::frame::{self, RecordKind, Time};

/// More than the difference of two conversions of the same ticks: one by the line that the process
/// had, and one by the line in the file.
const CONVERTED: Duration = Duration::from_micros(2);

/// What a log says about a process before its records.
pub(super) struct Summary {
    pub(super) process: u64,
    pub(super) program: String,
    /// When the last of the records that follow was logged.
    pub(super) last: Option<UnixTime>,
    /// How many records follow.
    pub(super) records: u64,
    /// How many records are lost or incomplete, by what happened to them.
    pub(super) others: [(&'static str, u64); 5],
}

impl Summary {
    /// Returns how many records and events are in the file, or are known to be lost.
    pub(super) fn all(&self) -> u64 {
        self.others.iter().fold(self.records, |sum, (_, count)| sum.saturating_add(*count))
    }
}

/// Counts the records for the report about them.
pub(super) fn summary(image: &Image<'_>, mut left: Left) -> Summary {
    let (mut records, mut spans_lost, mut cut, mut last) = (0, 0, 0, None);
    while let Some((time, record, _)) = left.next(image) {
        match image::foreign(&record, image, None) {
            Foreign::Event(_) => (records, last) = (records + 1, Some(time)),
            Foreign::Part(copy) => {
                spans_lost += u64::from(frame::kind(&copy) == Some(RecordKind::Span));
            }
            Foreign::Invalid => cut += 1,
        }
    }
    let batches = (0..image.lane_count()).filter_map(|sink| image.lane(sink));
    let others = [
        ("unwritten", batches.map(|lane| lane.batch.ends.len() as u64).sum()),
        ("spans_lost", spans_lost),
        ("cut", cut + left.cut),
        ("dropped", image.lost()),
        // The records of these rings are not in the file.
        ("rings_outside", image.outside()),
    ];
    Summary { process: image.process(), program: image.program().to_owned(), last, records, others }
}

/// Calls `each` with each item that the flight recorder had kept, and then with the events that had
/// not reached the recorder yet.
pub(super) fn recorded(image: &Image<'_>, each: &mut Each<'_>) {
    let mut newest = UnixTime::EPOCH;
    let _the_rest_is_damaged = image.recorded(|words, records| {
        let copies = frame::split_all(records).filter_map(|record| {
            match image::foreign(record, image, None) {
                Foreign::Event(copy) | Foreign::Part(copy) => Some(copy),
                Foreign::Invalid => None,
            }
        });
        let copies = copies.collect::<Vec<_>>().concat();
        if words.is_empty() {
            newest = newest.max(time(&copies));
        }
        each(words, &copies);
    });
    // Skip events up to the newest item: the items contain them, with a slightly different time.
    let (until, mut left) = (newest.saturating_add(CONVERTED), image.left());
    while let Some((at, record, ring)) = left.next(image) {
        let copy = image::foreign(&record, image, Some(ring));
        if let (Foreign::Event(copy), true) = (copy, at > until) {
            each(&[], &copy);
        }
    }
}

pub(super) fn time(record: &[u8]) -> UnixTime {
    frame::time(record).map_or(UnixTime::EPOCH, Time::unix_time)
}
