//! The sinks of a pipeline, and what of their events precedes the records of a process.

use tach_sinks::adapter::OpenSink;

use super::image::{Image, Lane};
use super::layout::hash;

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
pub(super) fn named(to: &[OpenSink<'_>]) -> Vec<Named> {
    let named = |OpenSink { name, is_remote, file }: &OpenSink<'_>| Named {
        name: name.clone(),
        is_file: file.is_some(),
        is_remote: *is_remote,
    };
    to.iter().map(named).collect()
}

/// Returns the sink with the name of a sink of a process.
fn counterpart(lane: &Lane<'_>, to: &[Named]) -> Option<usize> {
    let is_it = |it: &Named| it.is_file == lane.is_file && hash(it.name.as_bytes()) == lane.hash;
    to.iter().position(is_it)
}

/// Returns the batch of a sink.
pub(super) fn batch(image: &Image<'_>, lane: usize, to: &[Named]) -> Option<LeftBatch> {
    let lane = image.lane(lane).filter(|lane| !lane.batch.ends.is_empty())?;
    let to = counterpart(&lane, to).map(|at| (at, to[at].name.clone()));
    Some(LeftBatch { to, bytes: lane.batch.bytes.to_vec(), ends: lane.batch.ends })
}
