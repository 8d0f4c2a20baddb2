//! The program: its output, for machines and people, and its exit status.

mod bench;
mod calibrate;
mod compare;
mod doctor;
mod drift;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod recover;
mod skew;
mod support;
#[cfg(unix)]
mod terminal;
mod watch;
