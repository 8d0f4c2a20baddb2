//! The program: its output, for machines and people, and its exit status.

mod bench;
mod calibrate;
mod doctor;
mod drift;
mod now;
mod skew;
mod support;
#[cfg(unix)]
mod terminal;
mod watch;
