//! Sinks that are open, and that no thread serves yet.

use std::sync::Arc;

use tach_sinks::adapter::Receiver;

use crate::faults::Faults;
use crate::filter::Levels;
use crate::frame::Wanted;
use crate::sink::Sink;
use crate::sink::formatter::Formatter;
use crate::sink::known::Known;
use crate::sink::target::Lane;
use crate::sink::worker::Patience;
use crate::stats::SinkCounts;

/// Sinks that are open.
pub(crate) struct Opened(pub(super) Vec<OpenSink>);

pub(super) struct OpenSink {
    pub(super) lanes: Vec<OpenLane>,
    pub(super) levels: Levels,
    pub(super) patience: Patience,
    pub(super) buffer_bytes: usize,
    /// The sink's key, if the sink is from a configuration file.
    pub(super) place: Option<String>,
    /// The name of the receiver, which the sink's own name may replace.
    pub(super) receiver: String,
    pub(super) written: Option<u64>,
}

pub(super) struct OpenLane {
    /// The index among all lanes of the pipeline.
    pub(super) index: usize,
    pub(super) writer: Box<dyn Receiver>,
    pub(super) formatter: Formatter,
    pub(super) counts: Arc<SinkCounts>,
}

impl OpenSink {
    /// Opens a sink, and returns the faults of its options, of which one may be that it can't be
    /// opened.
    fn new(mut sink: Sink, patience: Patience, most: usize) -> (Option<Self>, Faults) {
        let mut faults = Faults::default();
        sink.check(&mut faults);
        let place = sink.common.place.take();
        let receiver = sink.to.0.name();
        let levels = sink.levels(sink.common.name.as_ref().unwrap_or(&receiver).clone().as_str());
        let levels = faults.take(levels);
        let (sink, target) = (sink.common, sink.to.0);
        let format = match &sink.envelope {
            Some(envelope) => envelope(sink.format),
            None => sink.format,
        };
        let lanes = faults.take(target.open(format));
        if let Some(place) = &place {
            faults.at(place);
        }
        let Some((levels, lanes)) = levels.zip(lanes) else { return (None, faults) };
        let lanes = lanes.into_iter().map(|Lane { name: own, content, writer }| OpenLane {
            index: 0,
            counts: Arc::new(SinkCounts::new(
                sink.name.clone().unwrap_or(own),
                content.items,
                writer.is_remote(),
            )),
            writer,
            formatter: Formatter {
                content,
                is_colored: sink.is_colored,
                most,
                most_line: sink.max_line_bytes,
            },
        });
        let open = Self {
            lanes: lanes.collect(),
            levels: levels.only(sink.only),
            patience: sink.stall_timeout.map_or(patience, Patience::Stalled),
            buffer_bytes: sink.buffer_bytes,
            place,
            receiver,
            written: sink.written,
        };
        (Some(open), faults)
    }
}

impl Opened {
    /// Returns the parts of a record that some sink needs.
    pub(crate) fn wanted(&self) -> Wanted {
        let mut wanted = Wanted::default();
        for lane in self.lanes() {
            lane.formatter.content.add_to(&mut wanted);
        }
        wanted
    }

    /// Returns the fields that some sink writes with a key for which `is_redacted` returns `true`.
    pub(crate) fn renamed(&self, is_redacted: impl Fn(&str) -> bool) -> Vec<String> {
        let formats = self.lanes().filter_map(|lane| lane.formatter.content.format.as_ref());
        let renames =
            formats.flat_map(|format| format.renames()).filter(|(_, key)| is_redacted(key));
        renames.map(|(field, _)| field.to_owned()).collect()
    }

    /// Opens the sinks, and adds a fault for each sink that can't be opened. `patience` is the
    /// default for sinks that don't set a stall timeout. A formatted record is cut to `most` bytes.
    /// The `known` sinks are open already.
    pub(crate) fn new(
        sinks: Vec<Sink>,
        patience: Patience,
        most: usize,
        known: &[Known],
        faults: &mut Faults,
    ) -> Self {
        let open = |sink| {
            let (open, mut found) = OpenSink::new(sink, patience, most);
            faults.append(&mut found);
            open
        };
        let mut open: Vec<_> = sinks.into_iter().filter_map(open).collect();
        let lanes = open.iter_mut().flat_map(|sink| &mut sink.lanes);
        lanes.zip(0..).for_each(|(lane, index)| lane.index = index);
        let mut opened = Self(open);
        refuse_shared_rotations(&[known, &opened.known()].concat(), faults);
        opened
    }

    /// Returns what is known of each sink from now on.
    pub(crate) fn known(&mut self) -> Vec<Known> {
        let known = |sink: &mut OpenSink| {
            let (count, first) = (sink.lanes.len(), &mut sink.lanes[0]);
            Known {
                indexes: first.index..first.index + count,
                name: first.counts.name.clone(),
                receiver: sink.receiver.clone(),
                written: sink.written,
                place: sink.place.clone(),
                is_of_records: first.formatter.takes_events() && count == 1,
                file: first.writer.file().and_then(|file| file.known()),
            }
        };
        self.0.iter_mut().map(known).collect()
    }

    /// Returns the filter of each lane, in the order of the [sinks](Sinks).
    pub(crate) fn levels(&self) -> impl Iterator<Item = Levels> {
        self.0.iter().flat_map(|sink| sink.lanes.iter().map(|_| sink.levels.clone()))
    }

    /// Returns whether the back end itself writes to the only sink.
    pub(crate) fn is_alone(&self) -> bool {
        self.0.len() == 1 && !self.lanes().any(|lane| lane.writer.is_remote())
    }

    pub(super) fn lanes(&self) -> impl Iterator<Item = &OpenLane> {
        self.0.iter().flat_map(|sink| &sink.lanes)
    }
}

/// Adds a fault for each file that two sinks write and at least one of them rotates. The other sink
/// would go on writing to the old file, which may be compressed or deleted at any time.
fn refuse_shared_rotations(known: &[Known], faults: &mut Faults) {
    for (at, one) in known.iter().enumerate() {
        for other in &known[at + 1..] {
            let shares = one.file.as_ref().zip(other.file.as_ref());
            let shares = shares.is_some_and(|(one, other)| one.shares_rotation(other));
            let call = || format!("Sink::rotate for {} and {}", one.name, other.name);
            let wanted =
                "these are one file, and a rotated file has one sink; give each sink its own file";
            let mut found = Faults::default();
            found.unless(!shares, call, wanted);
            let places: Vec<_> = one.place.iter().chain(&other.place).map(String::as_str).collect();
            found.at(&places.join(" and "));
            faults.append(&mut found);
        }
    }
}
