//! The records and the spans in the file of a process that has ended.

use std::borrow::Cow;

use super::foreign::{self, Foreign};
use super::image::{self, Image, Thread};
use super::items::Report;
use super::left_spans::{Assembly, RecordingLeft};
use crate::spans::kept::OwnSpan;

/// The most bytes of copies of one file's records, which contain the texts that the records name.
const MOST_COPIED: usize = 1 << 30;

/// What a process has left for a dump of its flight recorder.
pub(super) struct Contents {
    /// Copies of the records, in their order.
    pub(super) records: Vec<Vec<u8>>,
    /// In the order of their starts.
    pub(super) spans: Vec<OwnSpan>,
    /// What the flight recorder had got.
    pub(super) recording: RecordingLeft,
}

/// The room for copies, and how many parts of the file are damaged.
pub(super) struct Room {
    pub(super) left: usize,
    pub(super) cut: u64,
}

impl Default for Room {
    fn default() -> Self {
        Self { left: MOST_COPIED, cut: 0 }
    }
}

/// Reads what a process has left.
pub(super) fn contents(image: &Image<'_>) -> Contents {
    let mut room = Room::default();
    let recording = RecordingLeft::new(image, &mut room.left, &mut room.cut);
    let mut records = Vec::new();
    let (_, spans) = left(image, room, recording.len(), |_, _, copy| records.push(copy));
    Contents { records, spans, recording }
}

/// Reads the records and the spans. Calls `each` with each event: its bytes in the file, its thread
/// and a copy. The recorder had kept `recorded` events and spans.
pub(super) fn left<'a>(
    image: &Image<'a>,
    mut room: Room,
    recorded: u64,
    mut each: impl FnMut(Cow<'a, [u8]>, &Thread, Vec<u8>),
) -> (Report, Vec<OwnSpan>) {
    let image::Left { records: all, mut cut } = image.left();
    let (mut records, mut last) = (0, None);
    let mut spans = Assembly::new(image, &mut room.left);
    for (time, record, thread) in all {
        match foreign::foreign(&record, image, image.process(), &thread) {
            Foreign::Event(copy) if copy.len() <= room.left => {
                room.left -= copy.len();
                records += 1;
                last = Some(time);
                spans.record(&copy, thread.0);
                each(record, &thread, copy);
            }
            Foreign::Part(copy) if copy.len() <= room.left => {
                room.left -= copy.len();
                spans.record(&copy, thread.0);
            }
            Foreign::Event(_) | Foreign::Part(_) | Foreign::Invalid => cut += 1,
        }
    }
    cut += spans.cut + room.cut;
    let spans = spans.finish(image.exits());
    let report = Report {
        process: image.process(),
        program: image.program().to_owned(),
        last,
        records,
        unwritten: 0,
        spans: spans.len() as u64,
        recorded,
        spans_outside: image.spans_outside(),
        cut,
        dropped: [image.dropped(), image.lost(), image.unsettled()]
            .into_iter()
            .fold(0, u64::saturating_add),
        refused: image.refused(),
        sinks_dropped: image.sinks_dropped(),
        outside: image.outside(),
        repeats: image.repeats(),
    };
    (report, spans)
}
