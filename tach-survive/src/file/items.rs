//! The items that precede the records of a process: the batches that waited for collectors.

use tach_core::UnixTime;
use tach_record::keep::Piece;
use tach_sinks::adapter::Named;

use super::image::{Batch, Image};
use super::layout::hash;
use super::reports;

/// Returns the events that waited for a collector of a process, for our collector with the same
/// name. If there is none, the report about the process still counts them.
pub(super) fn batch(image: &Image<'_>, lane: usize, to: &[Named], now: UnixTime) -> Option<Piece> {
    let lane = image.lane(lane).filter(|lane| !lane.batch.ends.is_empty())?;
    let sink = to.iter().position(|it| hash(it.name.as_bytes()) == lane.hash)?;
    let Batch { bytes, ends } = lane.batch;
    let report = reports::doubtful(image.process(), ends.len() as u64, &to[sink].name, now);
    Some(Piece::Batch { report, sink, bytes: bytes.to_vec(), ends })
}
