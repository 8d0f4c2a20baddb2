//! Helpers that the tests of several crates share. Nothing of this is published.

mod alone;
mod captured;
mod implements;
pub mod otlp;
mod program;
#[cfg(feature = "formats")]
mod raw;
pub mod receiver;
#[cfg(unix)]
pub mod users;

pub use self::alone::is_alone;
pub use self::captured::Captured;
pub use self::program::{assert_test_passes, test_of_this_program, this_program, wait_for};
#[cfg(feature = "formats")]
pub use self::raw::Raw;
