//! The public API with tower's own tools, mostly in real time.

mod auto_traits;
mod exhausted;
mod header;
mod in_time;
mod kit;
mod manual;
