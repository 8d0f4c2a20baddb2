//! The program: its output, for machines and people, and its exit status.

mod doctor;
mod drift;
mod support;
#[cfg(unix)]
mod terminal;
