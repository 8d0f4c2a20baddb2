//! The actions of signals in a process that a test starts.
#![expect(unsafe_code, reason = "sets the actions of signals")]

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};

/// Under `nohup`, or as a job of a shell in the background, a process ignores some of these
/// signals, and a pipeline leaves such a signal alone.
pub(crate) fn use_defaults() {
    for signal in [SIGHUP, SIGINT, SIGQUIT] {
        // SAFETY: sets no function.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
