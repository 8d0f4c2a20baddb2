//! What precedes the records of a process: what a log says about it, and the batches of collectors.

use tach_core::UnixTime;

use super::image::{Batch, Image, Lane};
use super::layout::check;
use crate::sink::all::survival::Receiving;
use crate::stats::{Items, SinkCounts};

/// A sink of the pipeline.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// The name by which messages call the sink.
    pub(super) name: String,
    /// Whether the sink is a regular file.
    pub(super) is_file: bool,
    /// Whether the sink is a collector.
    pub(super) is_remote: bool,
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
    /// How many events the sinks had dropped, or had in memory alone since they failed, each for
    /// itself.
    pub(super) sinks_dropped: u64,
    /// How many rings found no room in the file. Their records are not there.
    pub(super) outside: u64,
    /// How often the last record that was written was repeated.
    pub(super) repeats: u64,
}

/// An item before the records.
pub(super) enum Item {
    Report(Report),
    Batch(LeftBatch),
}

/// What waited for a collector, which may have it already.
pub(super) struct LeftBatch {
    /// The number and the name of the collector. `None` if the pipeline lacks it: the report counts
    /// the events as dropped.
    pub(super) to: Option<(usize, String)>,
    pub(super) bytes: Vec<u8>,
    /// Where each event ends.
    pub(super) ends: Vec<usize>,
}

/// Returns the sinks as a file has them.
pub(super) fn named(to: &[Receiving<'_>]) -> Vec<Named> {
    let named = |(counts, file): &Receiving<'_>| {
        let SinkCounts { name, items, is_remote, .. } = *counts;
        // The address of a collector is the same for all that it takes.
        let name = match *items {
            Items::RECORDS => name.clone(),
            _ => format!("{name} for {}", items.as_str()),
        };
        Named { name, is_file: file.is_some(), is_remote: *is_remote }
    };
    to.iter().map(named).collect()
}

/// Returns the sink with the name of a sink of a process.
fn counterpart(lane: &Lane<'_>, to: &[Named]) -> Option<usize> {
    let is_it = |it: &Named| it.is_file == lane.is_file && hash(it.name.as_bytes()) == lane.hash;
    to.iter().position(is_it)
}

/// Returns a number for bytes. Finds damage, not malice.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).fold(bytes.len() as u64, check)
}

/// Returns the batches of collectors. Their number depends on nothing but the file, since a later
/// process goes on behind those that were passed on.
pub(super) fn batches(image: &Image<'_>, to: &[Named]) -> Vec<LeftBatch> {
    let lanes = image.lanes().unwrap_or_default();
    let left = lanes.iter().filter(|lane| !lane.batch.ends.is_empty()).map(|lane| {
        let Batch { bytes, ends } = &lane.batch;
        let to = counterpart(lane, to).map(|at| (at, to[at].name.clone()));
        LeftBatch { to, bytes: bytes.to_vec(), ends: ends.clone() }
    });
    left.collect()
}
