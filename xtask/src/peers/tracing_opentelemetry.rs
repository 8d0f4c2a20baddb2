//! tracing-opentelemetry's tests, against tach-pipeline's spans as a collector receives them.

use super::source::Source;
use super::taken::File;
use super::{Difference, Expected, Peer};

/// The lines of `fmt` would stand between the names of the tests and their outcomes.
const CAPTURED: &[(&str, &str)] =
    &[("tracing_subscriber::fmt::layer()", "tracing_subscriber::fmt::layer().with_test_writer()")];

const IGNORED: &str =
    "#[ignore = \"https://github.com/open-telemetry/opentelemetry-rust/issues/1961\"]\n";

/// A program in the folder `tests`.
const fn program(
    from: &'static str,
    to: &'static str,
    substitutions: &'static [(&'static str, &'static str)],
) -> File {
    File { from, begin: None, end: None, to, substitutions, left_out: &[] }
}

/// What the tests of an option have in common.
const TIMINGS: Difference = Difference {
    test: "",
    message: "attributes.contains_key(\"idle_ns\")",
    reason: "a span's busy and idle times are not measured",
};

pub(super) const PEER: Peer = Peer {
    name: "tracing-opentelemetry",
    source: Source::Registry("tracing-opentelemetry"),
    taken: &[
        File {
            from: "src/layer.rs",
            begin: Some("mod tests {"),
            end: None,
            to: "layer.rs",
            // The tests' own tracer hides the provider's, to which a pipeline belongs.
            substitutions: &[("with_tracer(tracer.clone())", "with_tracer(tracer.tracer.clone())")],
            left_out: &[],
        },
        File {
            substitutions: &[(
                "#[ignore = \"https://github.com/open-telemetry/opentelemetry-rust/issues/1961\"]\n",
                "",
            )],
            left_out: &[("shutdown_global", "ignored by the peer too: opentelemetry-rust#1961")],
            ..program(
                "tests/batch_global_subscriber.rs",
                "batch_global_subscriber.rs",
                &[(IGNORED, "")],
            )
        },
        program("tests/errors.rs", "errors.rs", &[]),
        program("tests/filtered.rs", "filtered.rs", CAPTURED),
        program("tests/follows_from.rs", "follows_from.rs", &[]),
        program("tests/otel_context.rs", "otel_context.rs", CAPTURED),
        program("tests/parallel.rs", "parallel.rs", CAPTURED),
        program("tests/parents.rs", "parents.rs", CAPTURED),
        program("tests/span_ext.rs", "span_ext.rs", CAPTURED),
        program("tests/trace_state_propagation.rs", "trace_state_propagation.rs", &[]),
    ],
    left_out: &[
        ("src/metrics.rs", "metrics made of events, which tach-pipeline does not make"),
        ("src/stack.rs", "the layer's own stack of spans"),
    ],
    expected: Expected {
        passed: 61,
        differences: &[
            Difference {
                test: "errors::error_mapping_disabled",
                message: "span.status ==",
                reason: "an event of the level ERROR always is the status",
            },
            Difference {
                test: "layer::tests::event_filter_count",
                message: "right: \"3\"",
                reason: "a sink has the filter of events, and spans have no count of events",
            },
            Difference { test: "layer::tests::includes_timings_no_context_activation", ..TIMINGS },
            Difference {
                test: "layer::tests::includes_timings_with_context_activation",
                ..TIMINGS
            },
            Difference {
                test: "otel_context::test_span_ref_ext_from_separate_layer",
                message: "Expected 2 contexts to be extracted by custom layer",
                reason: "no context in the extensions of a span; OpenTelemetrySpanExt::context has it",
            },
            Difference {
                test: "trace_state_propagation::set_parent_fails_after_span_entered",
                message: "set_parent should fail after span is entered",
                reason: "a parent may be set later, with what its documentation says",
            },
        ],
    },
};
