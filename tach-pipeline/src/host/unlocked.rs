//! The standard streams without the locks of the standard library.
//!
//! A thread that holds `io::stderr().lock()` and logs may wait for the back end, so the back end
//! must not wait for that lock. In a forked process, a thread that does not exist there may hold
//! the lock.

use core::time::Duration;
use std::io;

use super::platform;

/// A standard stream: on Unix without a lock or a buffer, elsewhere the standard library's.
pub(crate) struct Unlocked<S>(pub(crate) S);

/// How long to wait for room in stderr, such as a terminal that nobody reads.
const FOR_ROOM: Duration = Duration::from_millis(50);

/// Prints a line on stderr, unless that would wait. If it fails, there is no place left to report
/// it.
pub(crate) fn to_stderr(line: core::fmt::Arguments<'_>) {
    if !platform::has_room(&io::stderr(), FOR_ROOM) {
        return;
    }
    let line = format!("tach-pipeline: {line}\n");
    let _best_effort = io::Write::write_all(&mut Unlocked(io::stderr()), line.as_bytes());
}
