//! Clocked spans and logs with the real SDK, and with a tracer that records its calls.

mod auto_traits;
mod direct;
mod early;
mod event_time;
mod explicit;
mod given;
mod global;
mod layer;
mod logs;
mod manual;
mod reads;
mod support;
mod threads;
mod times;
mod traces;
