//! The public API on the real machine.

mod allocation;
mod auto_traits;
mod instants;
mod order;
mod truth;
