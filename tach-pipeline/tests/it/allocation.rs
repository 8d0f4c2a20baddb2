//! Calls do not allocate once a thread has logged, and its queue has grown.

use allocation_counter::measure;
use log::Log as _;
use tach_pipeline::{Guard, Pipeline};

#[cfg(feature = "tracing")]
use crate::support::subscriber;
use crate::support::{LONG, Memory, Talks};

const CALLS: usize = 1_000;
const TIMES: usize = 10;

/// Returns a pipeline whose queues are full after some dozens of records, so they have grown soon.
fn small(memory: &Memory) -> Guard {
    Pipeline::builder().sink(memory.json()).queue_bytes(4096).build().unwrap()
}

/// Returns how often a thousand calls allocate, after as many: the fewest of ten times, since a
/// queue may find no unused ring while it grows.
fn steady(pipeline: &Pipeline, log: impl Fn()) -> u64 {
    // The control: the first record allocates the thread's buffer and queue.
    assert!(measure(&log).count_total > 0);
    let log_all = || (0..CALLS).for_each(|_| log());
    log_all();
    pipeline.flush(LONG).unwrap();
    (0..TIMES).map(|_| measure(log_all).count_total).min().unwrap_or(u64::MAX)
}

#[test]
fn a_thread_that_has_logged_allocates_no_more() {
    let memory = Memory::default();
    let guard = small(&memory);
    let log = || {
        let fields = [("float", log::kv::Value::from(0.1)), ("text", "text".into())];
        guard.pipeline().log(
            &log::Record::builder()
                .args(format_args!("{} and {}", 1, 2))
                .key_values(&fields)
                .build(),
        );
    };
    assert_eq!(steady(guard.pipeline(), log), 0);
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.records().len(), 1 + CALLS + TIMES * CALLS);
}

#[test]
fn calls_within_calls_do_not_either() {
    let memory = Memory::default();
    let guard = small(&memory);
    let log = || {
        let message = Talks(guard.pipeline());
        guard.pipeline().log(&log::Record::builder().args(format_args!("{message}")).build());
    };
    assert_eq!(steady(guard.pipeline(), log), 0);
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages()[..2], ["from within", "from around"]);
}

#[cfg(feature = "slog")]
#[test]
fn slog_s_records_do_not_either() {
    let memory = Memory::default();
    let guard = small(&memory);
    let logger = slog::Logger::root(guard.pipeline().clone(), slog::o!("of" => "the logger"));
    let log = || slog::info!(logger, "message {}", 1; "number" => 1, "text" => "text");
    assert_eq!(steady(guard.pipeline(), log), 0);
}

#[cfg(feature = "tracing")]
#[test]
fn events_within_spans_do_not_either() {
    let memory = Memory::default();
    let guard = small(&memory);
    let subscriber = subscriber(guard.pipeline());
    tracing::dispatcher::with_default(&subscriber, || {
        let _outer = tracing::info_span!("outer", a = 1).entered();
        let _inner = tracing::info_span!("inner", b = "text").entered();
        let log = || tracing::info!(number = 1, "message {}", 1);
        assert_eq!(steady(guard.pipeline(), log), 0);
    });
}

/// With a sink of events, the registry would keep the fields of spans, and allocate.
#[cfg(feature = "otlp")]
#[test]
fn spans_do_not_either() {
    use tach_pipeline::{Otlp, Sink};

    let sink = Sink::otlp(
        Otlp::new()
            .endpoint(&test_support::receiver::serve().0)
            .signals([tach_pipeline::Signal::Traces]),
    );
    let guard = Pipeline::builder().sink(sink).queue_bytes(4096).build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    tracing::dispatcher::with_default(&subscriber, || {
        let log = || {
            let span = tracing::info_span!("outer", a = 1, b = "text", c = tracing::field::Empty);
            let _entered = span.enter();
            span.record("c", 0.5);
            tracing::info_span!("inner").in_scope(|| tracing::info!("within"));
        };
        assert_eq!(steady(guard.pipeline(), log), 0);
    });
}

/// opentelemetry keeps the span of a context behind an `Arc`. A span that is sampled is an object
/// there.
#[cfg(all(feature = "otlp", feature = "opentelemetry"))]
#[test]
fn a_boundary_span_allocates_for_its_context_alone() {
    use tach_pipeline::{Otlp, Sampling, Sink};

    for (ratio, allocations) in [(0.0, 1), (1.0, 2)] {
        let sink = Sink::otlp(
            Otlp::new()
                .endpoint(&test_support::receiver::serve().0)
                .signals([tach_pipeline::Signal::Traces]),
        );
        let guard = Pipeline::builder().sink(sink).queue_bytes(4096);
        let guard = guard.sampling(Sampling::ratio(ratio)).build().unwrap();
        tracing::subscriber::with_default(guard.pipeline().subscriber(), || {
            let log = || drop(tracing::info_span!("request", otel.kind = "server").entered());
            assert_eq!(steady(guard.pipeline(), log), allocations * CALLS as u64, "{ratio}");
        });
    }
}
