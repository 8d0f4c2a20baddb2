//! What the crate exports, as its user sees it.

mod auto_traits;
