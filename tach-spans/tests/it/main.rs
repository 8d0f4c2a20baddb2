//! The options of spans, as users of the crate see them.

mod auto_traits;
