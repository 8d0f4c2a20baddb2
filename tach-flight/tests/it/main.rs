//! The options of the flight recorder, as users of the crate see them.

mod auto_traits;
