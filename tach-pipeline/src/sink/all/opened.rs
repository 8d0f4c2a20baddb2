//! Sinks that are open, and that no thread serves yet.

use std::sync::Arc;

use crate::faults::Faults;
use crate::filter::Levels;
use crate::frame::Wanted;
use crate::sink::Sink;
use crate::sink::formatter::Formatter;
use crate::sink::target::{Lane, Writer};
use crate::sink::worker::Patience;
use crate::stats::{Counts, SinkCounts};

/// Sinks that are open.
pub(crate) struct Opened(pub(super) Vec<OpenSink>);

pub(super) struct OpenSink {
    pub(super) lanes: Vec<OpenLane>,
    pub(super) levels: Levels,
    pub(super) patience: Patience,
    pub(super) buffer_bytes: usize,
    /// The sink's key, if the sink is from a configuration file.
    place: Option<String>,
}

pub(super) struct OpenLane {
    pub(super) writer: Box<dyn Writer>,
    pub(super) formatter: Formatter,
    pub(super) counts: Arc<SinkCounts>,
}

impl OpenSink {
    /// Opens a sink, and returns the faults of its options, of which one may be that it can't be
    /// opened.
    fn new(mut sink: Sink, patience: Patience, most: usize) -> (Option<Self>, Faults) {
        let mut faults = Faults::default();
        sink.check(&mut faults);
        let place = sink.place.take();
        let (name, target) = (sink.name, sink.to.0);
        let named = name.clone().unwrap_or_else(|| target.name());
        let levels =
            faults.take(sink.filter.map_err(|fault| fault.of(&format!("the sink {named}"))));
        let format = match &sink.envelope {
            Some(envelope) => envelope.around(sink.format),
            None => sink.format,
        };
        let lanes = faults.take(target.open(format));
        if let Some(place) = &place {
            faults.at(place);
        }
        let Some((levels, lanes)) = levels.zip(lanes) else { return (None, faults) };
        let lanes = lanes.into_iter().map(|Lane { name: own, content, writer }| OpenLane {
            counts: Arc::new(SinkCounts::new(
                name.clone().unwrap_or(own),
                content.items(),
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
        let formats = self.lanes().filter_map(|lane| lane.formatter.content.format());
        let renames =
            formats.flat_map(|format| format.renames()).filter(|(_, key)| is_redacted(key));
        renames.map(|(field, _)| field.to_owned()).collect()
    }

    /// Opens the sinks, and adds a fault for each sink that can't be opened. `patience` is the
    /// default for sinks that don't set a stall timeout. A formatted record is cut to `most` bytes.
    pub(crate) fn new(
        sinks: Vec<Sink>,
        patience: Patience,
        most: usize,
        faults: &mut Faults,
    ) -> Self {
        let open = |sink| {
            let (open, mut found) = OpenSink::new(sink, patience, most);
            faults.append(&mut found);
            open
        };
        let mut open: Vec<_> = sinks.into_iter().filter_map(open).collect();
        refuse_shared_rotations(&mut open, faults);
        Self(open)
    }

    /// Returns the filter of each lane, in the order of the [counts](Self::counts).
    pub(crate) fn levels(&self) -> impl Iterator<Item = Levels> {
        self.0.iter().flat_map(|sink| sink.lanes.iter().map(|_| sink.levels.clone()))
    }

    pub(crate) fn counts(&self) -> Counts {
        let sinks = self.lanes().map(|lane| Arc::clone(&lane.counts)).collect();
        Counts { sinks, ..Counts::default() }
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
fn refuse_shared_rotations(sinks: &mut [OpenSink], faults: &mut Faults) {
    let files = sinks.iter_mut().flat_map(|sink| {
        let OpenSink { lanes, place, .. } = sink;
        let place = place.as_deref();
        lanes.iter_mut().filter_map(move |OpenLane { writer, counts, .. }| {
            Some((place, &counts.name, &*writer.file()?))
        })
    });
    let files: Vec<_> = files.collect();
    for (at, (place, name, file)) in files.iter().enumerate() {
        for (other_place, other, second) in &files[at + 1..] {
            let call = || format!("Sink::rotate for {name} and {other}");
            let wanted =
                "these are one file, and a rotated file has one sink; give each sink its own file";
            let mut found = Faults::default();
            found.unless(!file.shares_rotation(second), call, wanted);
            let places: Vec<_> = [*place, *other_place].into_iter().flatten().collect();
            found.at(&places.join(" and "));
            faults.append(&mut found);
        }
    }
}
