//! Writes events to a receiver: what fails is tried again, and what is lost is counted.

mod remote;
mod survival;

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::io;
use std::panic;
use std::sync::Arc;
use std::thread;

use tach_core::UnixTime;

use self::remote::Aside;
use crate::batch::{Batch, KEPT};
use crate::failure::{Failure, Pauses};
use crate::incident::Task;
use crate::notes::Notes;
use crate::owner::Owner;
use crate::receiver::Receiver;

/// The pause before the next try after the receiver returned `WouldBlock`.
const BLOCKED: Duration = Duration::from_millis(1);

/// A receiver, and what it has not taken yet.
#[expect(missing_debug_implementations, reason = "a program's writer need not have it")]
pub struct Output<O: Owner> {
    receiver: Box<dyn Receiver>,
    /// The failure to write.
    failure: Failure,
    /// The failure to rename the file for a rotation.
    rotation: Failure,
    /// Whether a rotation that was due has failed.
    is_rotation_due: bool,
    /// Events that the receiver did not accept. It may accept other events meanwhile.
    aside: Aside<O::Label>,
    /// Whether the file was deleted. What is written to it then can't be read by anybody.
    is_lost: bool,
    /// The reason why events were given up, for the flush that had to write them.
    pub given_up: Option<String>,
    /// Counts and reports what becomes of the events.
    pub owner: O,
    /// The file in which writes are noted, if records are to outlive the process, and the output's
    /// number in it.
    pub notes: Option<(Arc<dyn Notes>, usize)>,
}

impl<O: Owner> Output<O> {
    /// Creates an output without notes.
    pub fn new(receiver: Box<dyn Receiver>, owner: O) -> Self {
        Self {
            receiver,
            failure: Failure::new(Pauses::OF_WRITES),
            rotation: Failure::new(Pauses::OF_ROTATIONS),
            is_rotation_due: false,
            aside: Aside::new(),
            is_lost: false,
            given_up: None,
            owner,
            notes: None,
        }
    }

    /// Rotates the file if that is due at the start, and begins to compress and delete old files.
    /// A file that can't be rotated is written all the same.
    pub fn start(&mut self, now: UnixTime) {
        let Some(file) = self.receiver.file() else { return };
        file.begin(now);
        if let Err(error) = file.check_rotation() {
            let pause = self.rotation.happened();
            return self.owner.failed(Task::Rotate, &error, 0, pause);
        }
        if file.is_due_at_start() {
            return self.rotate(&mut Batch::new());
        }
        self.tidy();
    }

    /// Returns how long to wait before the next try. Zero if the last try succeeded.
    fn pause(&self) -> Duration {
        self.failure.pause().max(self.receiver_pause())
    }

    /// Returns the rest of the pause before the next request to a remote receiver: the pause that
    /// the receiver asks for, or that of its client.
    pub fn receiver_pause(&self) -> Duration {
        self.receiver.pause()
    }

    /// Returns whether a remote receiver asks not to be tried now.
    pub fn asks_for_pause(&self) -> bool {
        self.receiver.asks_for_pause()
    }

    /// Returns whether a remote receiver may still take events that it was sent.
    pub fn is_left(&self, batch: &Batch<O::Label>) -> bool {
        self.receiver.is_remote() && (batch.left() > 0 || !self.aside.is_empty())
    }

    /// Returns the reason why the receiver is not tried now.
    pub fn waits(&self) -> String {
        self.owner.reason(None)
    }

    /// Returns how long to wait until events can be tried, or `None` if no events wait.
    pub fn due(&self, batch: &Batch<O::Label>) -> Option<Duration> {
        let wait = if batch.is_empty() { self.aside.wait()? } else { Duration::ZERO };
        Some(wait.max(self.pause()))
    }

    /// Returns the number of bytes at which events no longer wait for more: half of a write, or
    /// `most` if that is less.
    pub fn enough(&self, most: usize) -> usize {
        if self.max_delay().is_zero() { 0 } else { most.min(self.receiver.most_bytes() / 2) }
    }

    /// Returns the capacity that an empty batch keeps: a batch of usual length fits, so that none
    /// is moved while it grows.
    fn kept(&self) -> usize {
        self.receiver.most_bytes().max(KEPT)
    }

    /// Returns how long events may wait for more events.
    pub fn max_delay(&self) -> Duration {
        self.receiver.max_delay()
    }

    /// Tells the owner whether the last try failed.
    pub fn publish_failure(&mut self) {
        self.owner.fails(self.failure.is_lasting());
    }

    /// Writes the events, unless the pause after a failure has not ended yet.
    pub fn write(&mut self, batch: &mut Batch<O::Label>) {
        if self.due(batch).is_some_and(|wait| wait.is_zero()) {
            let _reported = self.write_now(batch);
        }
    }

    /// Writes the events.
    ///
    /// # Errors
    ///
    /// Returns the reason, after reporting the failure. Unwritten events stay in the batch, except
    /// that events which a remote receiver [did not accept](Self::send) may be set aside or given
    /// up.
    pub fn write_now(&mut self, batch: &mut Batch<O::Label>) -> Result<(), String> {
        if self.receiver.is_remote() {
            return self.send(batch);
        }
        let mut has_failed = false;
        while batch.left() > 0 {
            self.follow(batch);
            if self.is_lost {
                self.reopen_now(batch).map_err(|error| self.failed(&error, batch.left()))?;
            }
            let next = match self.receiver.file() {
                Some(file) => file.next(batch),
                None => batch.next(self.receiver.most_bytes()),
            };
            self.note_write(batch, next.len());
            match attempt(|| self.receiver.write(next)) {
                Ok(0) => return Err(self.failed(&io::ErrorKind::WriteZero.into(), batch.left())),
                Ok(_) if self.is_deleted() => self.is_lost = true,
                Ok(count) => {
                    let (length, count) = (next.len(), count.min(next.len()));
                    if length > self.receiver.most_together() {
                        self.owner.was_divided();
                    }
                    self.wrote(count, batch);
                    // A partial write does not end a failure: a full disk may have had room for
                    // only a part.
                    if count == length {
                        has_failed |= self.succeeded();
                    }
                }
                Err(error) if self.is_left_by_its_reader(&error) => {
                    self.drop_unread(&error, batch);
                    return Ok(());
                }
                Err(error) if self.receiver.has_refused() => {
                    return Err(self.drop_refused(&error, batch));
                }
                Err(error) => return Err(self.failed(&error, batch.left())),
            }
        }
        batch.clear(self.kept());
        if self.succeeded() || has_failed {
            self.owner.recovered(Task::Write);
        }
        Ok(())
    }

    fn is_left_by_its_reader(&self, error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::BrokenPipe && self.receiver.ends_with_its_reader()
    }

    /// Drops the events since nobody is left to read them, as after `tool | head`. Reports that
    /// only to the owner: on stderr, it would be noise at a user's terminal.
    #[cold]
    fn drop_unread(&mut self, error: &io::Error, batch: &mut Batch<O::Label>) {
        self.drop_left(batch);
        self.owner.left_unread(error);
    }

    /// Drops the events, which the writer refuses for good, and returns the reason.
    #[cold]
    fn drop_refused(&mut self, error: &io::Error, batch: &mut Batch<O::Label>) -> String {
        let count = batch.events_left() as u64;
        self.drop_left(batch);
        self.owner.refused(error, count);
        self.owner.reason(Some(error))
    }

    fn drop_left(&mut self, batch: &mut Batch<O::Label>) {
        self.owner.lost(batch.marks_left());
        batch.clear(self.kept());
    }

    /// Counts the next `count` bytes of the batch as written.
    fn wrote(&mut self, count: usize, batch: &mut Batch<O::Label>) {
        let events = batch.wrote(count);
        self.owner.wrote(count, events);
    }

    /// Records that the writer works. Returns whether it had failed before.
    fn succeeded(&mut self) -> bool {
        self.owner.fails(false);
        self.failure.succeeded()
    }

    /// Flushes the writer.
    ///
    /// # Errors
    ///
    /// Returns the reason, after reporting the failure.
    pub fn flush(&mut self, batch: &Batch<O::Label>) -> Result<(), String> {
        self.report_tidying();
        if !self.receiver.is_remote() && self.receiver.has_refused() {
            return Err(self.waits());
        }
        attempt(|| self.receiver.flush()).map_err(|error| self.failed(&error, batch.left()))
    }

    /// Rotates the file if the program asks for that and it has a rotation. Otherwise opens its
    /// path again.
    pub fn renew(&mut self, batch: &mut Batch<O::Label>) {
        let is_asked = self.owner.asks_for_rotation();
        match self.receiver.file() {
            Some(file) if is_asked && file.is_rotated() => {
                if !file.is_empty() {
                    self.rotate(batch);
                }
            }
            _ => self.reopen(batch),
        }
    }

    /// Continues in a new file at the same path, or in the old one if no file can be opened. Then
    /// begins to compress and delete old files: if another process rotated the file, it left the
    /// compressing to the last process that writes it.
    fn reopen(&mut self, batch: &mut Batch<O::Label>) {
        match self.reopen_now(batch) {
            Ok(()) => self.owner.recovered(Task::Reopen),
            Err(error) => self.owner.failed(Task::Reopen, &error, 0, Duration::ZERO),
        }
        self.tidy();
    }

    /// Continues in a new file at the same path.
    ///
    /// # Errors
    ///
    /// If the new file can't be opened. The old file stays open.
    fn reopen_now(&mut self, batch: &mut Batch<O::Label>) -> io::Result<()> {
        if let Some(file) = self.receiver.file() {
            file.reopen()?;
            (self.is_lost, self.is_rotation_due) = (false, false);
            // If the old file ends within an event, write the whole event to the new file.
            batch.repeat_part();
            // The pending rotation was to begin a new file, which `reopen` has just done.
            if self.rotation.succeeded() {
                self.owner.recovered(Task::Rotate);
            }
        }
        Ok(())
    }

    /// Continues in a new file if the old one was moved away or must be rotated.
    fn follow(&mut self, batch: &mut Batch<O::Label>) {
        let Some(file) = self.receiver.file() else { return };
        if file.is_moved() {
            self.reopen(batch);
        } else if self.rotation.pause().is_zero() && (self.is_rotation_due || file.is_due(batch)) {
            self.rotate(batch);
        }
        self.report_tidying();
    }

    fn rotate(&mut self, batch: &mut Batch<O::Label>) {
        let Some(file) = self.receiver.file() else { return };
        if let Err(error) = file.move_away() {
            // Try again later: a rotation at the start, or one that the program asked for, would
            // not become due again.
            self.is_rotation_due = true;
            let pause = self.rotation.happened();
            self.owner.failed(Task::Rotate, &error, 0, pause);
            return self.tidy();
        }
        self.reopen(batch);
    }

    fn tidy(&mut self) {
        let Some(file) = self.receiver.file() else { return };
        if let Err(error) = file.tidy() {
            self.owner.failed(Task::Tidy, &error, 0, Duration::ZERO);
        }
    }

    /// Reports how the thread fared that compresses and deletes old files.
    fn report_tidying(&mut self) {
        match self.receiver.file().and_then(|file| file.tidied()) {
            None => {}
            Some(Ok(())) => self.owner.recovered(Task::Tidy),
            Some(Err(error)) => self.owner.failed(Task::Tidy, &error, 0, Duration::ZERO),
        }
    }

    fn is_deleted(&mut self) -> bool {
        self.receiver.file().is_some_and(|file| file.is_deleted())
    }

    /// Records and reports that the events can't be written, and returns the reason.
    #[cold]
    fn failed(&mut self, error: &io::Error, waiting: usize) -> String {
        let retry_after = self.failure.happened().max(self.receiver_pause());
        self.owner.failed(Task::Write, error, waiting, retry_after);
        self.owner.reason(Some(error))
    }
}

/// Calls the writer, and again as long as it is interrupted or would block. A terminal or a pipe
/// returns `WouldBlock` if somebody has made it non-blocking. A panic of the writer is returned as
/// an error.
fn attempt<R>(mut f: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        let result = panic::catch_unwind(AssertUnwindSafe(&mut f))
            .unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
        match result.as_ref().map_err(io::Error::kind) {
            Err(io::ErrorKind::Interrupted) => {}
            Err(io::ErrorKind::WouldBlock) => thread::sleep(BLOCKED),
            _ => return result,
        }
    }
}
