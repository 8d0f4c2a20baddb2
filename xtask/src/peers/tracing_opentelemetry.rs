//! tracing-opentelemetry's tests, against tach-pipeline's spans as a collector receives them, and
//! with its own layer over a tracer that tach-otel's `Clocked` wraps.

use super::source::Source;
use super::taken::File;
use super::{Difference, Expected, Form, Peer};

/// The lines of `fmt` would stand between the names of the tests and their outcomes.
const CAPTURED: (&str, &str) =
    ("tracing_subscriber::fmt::layer()", "tracing_subscriber::fmt::layer().with_test_writer()");

const SHUTDOWN: &str = "ignored by the peer too: opentelemetry-rust#1961";
const IGNORED: &str =
    "#[ignore = \"https://github.com/open-telemetry/opentelemetry-rust/issues/1961\"]\n";

/// What the tests of an option have in common.
const TIMINGS: Difference = Difference {
    test: "",
    message: "attributes.contains_key(\"idle_ns\")",
    reason: "a span's busy and idle times are not measured",
};

pub(super) const OVER_THE_WIRE: Peer = Peer {
    name: "tracing-opentelemetry",
    source: Source::Registry("tracing-opentelemetry"),
    form: Form::Names,
    taken: &[
        File::tests_of(
            "src/layer.rs",
            "layer.rs",
            // The tests' own tracer hides the provider's, to which a pipeline belongs.
            &[("with_tracer(tracer.clone())", "with_tracer(tracer.tracer.clone())")],
        ),
        File {
            left_out: &[("shutdown_global", SHUTDOWN)],
            ..File::whole(
                "tests/batch_global_subscriber.rs",
                "batch_global_subscriber.rs",
                &[(IGNORED, "")],
            )
        },
        File::whole("tests/errors.rs", "errors.rs", &[]),
        File::whole("tests/filtered.rs", "filtered.rs", &[CAPTURED]),
        File::whole("tests/follows_from.rs", "follows_from.rs", &[]),
        File::whole("tests/otel_context.rs", "otel_context.rs", &[CAPTURED]),
        File::whole("tests/parallel.rs", "parallel.rs", &[CAPTURED]),
        File::whole("tests/parents.rs", "parents.rs", &[CAPTURED]),
        File::whole("tests/span_ext.rs", "span_ext.rs", &[CAPTURED]),
        File::whole("tests/trace_state_propagation.rs", "trace_state_propagation.rs", &[]),
    ],
    left_out: &[
        ("src/metrics.rs", "metrics made of events, which tach-pipeline does not make"),
        ("src/stack.rs", "the layer's own stack of spans"),
        ("tests/metrics_publishing.rs", "metrics made of events"),
    ],
    filters: &[],
    alone: &[],
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
                test: "layer::tests::otel_context_propagation",
                message: "right: Some(ValueA(\"outer\"))",
                reason: "the spans that declare otel.kind alone are current in its context",
            },
            Difference {
                test: "trace_state_propagation::set_parent_fails_after_span_entered",
                message: "set_parent should fail after span is entered",
                reason: "a parent may be set later, with what its documentation says",
            },
        ],
    },
};

const TRACER: (&str, &str) =
    ("provider.tracer(", "tach_otel::Clocked::new(provider.clone()).tracer(");
const TRACER_TYPE: (&str, &str) = ("(Tracer,", "(tach_otel::Clocked<Tracer>,");

pub(super) const CLOCKED: Peer = Peer {
    name: "tracing-opentelemetry-clocked",
    source: Source::Registry("tracing-opentelemetry"),
    form: Form::Itself,
    taken: &[
        File::whole(
            "src/lib.rs",
            "src/lib.rs",
            // The programs know the crate, of which they become parts, by its name.
            &[(
                "mod layer;",
                "mod layer;\n\
                 #[cfg(test)]\nextern crate self as tracing_opentelemetry;\n\
                 #[cfg(test)]\nmod batch_global_subscriber;\n\
                 #[cfg(test)]\nmod errors;\n\
                 #[cfg(test)]\nmod filtered;\n\
                 #[cfg(test)]\nmod follows_from;\n\
                 #[cfg(test)]\n#[path = \"otel_context_program.rs\"]\nmod otel_context_program;\n\
                 #[cfg(test)]\nmod parallel;\n\
                 #[cfg(test)]\nmod parents;\n\
                 #[cfg(test)]\n#[path = \"span_ext_program.rs\"]\nmod span_ext_program;\n\
                 #[cfg(test)]\nmod trace_state_propagation;",
            )],
        ),
        File::tests_of(
            "src/layer.rs",
            "src/layer.rs",
            &[
                TRACER,
                (
                    "tracer: opentelemetry_sdk::trace::Tracer",
                    "tracer: tach_otel::Clocked<opentelemetry_sdk::trace::Tracer>",
                ),
                (
                    "type Span = opentelemetry_sdk::trace::Span",
                    "type Span = tach_otel::ClockedSpan<opentelemetry_sdk::trace::Span>",
                ),
            ],
        ),
        File::whole("src/metrics.rs", "src/metrics.rs", &[]),
        File::whole("src/stack.rs", "src/stack.rs", &[]),
        File {
            left_out: &[("shutdown_global", SHUTDOWN)],
            ..File::whole(
                "tests/batch_global_subscriber.rs",
                "src/batch_global_subscriber.rs",
                &[TRACER, (IGNORED, "")],
            )
        },
        File::whole("tests/errors.rs", "src/errors.rs", &[TRACER, TRACER_TYPE]),
        File::whole("tests/filtered.rs", "src/filtered.rs", &[TRACER, TRACER_TYPE, CAPTURED]),
        File::whole("tests/follows_from.rs", "src/follows_from.rs", &[TRACER, TRACER_TYPE]),
        File::whole(
            "tests/otel_context.rs",
            "src/otel_context_program.rs",
            &[TRACER, ("    Tracer,\n", "    tach_otel::Clocked<Tracer>,\n"), CAPTURED],
        ),
        File::whole(
            "tests/parallel.rs",
            "src/parallel.rs",
            &[TRACER, ("    Tracer,\n", "    tach_otel::Clocked<Tracer>,\n"), CAPTURED],
        ),
        File::whole("tests/parents.rs", "src/parents.rs", &[TRACER, TRACER_TYPE, CAPTURED]),
        File::whole(
            "tests/span_ext.rs",
            "src/span_ext_program.rs",
            &[TRACER, TRACER_TYPE, CAPTURED],
        ),
        File::whole(
            "tests/trace_state_propagation.rs",
            "src/trace_state_propagation.rs",
            &[TRACER, TRACER_TYPE],
        ),
    ],
    left_out: &[("tests/metrics_publishing.rs", "metrics have no spans")],
    filters: &[],
    alone: &[],
    expected: Expected { passed: 71, differences: &[] },
};
