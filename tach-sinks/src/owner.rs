//! What an output tells its owner.

use core::time::Duration;
use std::io;

use crate::batch::Mark;
use crate::incident::Task;

/// Counts and reports what becomes of the events of an [`Output`](crate::output::Output).
pub trait Owner {
    /// What the owner knows of an event beside its time.
    type Label: Copy;

    /// Counts bytes that were written, and the events that are complete with them.
    fn wrote(&mut self, bytes: usize, events: usize);

    /// Counts a write that other writers of a pipe may have divided.
    fn was_divided(&mut self) {}

    /// Counts events that are lost. A report in the log would be lost too.
    fn lost(&mut self, events: &[Mark<Self::Label>]);

    /// Notes that the events were lost since the reader of a pipe has left.
    fn left_unread(&mut self, _error: &io::Error) {}

    /// Counts `count` of these events as given up, and the others as accepted. The receiver does
    /// not say which events it refused.
    fn gave_up(&mut self, events: &[Mark<Self::Label>], _count: u64) {
        self.lost(events);
    }

    /// Reports that the receiver has refused events for good. Returns `false` if an earlier report
    /// stands for this one.
    fn refused(&mut self, _error: &io::Error, _count: u64) -> bool {
        true
    }

    /// Reports that the receiver accepts everything, and warns.
    fn warned(&mut self, _warning: &str) {}

    /// Reports that a task fails while so many bytes wait, and the pause before it is tried again.
    fn failed(&mut self, task: Task, error: &io::Error, waiting: usize, retry_after: Duration);

    /// Reports that a task succeeds, whether it had failed or not.
    fn recovered(&mut self, task: Task);

    /// Notes whether the last try to write failed.
    fn fails(&mut self, _is_failing: bool) {}

    /// Notes whether later events may leave before others.
    fn overtakes(&mut self, _is_possible: bool) {}

    /// Returns whether the program has asked for a rotation of the file since the last call.
    fn asks_for_rotation(&mut self) -> bool {
        false
    }

    /// Returns the message for an error of the receiver, or else for the last one.
    fn reason(&self, error: Option<&io::Error>) -> String;
}
