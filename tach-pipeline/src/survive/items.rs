//! What precedes the records of a process: what a log says about it, and the events of its sinks in
//! their formats.

use tach_core::UnixTime;

use super::image::{Image, Lane};
use super::layout::check;
use crate::sink::spools::Receiving;

/// A sink of the pipeline.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// The name by which messages call the sink.
    pub(super) name: String,
    /// Whether the sink is a regular file.
    pub(super) is_file: bool,
}

/// What a log says about a process before its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) process: u64,
    pub(super) program: String,
    /// When the process last logged a record that follows.
    pub(super) last: Option<UnixTime>,
    /// How many records follow.
    pub(super) records: u64,
    /// How many events of sinks follow, in the format of their sink.
    pub(super) unwritten: u64,
    /// How many spans had ended and were in the queues. They are lost.
    pub(super) spans_lost: u64,
    /// How many events and spans a flight recorder had kept.
    pub(super) recorded: u64,
    /// How many records were damaged.
    pub(super) cut: u64,
    /// How many records the process had dropped.
    pub(super) dropped: u64,
    /// How many records were over the rate limit.
    pub(super) refused: u64,
    /// How many events the sinks had dropped, each for itself.
    pub(super) sinks_dropped: u64,
    /// How many rings found no room in the file. Their records are not there.
    pub(super) outside: u64,
    /// How often the last record that was written was repeated.
    pub(super) repeats: u64,
}

/// Events that a sink may have written already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Doubtful {
    pub(super) process: u64,
    pub(super) sink: String,
    /// How many of the next events of the sink.
    pub(super) count: u64,
}

/// Events of a sink that the pipeline does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Homeless {
    pub(super) process: u64,
    pub(super) sink: String,
    pub(super) count: u64,
}

/// An item before the records.
pub(super) enum Item {
    Report(Report),
    Doubtful(Doubtful),
    /// The number of a sink, events in its format, and where each of them ends.
    Events(usize, Vec<u8>, Vec<usize>),
    /// They are lost, since the pipeline lacks the sink.
    Homeless(Homeless),
}

/// Returns the sinks as a file has them.
pub(super) fn named(to: &[Receiving<'_>]) -> Vec<Named> {
    let named = |Receiving { name, file }: &Receiving<'_>| Named {
        name: name.clone(),
        is_file: file.is_some(),
    };
    to.iter().map(named).collect()
}

/// Returns for each sink of a process the sink that is its counterpart: the one of that name. A
/// file's may also be the next file that has none of these names.
pub(super) fn counterparts(lanes: &[Lane<'_>], to: &[Named]) -> Vec<Option<usize>> {
    let mut is_free = vec![true; to.len()];
    let mut take = |fits: &dyn Fn(&Named) -> bool| {
        let mut all = to.iter().zip(&is_free);
        let at = all.position(|(named, is_free)| *is_free && fits(named))?;
        is_free[at] = false;
        Some(at)
    };
    let mut found: Vec<_> = lanes
        .iter()
        .map(|lane| take(&|it| it.is_file == lane.is_file && hash(&it.name) == lane.hash))
        .collect();
    for (_, found) in lanes.iter().zip(&mut found).filter(|(lane, _)| lane.is_file) {
        *found = found.or_else(|| take(&|it| it.is_file));
    }
    found
}

/// Returns a number for a sink's name, which may be too long for the file.
pub(super) fn hash(name: &str) -> u64 {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    name.as_bytes().chunks(8).map(word).fold(name.len() as u64, check)
}

/// Returns how many items the events of sinks are that are no regular files.
pub(super) fn events_of(image: &Image<'_>) -> usize {
    events(image, &[]).len()
}

/// Returns the events of sinks that are no regular files. Their number depends on nothing but the
/// file, since a later process goes on behind those that were passed on.
pub(super) fn events(image: &Image<'_>, to: &[Named]) -> Vec<Item> {
    let Some(lanes) = image.lanes() else { return Vec::new() };
    let mut items = Vec::new();
    for (lane, counterpart) in lanes.iter().zip(counterparts(&lanes, to)) {
        for spool in lane.spools.iter().filter(|_| !lane.is_file) {
            let (bytes, ends) = spool.left();
            let tried = spool.doubtful();
            if tried > 0 {
                let sink = lane.name.to_owned();
                let (process, count) = (image.process(), tried as u64);
                items.push(Item::Doubtful(Doubtful { process, sink, count }));
            }
            items.push(if let Some(lane) = counterpart {
                Item::Events(lane, bytes.to_owned(), ends)
            } else {
                let (process, sink) = (image.process(), lane.name.to_owned());
                Item::Homeless(Homeless { process, sink, count: ends.len() as u64 })
            });
        }
    }
    items
}
