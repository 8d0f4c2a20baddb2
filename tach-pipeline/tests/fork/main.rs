//! Children that are forked without `exec`, and that log by the macros of their parent.
//!
//! The tests start this program again for each scene, since a scene forks while its threads log.
#![cfg_attr(not(unix), expect(unused, reason = "nothing forks"))]

#[cfg(unix)]
mod child;
#[cfg(unix)]
mod scenes;

fn main() {
    #[cfg(unix)]
    if !child::run() {
        scenes::run();
    }
}
