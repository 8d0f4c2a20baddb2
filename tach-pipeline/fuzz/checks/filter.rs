//! Filters: an error that names the fault, or a filter.

use tach_pipeline::Pipeline;

pub(crate) fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    // The second fault keeps the pipeline from being built. There is no sink.
    let builder = Pipeline::builder().filter(&*text).before_errors(&*text, 10).queue_bytes(1);
    let error = builder.redact(text.lines()).build().unwrap_err();
    assert!(error.to_string().contains("Builder::queue_bytes(1)"), "{error}");
}
