//! When a file is rotated, and how many files are kept.

#[cfg(feature = "gzip")]
mod gzip;
mod job;
mod moves;
mod names;
mod tidy;
mod zone;

use core::time::Duration;
use std::path::Path;

use tach_core::UnixTime;

pub use self::names::Names;
pub use self::tidy::Spawn;
pub(crate) use self::tidy::Tidying;
use self::zone::Zone;
use crate::batch::BATCH;
use crate::faults::Faults;

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The smallest limit for the size of a file: as much as one write of many events.
const LEAST_BYTES: u64 = BATCH as u64;

/// When a file is renamed and a new one begun, and how many of the old files are kept: see
/// [`File::rotate`](crate::File::rotate).
///
/// The file that is being written keeps its path: `tail -F`, programs that ship logs and a second
/// process always find the newest records there, without a link. An old file has one of the
/// [`Names`], by default the path and the time of its first record. If the path is a symbolic link,
/// the file behind it is rotated, and the link stays.
///
/// # Guarantees
///
/// A file holds whole records. If a rotation fails, the records are written to the old file, and
/// the rotation is tried again after one second, two and so on up to a minute: see
/// [`Task::Rotate`](crate::Task::Rotate). A compressed file takes the place of an old one only when
/// it is complete and on the disk.
///
/// A new file, and a compressed one, keep the rights of the file before: mode, owner and, on Linux,
/// access control list and label.
///
/// Only files with exactly such a name are renamed, compressed or deleted, and only regular ones of
/// the process's user that have no other name. In a folder that nobody else may write, also those
/// of the log's owner.
///
/// Several processes may write and rotate one path. A process notices within a second that another
/// one rotated the file, and follows at its next write; with
/// [`File::keep_open`](crate::File::keep_open) it follows only at its own next rotation. An old
/// file is compressed once no process writes it. If a process stops logging, its last old file
/// stays uncompressed until that process logs again or ends, and another rotation comes.
///
/// A privileged process does not rotate in a folder that other users may write: the log is written,
/// and an incident names the folder and the remedies.
///
/// # Platform-specific behavior
///
/// Processes agree by `flock`, which file systems of other hosts may lack, such as NFS. There, a
/// record may be lost that one process writes as another one replaces the file by its compressed
/// copy. Except on Unix only one process may rotate a file.
///
/// # Examples
///
/// ```no_run
/// use tach_sinks::{File, Rotation};
///
/// let rotation = Rotation::new().daily().max_bytes(100 * 1024 * 1024).keep(14);
/// let writer = File::new("app.log").rotate(rotation).open()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Rotation {
    max_bytes: Option<u64>,
    period: Option<Duration>,
    zone: Zone,
    names: Names,
    keep: usize,
    keep_bytes: Option<u64>,
    keep_for: Option<Duration>,
    compresses: bool,
    /// Whether the youngest old file is not compressed.
    delays: bool,
    at_start: bool,
}

impl Rotation {
    /// Creates options under which all old files are kept. A method must add when a file is
    /// rotated, or the file can't be opened: [`max_bytes`](Self::max_bytes),
    /// [`hourly`](Self::hourly), [`daily`](Self::daily) or [`at_start`](Self::at_start).
    ///
    /// # Examples
    ///
    /// ```
    /// let rotation = tach_sinks::Rotation::new().hourly();
    /// ```
    pub const fn new() -> Self {
        Self {
            max_bytes: None,
            period: None,
            zone: Zone::Utc,
            names: Names::Times,
            keep: usize::MAX,
            keep_bytes: None,
            keep_for: None,
            compresses: false,
            delays: false,
            at_start: false,
        }
    }

    /// Rotates a file before it is larger than `bytes`: 64 KiB or more. A file exceeds them only by
    /// a single longer record, by what other processes write to it within a second, or while
    /// rotations fail. Up to 64 KiB are written at once, so a file may be shorter by as much.
    ///
    /// # Examples
    ///
    /// ```
    /// let rotation = tach_sinks::Rotation::new().max_bytes(100 * 1024 * 1024);
    /// ```
    pub const fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Rotates a file before the first record of another day: in UTC, unless `Rotation::local_time`
    /// is called. The times of the records count, by the clock of the pipeline if they come from
    /// one. Records that another thread logged earlier, and that come late, follow in the new file.
    ///
    /// # Examples
    ///
    /// ```
    /// let rotation = tach_sinks::Rotation::new().daily();
    /// ```
    pub const fn daily(mut self) -> Self {
        self.period = Some(DAY);
        self
    }

    /// Rotates a file before the first record of another hour: see [`daily`](Self::daily).
    ///
    /// # Examples
    ///
    /// ```
    /// let rotation = tach_sinks::Rotation::new().hourly();
    /// ```
    pub const fn hourly(mut self) -> Self {
        self.period = Some(HOUR);
        self
    }

    /// Counts [days](Self::daily) and [hours](Self::hourly) by the system's zone, and writes local
    /// time and its offset in the names of old files, as in
    /// `app.log.20261124T000000.000012+0100`. Old files are kept by their times, whatever the
    /// offsets in their names.
    ///
    /// Hours also end when the offset changes, so the two hours with the same name at the end of
    /// summer time are two files.
    ///
    /// The zone is that of `Line::local_time`: the one that `TZ` names, or else the OS's.
    ///
    /// # Examples
    ///
    /// ```
    /// let rotation = tach_sinks::Rotation::new().daily().local_time();
    /// ```
    pub const fn local_time(mut self) -> Self {
        self.zone = Zone::Local;
        self
    }

    /// Sets the names of old files. Files with names of another kind, from before a change, are no
    /// longer compressed or deleted.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_sinks::{Names, Rotation};
    ///
    /// let rotation = Rotation::new().daily().keep(14).names(Names::Dates);
    /// ```
    pub const fn names(mut self, names: Names) -> Self {
        self.names = names;
        self
    }

    /// Rotates a file when it is opened, unless the file is empty. So a process that alone
    /// writes the path begins a new file; other processes that write the path follow to that file.
    ///
    /// # Examples
    ///
    /// ```
    /// let rotation = tach_sinks::Rotation::new().at_start().keep(10);
    /// ```
    pub const fn at_start(mut self) -> Self {
        self.at_start = true;
        self
    }

    /// Keeps at most `files` old files. A separate thread deletes the oldest others when the file
    /// is opened and after each rotation, so during a burst there may be some more for a moment. By
    /// default all are kept.
    ///
    /// If several limits are set, each applies.
    ///
    /// # Examples
    ///
    /// ```
    /// let rotation = tach_sinks::Rotation::new().daily().keep(14);
    /// ```
    pub const fn keep(mut self, files: usize) -> Self {
        self.keep = files;
        self
    }

    /// Keeps old files of at most `bytes` in all, as they are on the disk, and deletes the oldest
    /// others: see [`keep`](Self::keep). Files that are still to be [compressed](Self::gzip) are
    /// compressed first. The youngest old file stays even if it is longer, and the file that is
    /// being written does not count.
    ///
    /// Without `gzip`, fewer bytes than [`max_bytes`](Self::max_bytes) are a fault, with which the
    /// file can't be opened, since no whole file would fit.
    ///
    /// # Examples
    ///
    /// ```
    /// let rotation = tach_sinks::Rotation::new().daily().keep_bytes(10 * 1024 * 1024 * 1024);
    /// ```
    pub const fn keep_bytes(mut self, bytes: u64) -> Self {
        self.keep_bytes = Some(bytes);
        self
    }

    /// Keeps old files for `age` after their rotation, or after the last change of the file, and
    /// deletes the older ones: see [`keep`](Self::keep).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let month = Duration::from_secs(30 * 24 * 60 * 60);
    /// let rotation = tach_sinks::Rotation::new().daily().keep_for(month);
    /// ```
    pub const fn keep_for(mut self, age: Duration) -> Self {
        self.keep_for = Some(age);
        self
    }

    /// Adds a fault for each option that can't work for the file at `path`. `of` is the call that
    /// the messages name, on whose result `rotate` was called.
    pub(crate) fn check(&self, faults: &mut Faults, of: &str, path: &Path) {
        let Self { max_bytes, period, .. } = *self;
        let name = path.file_name().unwrap_or_default();
        let call = || format!("{of}.rotate(..)");
        faults.unless(
            name.len() <= names::LONGEST,
            call,
            "the name of a rotated file has 209 bytes at most, since those of its old files are longer",
        );
        let call = |rotation: &str| format!("{of}.rotate({rotation})");
        faults.unless(
            max_bytes.is_some() || period.is_some() || self.at_start,
            || call("Rotation::new()"),
            "a rotation has a size or a time: call Rotation::max_bytes, hourly, daily or at_start",
        );
        faults.unless(
            max_bytes.is_none_or(|bytes| bytes >= LEAST_BYTES),
            || call(&format!("Rotation::new().max_bytes({})", max_bytes.unwrap_or(0))),
            "a file has 65536 bytes (64 KiB) or more, since as many are written at once",
        );
        let (most, kept) = (max_bytes.unwrap_or(0), self.keep_bytes.unwrap_or(u64::MAX));
        faults.unless(
            kept >= most || self.compresses,
            || call(&format!("Rotation::new().max_bytes({most}).keep_bytes({kept})")),
            "old files of fewer bytes than one file has are kept only if they are compressed",
        );
    }

    /// Returns whether a file with `length` bytes, whose last record happened at `written`, must be
    /// rotated before `more` bytes of records from `now` on are written.
    pub(crate) fn is_due(
        &self,
        length: u64,
        more: usize,
        written: UnixTime,
        now: UnixTime,
    ) -> bool {
        let is_long = self.max_bytes.is_some_and(|most| length + more as u64 > most);
        length > 0 && (is_long || self.has_ended(written, now))
    }

    /// Returns whether records of these times belong to different files.
    pub(crate) fn has_ended(&self, written: UnixTime, now: UnixTime) -> bool {
        self.period.is_some_and(|period| self.zone.has_ended(period, written, now))
    }

    fn is_hourly(&self) -> bool {
        self.period == Some(HOUR)
    }

    /// Returns whether a file is rotated when it is opened.
    pub(crate) const fn is_at_start(&self) -> bool {
        self.at_start
    }

    /// Returns whether old files are ever compressed or deleted.
    fn tidies(&self) -> bool {
        self.keep < usize::MAX
            || self.keep_bytes.is_some()
            || self.keep_for.is_some()
            || self.compresses
    }
}

#[cfg(feature = "gzip")]
impl Rotation {
    /// Compresses old files as gzip does, through the crate `flate2`, on a thread of their own.
    ///
    /// A file that a process left uncompressed at its exit is compressed when the log is opened
    /// next, or after the next rotation.
    ///
    /// # Examples
    ///
    /// ```
    /// let rotation = tach_sinks::Rotation::new().daily().gzip();
    /// ```
    pub const fn gzip(mut self) -> Self {
        self.compresses = true;
        self
    }

    /// Compresses old files as [`gzip`](Self::gzip) does, except the youngest, as logrotate does
    /// with `delaycompress`. Programs that remember where they stopped reading, such as logtail2,
    /// find the rest of that file after a rotation.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_sinks::{Names, Rotation};
    ///
    /// let rotation = Rotation::new().daily().names(Names::Dates).delay_gzip();
    /// ```
    pub const fn delay_gzip(mut self) -> Self {
        self.delays = true;
        self.gzip()
    }
}

impl Default for Rotation {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_rotated_by_size_and_by_time() {
        let at = |(hour, minute): (u64, u64)| {
            UnixTime::EPOCH + Duration::from_secs(hour * 3600 + minute * 60)
        };
        let size = Rotation::new().max_bytes(100_000);
        let (hourly, daily) = (Rotation::new().hourly(), Rotation::new().daily());
        let cases = [
            (size, 99_000, 1_000, (1, 0), (90, 0), false),
            (size, 99_000, 1_001, (1, 0), (1, 0), true),
            (size, 0, 200_000, (1, 0), (1, 0), false),
            (hourly, 1, 1, (1, 0), (1, 59), false),
            (hourly, 1, 1, (1, 59), (2, 0), true),
            (hourly, 0, 1, (1, 59), (2, 0), false),
            // The clock was set back.
            (hourly, 1, 1, (2, 0), (1, 59), false),
            (daily, 1, 1, (24, 0), (47, 59), false),
            (daily, 1, 1, (47, 59), (48, 0), true),
            (daily.max_bytes(100_000), 100_000, 1, (24, 0), (24, 0), true),
            (Rotation::new(), 1 << 40, 1, (0, 0), (1_000, 0), false),
        ];
        for (rotation, length, more, written, now, expected) in cases {
            let (written, now) = (at(written), at(now));
            assert_eq!(
                rotation.is_due(length, more, written, now),
                expected,
                "{rotation:?} {length} {more} {written} {now}"
            );
        }
    }
}
