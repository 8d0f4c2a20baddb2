//! The method of a pipeline's builder.

use std::path::PathBuf;

use crate::pipeline::builder::Builder;
use crate::pipeline::builder::survival::{Kept, Open, Options};

impl Builder {
    /// Keeps the queues in a mapped file in `folder`, so that the records in them outlive the
    /// process. The pipeline has up to 16 sinks, of any kind.
    ///
    /// # Guarantees
    ///
    /// A record whose call has returned is not lost by the death of the process, however the
    /// process dies: by SIGKILL or the kernel's OOM killer, by `abort`, SIGSEGV, `_exit` or `exec`.
    /// The next pipeline that is built with the same folder
    /// passes the record on to its own sinks, before its first own record: with its time and its
    /// thread, in the order of its thread, also if that process is killed at any moment. A regular
    /// file gets each record once. If the death cut a line of the file in half, the line is
    /// completed.
    ///
    /// To any other sink, such as a pipe, a socket, the journal or a collector, only the write that
    /// the death interrupted may come twice, and the events of a collector's requests that had
    /// failed before and may have arrived nevertheless: a record before these events says how many
    /// they are. While a collector is away, up to [`buffer_bytes`](crate::Sink::buffer_bytes) of
    /// events wait in the file. They count as sent when the collector has accepted them.
    ///
    /// Before the records of a process, one record with the target `tach_pipeline` says which
    /// process has ended, how many records follow, how many events that it had formatted for a sink
    /// precede them (`unwritten`), and how many are damaged (`cut`). It also says what is lost
    /// without a word in the log: records that the queues had `dropped`, records over the rate
    /// limit (`refused`) and events that sinks had dropped, each for itself (`sinks_dropped`). Each
    /// of the records has the field `recovered_pid`.
    ///
    /// After the records of a process, sinks of spans get its spans that were open, with the
    /// attribute [`tach.unfinished`](Self::unfinished_spans), also if that option is not set: with
    /// their starts, parents, fields and events so far, and the attribute `recovered_pid`. Their
    /// end is the last moment that is known of the process: its last record, or the last time at
    /// which the pipeline wrote. Spans that had ended and were not passed on come as ended. So do
    /// those that waited for the decision of a [tail](Self::tail): their traces are kept. A process
    /// that ends by an exit, or by a signal that the pipeline flushes for, leaves no open spans to
    /// the next one, also if it is killed while it flushes. Without a [flush at the
    /// exit](Self::without_flush_at_exit) an exit can't be told from a kill. The report counts the
    /// spans (`spans`).
    ///
    /// If the process had a [flight recorder](Self::flight_recorder), the next one's recorder
    /// writes one file for it, unless the process has ended by an exit: with all that the recorder
    /// had kept, the records that were in the queues, and the spans that were open. A thread of its
    /// own writes the file, and a [flush](crate::Pipeline::flush) waits for it. The file is
    /// [reported](crate::Incident::RecordingRecovered). A next process whose recorder has no
    /// folder, or that has no recorder, discards the items. The report counts them (`recorded`).
    ///
    /// A file of a process that lives is never touched: neither by another program with the same
    /// folder, nor by a child. Before Linux 4.14, which hides some children, there is no file.
    ///
    /// Not promised:
    ///
    /// - Power loss and kernel panics: nothing is synced.
    /// - What [`WhenFull`](crate::WhenFull) drops, a rate limit refuses, or one of several sinks
    ///   drops since it fails or [stalls](crate::Sink::stall_timeout). All of these are counted.
    /// - What a filter keeps for a backtrace.
    /// - The events of a sink that the next pipeline lacks. Those that it was writing are
    ///   counted as `dropped`, by the report or later; those in the queues are not. Sinks
    ///   are the same if their [names](crate::SinkStats::name) are, such as their paths. A file takes
    ///   over from a file with another path, if neither has a counterpart.
    /// - Half of an event in a pipe or a stream: it stays, and the whole event comes later.
    /// - The order between processes, if a sink fails or has no room at the start, or a queue that
    ///   drops what finds no room is half full: then own records may precede the recovered ones.
    /// - The count of repeated records that is not written yet: the report has it.
    /// - The durations of spans.
    /// - Of the flight recorder, more than the last 16 MiB, or less if the file has no room.
    /// - Open and waiting spans beyond 8 MiB: the report counts them (`spans_outside`). Each is
    ///   missing, or lacks its last parts.
    /// - A program that overwrites its own memory. Damage is found by the lengths of records and by
    ///   checksums of the tables, but no checksum covers a text.
    /// - What finds no room: a file has up to 64 MiB and 1,024 rings, and its disk may be full. The
    ///   ring of a thread that has ended is free once its records count. With
    ///   [`WhenFull::Block`](crate::WhenFull::Block), the first record of a thread waits for a
    ///   ring, for a second at most. Then the log goes on without, and the report counts the rings
    ///   outside of the file (`rings_outside`). More than 1,000 threads that live and log have such
    ///   rings.
    /// - Once each, while the file has no room for the events of its sinks: their records stay in
    ///   the queues for up to a second, and what a sink has written of them in that time comes
    ///   twice.
    /// - A half of a line in a log that other processes write too: if they have written behind it,
    ///   or have a file open that was rotated, it stays, and the whole line comes later.
    /// - An event in a log that other processes write too, if one of them has written the very same
    ///   line behind the place where the death interrupted the write: that line counts as the
    ///   event. Lines with a time in microseconds or a process number differ.
    /// - One write of a file that was compressed, or moved to another folder, between the death and
    ///   the next start: its lines may come twice.
    ///
    /// # The folder
    ///
    /// It is created with the mode 0700. tmpfs is best, such as `/run` or `/dev/shm`: stores there
    /// never wait for a disk. On a disk, the kernel writes busy pages every few seconds, and
    /// records also outlive a restart of the machine. The files contain all values before
    /// [redaction](Self::redact), and have the mode 0600.
    ///
    /// A file has 500 KiB besides the queues, and 200 KiB for each of several sinks, or more if a
    /// sink is behind: up to twice its [`buffer_bytes`](crate::Sink::buffer_bytes). Spans that wait
    /// take two parts of 128 KiB, or of up to 8 MiB if they are many. A flight recorder takes 1 MiB
    /// at first, then in turn 4 and 16 MiB more, up to its
    /// [`max_bytes`](crate::FlightRecorder::max_bytes).
    ///
    /// The file is deleted when the pipeline ends, or by the next start. An [installed](Self::init)
    /// pipeline ends with its process, so its file stays until the next start, and says that
    /// nothing is left in it. If 32 files of processes that have ended are there, or the folder is
    /// full of them, a process passes their records on and creates no file: its own records don't
    /// outlive it, and if it is killed too, up to 64 KiB come twice. That may happen to a program
    /// that ends soon after each start. A file of another version of this crate, or a damaged file,
    /// stays. All of this is [reported](Self::on_incident).
    ///
    /// # Errors
    ///
    /// [`build`](Self::build) fails if two sinks have one file, or if there are more than 16 sinks:
    /// a collector counts once for each signal. Also if the folder is on NFS, FUSE, 9p or another
    /// file system whose mappings can't be trusted, belongs to another user, lets other users in,
    /// or has no room.
    ///
    /// # Platform-specific behavior
    ///
    /// With the feature `survive`, on Linux with 64 bits. On a file system that copies or
    /// compresses each block when it is written, such as Btrfs, a full disk may end the process.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// # let folder = std::env::temp_dir().join(format!("tach-doc-survive-{}", std::process::id()));
    /// # let (log, survivors) = (folder.join("app.log"), folder.join("survivors"));
    /// let guard = Pipeline::builder().sink(Sink::file(&log)).survive(&survivors).build()?;
    /// log::Log::log(
    ///     guard.pipeline(),
    ///     &log::Record::builder().args(format_args!("outlives the process")).build(),
    /// );
    /// // From here on, the record is in the log or in the folder, whatever happens.
    /// # drop(guard);
    /// # std::fs::remove_dir_all(folder).unwrap();
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn survive(mut self, folder: impl Into<PathBuf>) -> Self {
        let (folder, open) = (folder.into(), super::open as Open);
        self.survival = Options(Some(Kept { folder, open }));
        self
    }
}
