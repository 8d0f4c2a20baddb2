//! The tests that `opentelemetry_sdk` has for traces and logs, through tach-otel's `Clocked`.

use super::source::Source;
use super::taken::File;
use super::{Expected, Form, Peer};

/// A file that stays where it is.
const fn tests_of(
    path: &'static str,
    substitutions: &'static [(&'static str, &'static str)],
) -> File {
    File::tests_of(path, path, substitutions)
}

const IGNORED: &str = "ignored by the peer too: it shows a deadlock of the SDK";

const TRACERS: (&str, &str) = (".tracer(", ".clocked_tracer(");
const LOGGERS: (&str, &str) = (".logger(", ".clocked_logger(");

pub(super) const PEER: Peer = Peer {
    name: "opentelemetry_sdk",
    source: Source::Registry("opentelemetry_sdk"),
    form: Form::Itself,
    taken: &[
        File::whole(
            "src/lib.rs",
            "src/lib.rs",
            &[
                // Allow imports of traits whose methods the tests no longer call.
                ("#![cfg_attr(test, deny(warnings))]", "#![cfg_attr(test, allow(unused_imports))]"),
                ("pub mod resource;", "pub mod resource;\n#[cfg(test)]\nmod clocked;"),
            ],
        ),
        tests_of(
            "src/trace/mod.rs",
            &[
                TRACERS,
                (".tracer_with_scope(", ".clocked_tracer_with_scope("),
                ("tracer: super::SdkTracer", "tracer: tach_otel::Clocked<super::SdkTracer>"),
                // The data of a span are the SDK's own.
                (
                    "TestRecordOnlySampler::default())\n            \
                     .with_span_processor(SimpleSpanProcessor::new(exporter.clone()))\n            \
                     .build();\n\n        let tracer = provider.clocked_tracer(",
                    "TestRecordOnlySampler::default())\n            \
                     .with_span_processor(SimpleSpanProcessor::new(exporter.clone()))\n            \
                     .build();\n\n        let tracer = provider.tracer(",
                ),
                // The scope of a tracer is the SDK's own.
                ("tracer.instrumentation_scope()", "tracer.get_ref().instrumentation_scope()"),
            ],
        ),
        tests_of(
            "src/trace/provider.rs",
            &[TRACERS, (".provider().is_shutdown()", ".get_ref().provider().is_shutdown()")],
        ),
        tests_of("src/trace/tracer.rs", &[TRACERS]),
        tests_of(
            "src/trace/span.rs",
            &[
                ("fn create_span() -> Span {", "fn create_span() -> crate::clocked::TestSpan {"),
                (
                    "let (tracer, data) = init();\n        Span::new(\n            \
                     SpanContext::empty_context(),\n            Some(data),\n            tracer,\n            \
                     Default::default(),\n        )",
                    "let (tracer, data) = init();\n        crate::clocked::TestSpan::around(Span::new(\
                     SpanContext::empty_context(), Some(data), tracer, Default::default()))",
                ),
                (
                    "tracer.build(span_builder)",
                    "crate::clocked::TestSpan::built(&tracer, span_builder)",
                ),
                ("span\n            .data\n", "span\n            .data()\n"),
            ],
        ),
        tests_of("src/trace/sampler.rs", &[]),
        tests_of("src/trace/span_processor.rs", &[]),
        tests_of(
            "src/logs/mod.rs",
            &[
                LOGGERS,
                ("Option<SdkLogger>", "Option<tach_otel::Clocked<SdkLogger>>"),
                ("logger: SdkLogger", "logger: tach_otel::Clocked<SdkLogger>"),
            ],
        ),
        tests_of(
            "src/logs/logger_provider.rs",
            &[LOGGERS, TRACERS, (".logger_with_scope(", ".clocked_logger_with_scope(")],
        ),
        tests_of("src/logs/log_processor.rs", &[LOGGERS]),
        File {
            left_out: &[
                (
                    "test_simple_processor_async_exporter_with_all_runtime_worker_threads_blocked",
                    IGNORED,
                ),
                ("test_simple_processor_async_exporter_with_current_thread_runtime", IGNORED),
            ],
            ..tests_of(
                "src/logs/simple_log_processor.rs",
                &[
                    LOGGERS,
                    ("Option<SdkLogger>", "Option<tach_otel::Clocked<SdkLogger>>"),
                    ("logger: SdkLogger", "logger: tach_otel::Clocked<SdkLogger>"),
                    ("    #[ignore]\n    //", "    //"),
                ],
            )
        },
        tests_of("src/logs/batch_log_processor.rs", &[]),
        tests_of("src/logs/record.rs", &[]),
    ],
    left_out: &[
        ("src/error.rs", "errors have no clock"),
        ("src/growable_array.rs", "a container has no clock"),
        ("src/logs/log_processor_with_async_runtime.rs", "a feature, off by default"),
        ("src/logs/logger.rs", "a metric of the SDK's"),
        ("src/metrics/", "the points of metrics keep the SDK's times"),
        ("src/propagation/", "headers have no clock"),
        ("src/resource/", "a resource has no clock"),
        ("src/trace/runtime_tests.rs", "a feature, off by default"),
        ("src/trace/sampler/", "a feature, off by default"),
        ("src/trace/span_processor_with_async_runtime.rs", "a feature, off by default"),
        ("tests/", "the SDK's constants, and Miri"),
    ],
    filters: &["trace::", "logs::"],
    alone: &[],
    expected: Expected { passed: 135, differences: &[] },
};
