//! Clocked spans and logs under the real SDK, and under a tracer that tells how it was called.

mod auto_traits;
mod direct;
mod given;
mod global;
mod layer;
mod logs;
mod manual;
mod reads;
mod stamped;
mod support;
mod threads;
mod traces;
