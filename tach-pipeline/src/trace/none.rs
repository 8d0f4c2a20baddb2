//! In place of the spans at the call, without a feature that has spans.

#[cfg(feature = "otlp")]
#[expect(dead_code, reason = "parts are for spans alone")]
pub(crate) mod limits;
