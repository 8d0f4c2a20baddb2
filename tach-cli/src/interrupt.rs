//! Ctrl-C: a long measurement ends early, and prints its results so far.

use core::sync::atomic::{AtomicBool, Ordering};
use std::process;

use anyhow::Context as _;

/// The exit status of a shell's command that SIGINT ended.
const INTERRUPTED: i32 = 130;

// ORDERING: relaxed everywhere, since the flag says nothing about other memory.
static WAS_PRESSED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C is noted. The second one ends the program.
pub(crate) fn note() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if WAS_PRESSED.swap(true, Ordering::Relaxed) {
            process::exit(INTERRUPTED);
        }
    })
    .context("can't handle Ctrl-C")
}

pub(crate) fn was_pressed() -> bool {
    WAS_PRESSED.load(Ordering::Relaxed)
}
