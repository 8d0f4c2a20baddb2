//! What `tach-pipeline` takes: no promise of stability.

pub use crate::encode::{
    Format, Head, Json, Line, Logfmt, Message, Output, Sink, Utf8, Value, noted,
};
pub use crate::record::{TakeField, fields};
