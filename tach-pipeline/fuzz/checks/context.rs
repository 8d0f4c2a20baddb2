//! W3C's headers of a caller: what is passed on is valid.

use tach_pipeline::TraceContext;

/// The input is a `traceparent`, and on the next lines a `tracestate`.
pub(crate) fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (parent, state) = text.split_once('\n').unwrap_or((&text, ""));
    let Some(context) = TraceContext::from_headers(parent, state) else { return };
    let state = context.tracestate();
    assert!(context.trace_id() != 0 && context.span_id() != 0);
    assert!(state.len() <= 513 && state.split(',').count() <= 32, "{state}");
    assert!(state.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{state:?}");
    // The next service reads what was read here.
    let parent = format!(
        "00-{:032x}-{:016x}-{:02x}",
        context.trace_id(),
        context.span_id(),
        u8::from(context.is_sampled()),
    );
    let next = TraceContext::from_headers(&parent, state).unwrap();
    assert_eq!(next.tracestate(), state);
}
