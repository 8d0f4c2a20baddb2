//! Conversions in the children of a process that forks while its threads convert.
//!
//! A child has only the thread that forked, so the work of the other threads stays half done for
//! ever. Appends are most frequent at the start of a process, so this program starts itself many
//! times, with the run as its arguments. On systems without a working `fork` (emscripten's fails)
//! it prints that it did not run.

#[cfg(unix)]
#[path = "../support/again.rs"]
mod again;
#[cfg(unix)]
mod child;
#[cfg(unix)]
#[path = "../support/forked.rs"]
mod forked;
#[cfg(unix)]
#[path = "../support/os.rs"]
mod os;
#[cfg(unix)]
#[path = "../support/reading.rs"]
mod reading;
#[cfg(unix)]
mod runs;

fn main() {
    #[cfg(unix)]
    if !cfg!(target_os = "emscripten") {
        runs::main();
    }
    if cfg!(any(not(unix), target_os = "emscripten")) {
        eprintln!("0 passed, all NOT RUN: nothing forks here");
    }
}
