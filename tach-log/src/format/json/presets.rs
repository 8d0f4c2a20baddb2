//! Layouts that log services define.
use super::Json;
use crate::format::Part;
use crate::format::layout::{Kind, Layout, Own, Syntax, What};
use crate::format::{Id, SPAN_ID, TRACE_ID};

impl Json {
    /// Creates the layout of the [Elastic Common Schema][ecs], version 8.11, as the [libraries for
    /// ECS logging][spec] write it.
    ///
    /// Elasticsearch refuses a document with a value of another type than its schema's. Therefore:
    ///
    /// - `error.message`, or else `err`, `error` or `exception.message`, is the text
    ///   `error.message`; `error.type` and `exception.type` are `error.type`; `error.stack_trace`,
    ///   `exception.stacktrace` and `backtrace` are `error.stack_trace`; `trace.id` and `trace_id`
    ///   are `trace.id`, `span.id` and `span_id` are `span.id`, and `transaction.id` keeps its
    ///   name. Each is a text, whatever the event's value was.
    /// - Beside a sink of spans, `trace.id` and `span.id` are the ids of the span around the event,
    ///   unless a field is one of them.
    /// - All other fields are [`labels`][labels]: `user` is `labels.user`. `_` stands for each `.`,
    ///   `*` and `\` in their keys, and for a key that is empty or blank. Each value is a text, as
    ///   ECS stores labels: an index maps a label by the first value that it sees, and would refuse
    ///   a text after a number. The names of the spans are `labels.span`.
    /// - [`rename`](Self::rename) writes a field of ECS that the program sets with the right type:
    ///   `rename("status", "http.response.status_code")`. Add `service.name` and others that are
    ///   the same for all events by [`with`](Self::with).
    /// - Each new label is a field of the index, of which an index has 1,000 by default. If clients
    ///   choose keys, map `labels` as `flattened` with an `ignore_above`.
    /// - The path of the module is `log.origin.function`: a record does not name its function.
    ///
    /// [labels]: https://www.elastic.co/guide/en/ecs/current/ecs-base.html
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
            &[
                ("@timestamp", What::Time),
                ("log.level", What::Level),
                ("message", What::RequiredMessage),
                ("log.logger", What::Target),
                ("log.origin.file.name", What::File),
                ("log.origin.file.line", What::Line),
                ("log.origin.function", What::Module),
                ("process.thread.name", What::ThreadName),
                ("process.thread.id", What::ThreadId),
                ("labels.span", What::SpanNames),
                ("trace.id", What::Id(Id::Trace)),
                ("span.id", What::Id(Id::Span)),
            ],
            &[
                ("trace.id", "trace.id"),
                ("trace_id", "trace.id"),
                ("span.id", "span.id"),
                ("span_id", "span.id"),
                ("transaction.id", "transaction.id"),
                ("error.message", "error.message"),
                ("err", "error.message"),
                ("error", "error.message"),
                ("exception.message", "error.message"),
                ("error.type", "error.type"),
                ("exception.type", "error.type"),
                ("error.stack_trace", "error.stack_trace"),
                ("exception.stacktrace", "error.stack_trace"),
                ("backtrace", "error.stack_trace"),
            ],
            Own { object: "labels.", ..Own::ANY },
        )
        .with("ecs.version", "8.11.0")
        .join_sources()
    }

    /// Creates the layout of [structured logs of Google Cloud][google], which its agents and
    /// runtimes parse.
    ///
    /// Beside a sink of spans, the ids of the span around the event lead to the trace, with whether
    /// it is sampled. [The trace is its bare id][trace]. For an agent that reads only the older
    /// text `projects/PROJECT_ID/traces/TRACE_ID`, leave the part out by [`without`](Self::without)
    /// and add a field `trace_id` with that text.
    ///
    /// Errors have the `@type` of Error Reporting. `labels` is the entry's labels if it is an
    /// object of texts; `exception.stacktrace` or `backtrace` is `stack_trace`. `_` follows the key
    /// of a field that the agents would read as another part of the entry, as `httpRequest_`, and
    /// stands for the slash of `logging.googleapis.com/`, since a value of another type makes them
    /// refuse or change the entry. [`rename`](Self::rename) writes such a part on purpose.
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
            &[
                ("severity", What::Level),
                ("message", What::Message),
                ("time", What::Time),
                ("logging.googleapis.com/sourceLocation", What::SourceLocation),
                ("@type", What::ErrorType),
                ("target", What::Target),
                ("span", What::SpanNames),
                ("logging.googleapis.com/trace", What::Id(Id::Trace)),
                ("logging.googleapis.com/spanId", What::Id(Id::Span)),
                ("logging.googleapis.com/trace_sampled", What::Id(Id::IsSampled)),
            ],
            &[
                ("logging.googleapis.com/trace", "logging.googleapis.com/trace"),
                ("trace_id", "logging.googleapis.com/trace"),
                ("logging.googleapis.com/spanId", "logging.googleapis.com/spanId"),
                ("span_id", "logging.googleapis.com/spanId"),
                ("exception.stacktrace", "stack_trace"),
                ("backtrace", "stack_trace"),
                ("exception", "exception"),
            ],
            Own { reserved: &GOOGLE_CLOUD, prefix: GOOGLE_CLOUD_PREFIX, ..Own::ANY },
        )
        .change(|layout| {
            layout.add_renaming(&[(LABELS, LABELS), ("labels", LABELS)], Kind::Texts);
        })
        .levels(["CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG", "DEBUG"])
        .digits(9)
    }

    /// Creates a layout of [Datadog's reserved and standard attributes][datadog].
    ///
    /// `error.message`, or else `err`, `error` or `exception.message`, is the text `error.message`;
    /// `error.kind`, `error.type` and `exception.type` are `error.kind`; `error.stack`,
    /// `exception.stacktrace` and `backtrace` are `error.stack`. `_` follows the key of a field
    /// that Datadog would read as the log's host, service, status, time or message, as `host_`.
    /// Datadog reads a dot as the path to a member, so `_` also follows `syslog`, which contains
    /// `syslog.hostname`, and stands for the dot of `host.name`. Add `service`, `host` and others
    /// by [`with`](Self::with).
    ///
    /// Beside a sink of spans, `dd.trace_id` and `dd.span_id` are the ids of the span around the
    /// event in [Datadog's form][ids]: decimal numbers of 64 bits as texts, the lower half of the
    /// trace's id. A field `trace_id` keeps its name, as a text.
    ///
    /// [ids]: https://docs.datadoghq.com/tracing/connect_logs_and_traces/opentelemetry/
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
            &[
                ("timestamp", What::Time),
                ("status", What::Level),
                ("message", What::Message),
                ("logger.name", What::Target),
                ("logger.thread_name", What::ThreadName),
                ("span", What::SpanNames),
                ("dd.trace_id", What::Id(Id::DecimalTrace)),
                ("dd.span_id", What::Id(Id::DecimalSpan)),
            ],
            &[
                ("trace_id", "trace_id"),
                ("span_id", "span_id"),
                ("dd.trace_id", "dd.trace_id"),
                ("dd.span_id", "dd.span_id"),
                ("error.message", "error.message"),
                ("err", "error.message"),
                ("error", "error.message"),
                ("exception.message", "error.message"),
                ("error.kind", "error.kind"),
                ("error.type", "error.kind"),
                ("exception.type", "error.kind"),
                ("error.stack", "error.stack"),
                ("exception.stacktrace", "error.stack"),
                ("backtrace", "error.stack"),
            ],
            Own { reserved: &DATADOG, nests: true, ..Own::ANY },
        )
        .levels(["critical", "error", "warn", "info", "debug", "trace"])
        .digits(3)
        .join_sources()
    }

    /// Creates the layout of [bunyan's core fields][bunyan], as `slog-bunyan` writes it, for the
    /// program `bunyan` and other readers. slog's `Critical` is the level 60, and `Trace` is 10.
    ///
    /// bunyan requires the name of the program and of the host.
    ///
    /// [bunyan]: https://github.com/trentm/node-bunyan#core-fields
    ///
    /// # Examples
    ///
    /// ```
    /// let json = tach_log::Json::bunyan("checkout", "host-7");
    /// ```
    #[must_use]
    pub fn bunyan(name: &str, host_name: &str) -> Self {
        let parts = [
            ("msg", What::RequiredMessage),
            ("level", What::Level),
            ("time", What::Time),
            ("span", What::SpanNames),
            (TRACE_ID, What::Id(Id::Trace)),
            (SPAN_ID, What::Id(Id::Span)),
        ];
        preset(&parts, &[], Own::ANY)
            .with("v", 0)
            .with("name", name)
            .with("hostname", host_name)
            .with("pid", Part::Pid)
            .levels([60, 50, 40, 30, 20, 10])
    }
}

/// Creates a layout from its parts, from the new names of fields that become texts, and from the
/// service's rules for all other fields.
fn preset(parts: &[(&str, What)], renamed: &[(&str, &str)], own: Own) -> Json {
    let mut layout = Layout::new(Syntax::Json, parts);
    layout.add_renaming(renamed, Kind::Text);
    layout.own = own;
    Json::of(layout)
}

/// Google Cloud's key of the labels of an entry.
const LABELS: &str = "logging.googleapis.com/labels";

/// The prefix of Google Cloud's own keys. Each agent takes different ones out of the payload.
const GOOGLE_CLOUD_PREFIX: &str = "logging.googleapis.com/";

/// The other keys that Google Cloud's agents take out of the payload
/// (<https://cloud.google.com/logging/docs/structured-logging#structured_logging_special_fields>).
/// The legacy agent, fluent-plugin-google-cloud, replaces the payload by `log`, reads `timeNanos`
/// before `time`, and fails at a `kubernetes` that is no object. Error Reporting reads the last
/// three as objects or as times.
const GOOGLE_CLOUD: [&str; 11] = [
    "httpRequest",
    "timestamp",
    "timestampSeconds",
    "timestampNanos",
    "timeNanos",
    "log",
    "kubernetes",
    "docker",
    "serviceContext",
    "context",
    "eventTime",
];

/// The keys that Datadog reads as reserved attributes unless it is configured otherwise
/// (<https://docs.datadoghq.com/logs/log_configuration/pipelines/#preprocessing>).
const DATADOG: [&str; 27] = [
    "host",
    "hostname",
    "syslog.hostname",
    "service",
    "syslog.appname",
    "dd.service",
    "ddsource",
    "source",
    "ddtags",
    "level",
    "severity",
    "syslog.severity",
    "@timestamp",
    "_timestamp",
    "Timestamp",
    "eventTime",
    "date",
    "published_date",
    "syslog.timestamp",
    "msg",
    "log",
    "dd.env",
    "dd.version",
    "contextMap.dd.trace_id",
    "contextMap.dd.span_id",
    "named_tags.dd.trace_id",
    "named_tags.dd.span_id",
];
