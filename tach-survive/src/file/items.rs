//! The sinks of a pipeline, and what of their events precedes the records of a process.

use tach_core::UnixTime;
use tach_record::keep::Piece;
use tach_sinks::adapter::OpenSink;

use super::image::{Batch, Image};
use super::layout::hash;
use super::reports;

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

/// Returns the sinks as a file has them.
pub(super) fn named(to: &[OpenSink<'_>]) -> Vec<Named> {
    let named = |OpenSink { name, is_remote, file }: &OpenSink<'_>| Named {
        name: name.clone(),
        is_file: file.is_some(),
        is_remote: *is_remote,
    };
    to.iter().map(named).collect()
}

/// Returns what waited for a collector of a process, for the collector with its name. The report
/// counts the events, also if there is none.
pub(super) fn batch(image: &Image<'_>, lane: usize, to: &[Named], now: UnixTime) -> Option<Piece> {
    let lane = image.lane(lane).filter(|lane| !lane.batch.ends.is_empty())?;
    let sink = to.iter().position(|it| hash(it.name.as_bytes()) == lane.hash)?;
    let Batch { bytes, ends } = lane.batch;
    let report = reports::doubtful(image.process(), ends.len() as u64, &to[sink].name, now);
    Some(Piece::Batch { report, sink, bytes: bytes.to_vec(), ends })
}
