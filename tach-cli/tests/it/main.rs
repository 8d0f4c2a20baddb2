//! The program: its output, for machines and people, and its exit status.

mod convert;
mod doctor;
mod now;
mod support;
#[cfg(unix)]
mod terminal;
