//! Three hops on loopback: a client of reqwest, a service of axum, and two services of tonic.

pub mod chain;
pub mod front;
pub mod journal;
