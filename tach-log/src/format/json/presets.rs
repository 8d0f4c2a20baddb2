//! Layouts that log services define.

use super::Json;
use crate::format::layout::{Layout, Syntax, What};

impl Json {
    /// Creates the layout of the [Elastic Common Schema][ecs], version 8.11, as the [libraries for
    /// ECS logging][spec] write it.
    ///
    /// `err` or else `error` is `error.message`, `trace_id` is `trace.id`, and `span_id` is
    /// `span.id`. An event must not have both `err` and `error`: the latter would keep its name,
    /// which is an object in ECS. The names of the spans are `labels.span`. Add `service.name` and
    /// others by [`with`](Self::with).
    ///
    /// [ecs]: https://www.elastic.co/guide/en/ecs/current/ecs-field-reference.html
    /// [spec]: https://github.com/elastic/ecs-logging/blob/main/spec/spec.json
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::ecs().with("service.name", "checkout");
    /// ```
    #[must_use]
    pub fn ecs() -> Self {
        preset(
            Syntax::Json,
            &[
                ("@timestamp", What::Time),
                ("log.level", What::Level),
                ("message", What::RequiredMessage),
                ("log.logger", What::Target),
                ("log.origin.file.name", What::File),
                ("log.origin.file.line", What::Line),
                ("process.thread.name", What::ThreadName),
                ("process.thread.id", What::ThreadId),
                ("labels.span", What::SpanNames),
            ],
            &[
                ("trace_id", "trace.id"),
                ("span_id", "span.id"),
                ("err", "error.message"),
                ("error", "error.message"),
            ],
        )
        .with("ecs.version", "8.11.0")
        .join_sources()
    }

    /// Creates the layout of [structured logs of Google Cloud][google], which its agents and
    /// runtimes parse.
    ///
    /// The fields `trace_id` and `span_id` lead to the trace, if the log's agent knows the project.
    /// Otherwise [a trace has the text][trace] `projects/PROJECT_ID/traces/TRACE_ID`, which the
    /// field `trace_id` then must hold.
    ///
    /// [google]: https://cloud.google.com/logging/docs/structured-logging
    /// [trace]: https://cloud.google.com/trace/docs/trace-log-integration
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::google_cloud().with("service", "checkout");
    /// ```
    #[must_use]
    pub fn google_cloud() -> Self {
        preset(
            Syntax::Json,
            &[
                ("severity", What::Level),
                ("message", What::Message),
                ("time", What::Time),
                ("logging.googleapis.com/sourceLocation", What::SourceLocation),
                ("target", What::Target),
                ("span", What::SpanNames),
            ],
            &[
                ("trace_id", "logging.googleapis.com/trace"),
                ("span_id", "logging.googleapis.com/spanId"),
            ],
        )
        .levels(["CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG", "DEBUG"])
        .digits(9)
    }

    /// Creates a layout of [Datadog's reserved and standard attributes][datadog].
    ///
    /// `err` or else `error` is `error.message`. Add `service`, `host` and others by
    /// [`with`](Self::with). A field `trace_id` keeps its name: `dd.trace_id` would be a decimal
    /// number of Datadog's tracers.
    ///
    /// [datadog]: https://docs.datadoghq.com/logs/log_configuration/attributes_naming_convention/
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::datadog().with("service", "checkout");
    /// ```
    #[must_use]
    pub fn datadog() -> Self {
        preset(
            Syntax::Json,
            &[
                ("timestamp", What::Time),
                ("status", What::Level),
                ("message", What::Message),
                ("logger.name", What::Target),
                ("logger.thread_name", What::ThreadName),
                ("span", What::SpanNames),
            ],
            &[("err", "error.message"), ("error", "error.message")],
        )
        .levels(["critical", "error", "warn", "info", "debug", "trace"])
        .digits(3)
        .join_sources()
    }

    /// Creates the layout of [OpenTelemetry's files of JSON][file]: a line is a request of OTLP
    /// with one record, which the Collector's receiver `otlpjsonfile` reads.
    ///
    /// The target is the scope. Values that [`with`](Self::with) adds are attributes of the
    /// resource, other parts are attributes of the record, as are fields. The fields `trace_id` and
    /// `span_id` are the record's ids if they are 32 and 16 hexadecimal digits. `err` or else
    /// `error` is `exception.message`. The time is in nanoseconds, whatever is chosen.
    ///
    /// [file]: https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::opentelemetry().with("service.name", "checkout");
    /// ```
    #[must_use]
    pub fn opentelemetry() -> Self {
        preset(
            Syntax::Otlp,
            &[
                ("code.file.path", What::File),
                ("code.line.number", What::Line),
                ("thread.name", What::ThreadName),
                ("thread.id", What::ThreadId),
                ("span", What::SpanNames),
            ],
            &[("err", "exception.message"), ("error", "exception.message")],
        )
    }
}

/// Creates a layout of parts with the names that fields get.
fn preset(syntax: Syntax, parts: &[(&str, What)], renamed: &[(&str, &str)]) -> Json {
    Json::of(Layout::new(syntax, parts).renaming(renamed))
}
