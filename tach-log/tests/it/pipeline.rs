//! The pipeline: what is logged is written, whole, once, in time.

mod front;
mod lost;
mod support;
