//! dropshot's logging.

#[macro_use]
extern crate slog;

pub mod logging;
pub mod test_util {
    //! What its tests use.

    use std::fmt::Debug;
    use std::fs;
    use std::path::Path;

    use chrono::{DateTime, Utc};
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    include!("taken.rs");
}

pub use logging::ConfigLogging;
