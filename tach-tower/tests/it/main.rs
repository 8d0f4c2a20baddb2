//! The public API, under tower's own tools and real time.

mod auto_traits;
mod exhausted;
mod header;
mod in_time;
mod kit;
mod manual;
