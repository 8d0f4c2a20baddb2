//! The option for spans that are current in `opentelemetry`.

use crate::pipeline::builder::Builder;

impl Builder {
    /// Makes every span the current one of `opentelemetry` while a thread is in it, not only the
    /// spans that declare the field `otel.kind`. Then spans of the SDK that start within any span
    /// are its children. The start, each entry and the end of such a span take a lock, one of 16 by
    /// its id.
    ///
    /// # Examples
    ///
    /// ```
    /// let builder = tach_pipeline::Pipeline::builder().activate_all_spans();
    /// ```
    pub fn activate_all_spans(mut self) -> Self {
        self.spans.otel.activates_all = true;
        self
    }
}
