//! Spans that have ended are sent, however the process exits, with a living guard or without one.

use std::process::{Command, Stdio};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use otel_tests::{decode, serve};

const SPANS: usize = 10_000;

#[test]
fn every_ended_span_is_sent_before_the_process_ends() {
    for way in ["return", "exit", "exit in a thread", "panic", "panic in a thread"] {
        for guard in ["living", "dropped"] {
            let (endpoint, requests) = serve();
            let mut child = Command::new(env!("CARGO_BIN_EXE_exits"));
            let child = child.args([way, guard, &endpoint]).stderr(Stdio::null());
            let status = child.status().expect("the program starts");
            assert_eq!(status.success(), way != "panic", "{way}, {guard}: {status}");
            let (mut ended, mut open) = (0, 0);
            for (_, body) in requests.try_iter() {
                let request: ExportTraceServiceRequest = decode(&body);
                let of_scope = request.resource_spans.iter().flat_map(|it| &it.scope_spans);
                for span in of_scope.flat_map(|it| &it.spans) {
                    *(if span.name == "ended" { &mut ended } else { &mut open }) += 1;
                }
            }
            assert_eq!(ended, SPANS, "{way}, {guard}");
            // A panic and a return from `main` end the spans that the stack holds. Otherwise a span
            // that is still open is not sent.
            let is_dropped = matches!(way, "return" | "panic" | "panic in a thread");
            assert_eq!(open, usize::from(is_dropped), "{way}, {guard}");
        }
    }
}
