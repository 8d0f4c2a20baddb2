//! Conversions in a signal handler that interrupts conversions every 100 us.
//!
//! The timeline's records are shortest at the start of a process, and the first read chooses the
//! source. So most runs are short, each in a child: this program again, with the run as its
//! arguments. Only Linux has a timer that interrupts a given thread this often; elsewhere the
//! program prints that it did not run.

#[cfg(target_os = "linux")]
#[path = "../support/again.rs"]
mod again;
#[cfg(target_os = "linux")]
mod findings;
#[cfg(target_os = "linux")]
mod log;
#[cfg(target_os = "linux")]
#[path = "../support/os.rs"]
mod os;
#[cfg(target_os = "linux")]
#[path = "../support/reading.rs"]
mod reading;
#[cfg(target_os = "linux")]
mod runs;
#[cfg(target_os = "linux")]
mod storm;
#[cfg(target_os = "linux")]
mod timer;

fn main() {
    #[cfg(target_os = "linux")]
    runs::main();
    #[cfg(not(target_os = "linux"))]
    eprintln!("0 passed, all NOT RUN: no timer interrupts one given thread here");
}
