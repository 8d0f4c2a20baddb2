//! quanta's upkeep thread: a refresher of the coarse clock.

use std::time::Duration;

use tach_core::Error;
use tach_core::coarse::Refresher;

pub struct Upkeep(Duration);

impl Upkeep {
    pub fn new(interval: Duration) -> Self {
        Self(interval)
    }

    pub fn start(self) -> Result<Refresher, Error> {
        Refresher::spawn(self.0)
    }
}

#[cfg(test)]
include!(concat!(env!("PEER_TESTS"), "/upkeep.rs"));
