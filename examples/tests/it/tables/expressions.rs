//! The expressions themselves. The type of each must be right, and none runs.
#![expect(dead_code, reason = "compiled, not run")]
#![expect(clippy::std_instead_of_core, reason = "as a user writes it")]

use std::error::Error;
use std::fs::File;
use std::time::Duration;

use log::Level;
use slog::{Drain as _, Logger, o};
use tach_core::{
    Anchor, BootInstant, Budget, Clock, Config, Instant, ManualClock, Offset, OrderedInstant,
    Recalibrator, Source, SystemClock, UnixTime, coarse, status,
};
use tach_http::RequestLayer;
use tach_log::{Json, Line, Part};
use tach_otlp::{Metadata, Otlp};
use tach_pipeline::{Builder, Guard, Names, Pipeline, Rotation, Sink, SyncPolicy, WhenFull};
use tach_tower::{BudgetLayer, Settings};
use tach_tracing::{UnixMillis, UnixNanos, Utc};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{EnvFilter, registry};

type Done = Result<(), Box<dyn Error + Send + Sync>>;

/// docs/migrating.md and the guide's last tables.
fn clocks(time: UnixTime, earlier: UnixTime, raw: u64, interval: Duration) -> Done {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    let _ = (UnixTime::now().checked_duration_since(time), time.checked_duration_since(earlier));
    let _ = (BootInstant::now(), Instant::now().as_ticks(), Instant::from_ticks(raw));
    let _ = (coarse::Refresher::spawn(interval)?, coarse::now());
    let (clock, d) = (ManualClock::new(time), interval);
    clock.advance(d);
    let _ = clock.unix_time();
    CLOCK.during(|| ());
    let (anchor, instant) = (Anchor::now(), Instant::now());
    let _ = anchor.unix_time_at(instant).as_nanos();
    let _ = instant.unix_time().as_nanos();
    let _ = status().source == Source::Counter;
    let _recalibrator = Recalibrator::spawn(interval)?;
    Config::new().force_source(Source::Counter).install()?;
    Config::new().force_source(Source::Os).install()?;
    Config::new().enforce_order().install()?;
    Config::new().hold_backward_steps().install()?;
    let _ = tach_core::disruptions();
    let _ = UnixTime::now_with_uncertainty().with_kernel_error();
    let _ = Instant::from(OrderedInstant::now()).elapsed();
    let _ = SystemClock.now();
    Ok(())
}

/// The layouts of tach-log.
fn layouts(key: &'static str, offset: Offset, name: &str, host_name: &str) {
    let _ = (Json::new().with(key, Part::Time), Json::new().with(key, Part::SpanNames));
    let _ = (Json::new().with(key, Part::File), Json::new().with(key, Part::ThreadName));
    let _ = Json::new().with("file", Part::File).with(key, std::process::id());
    let _ = (Json::new().unix().digits(0), Json::new().unix().digits(3));
    let _ = Json::new().unix().digits(9);
    let _ = Sink::stdout().format(Json::bunyan(name, host_name));
    let _ = Line::new().target_width(20).max_target_width(20);
    let _ = (Line::new().digits(3), Line::tracing().digits(3).offset(offset));
    let _ = Line::new().without_date().digits(0);
    let _ = (Line::new().local_time(), Line::new().without_target());
    let _ = (Line::tracing().without_target(), Line::new().without_level().without_time());
    let _ = (Line::tracing_compact(), Line::compact().multiline().ids());
    let _ = Line::new().site().pid().host();
}

/// The sinks of docs/security.md and moving.md.
fn sinks(yours: Line, bytes: u64, files: usize, file: File, buffer: Vec<u8>) {
    let _ = Sink::file("/var/log/app/app.log");
    let _ = Sink::file("audit.log").mode(0o600).sync(SyncPolicy::Every);
    let _ = Sink::file("folder/name").rotate(Rotation::new().daily());
    let _ = Sink::stdout().format(yours);
    let _ = (Sink::stdout().without_colors(), Sink::stderr().without_colors().colors());
    let _ = (Sink::stderr().format(Line::new()), Sink::stdout().format(Json::new()));
    let path = "app.log";
    let _ = Sink::file(path).filter("info").filter("warn").mode(0o644);
    let _ = Rotation::new().max_bytes(bytes).names(Names::Numbers);
    let _ = Rotation::new().names(Names::Dates).delay_gzip();
    let _ = Rotation::new().max_bytes(bytes).keep(files);
    let _ = (Sink::writer("file", file), Sink::writer("memory", buffer));
}

/// The collector's options.
fn collector(time: Duration) {
    let _ = Otlp::new().endpoint("http://collector:4318").timeout(time).without_span_events();
    let _ = Otlp::new().metadata([
        Metadata::Location,
        Metadata::Thread,
        Metadata::Level,
        Metadata::Target,
    ]);
    let _ = Pipeline::builder().sink(Sink::otlp(Otlp::from_env()));
    let error = std::io::Error::other("lost");
    tracing::error!(exception.type = std::any::type_name_of_val(&error));
}

/// The builder.
fn builder(bytes: usize, timeout: Duration) -> Done {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    let (sink, one, other) = (Sink::stdout(), Sink::stdout(), Sink::stderr());
    let (screen, file) = (Sink::stdout(), Sink::file("app.log"));
    let _ = Pipeline::builder().sink(one).sink(other);
    let _ = Pipeline::builder().sink(screen).sink(file);
    let _ = Pipeline::builder().sink(sink).build()?;
    Pipeline::builder().filter("error").filter_from_env("RUST_LOG").init()?;
    let _ = Pipeline::builder().filter("warn").filter_from_env("RUST_LOG").init()?;
    let _ = Pipeline::builder().filter("info,app::db=trace").filter("info,app=debug");
    let _ = Pipeline::builder().filter("debug").filter("trace");
    let _ = Pipeline::builder().queue_bytes(bytes).when_full(WhenFull::DropNewest);
    let _ = Pipeline::builder().flush_on(Level::Error, timeout).with_clock(&CLOCK);
    let _ = Pipeline::builder().flush_on(Level::Trace, timeout);
    let _ = Builder::strict_environment(Pipeline::builder()).strict_environment();
    let _ = tach_tracing::try_init();
    tach_tracing::try_init()?;
    Ok(())
}

/// The handle, and the guard.
fn pipeline(pipeline: &Pipeline, guard: &Guard, timeout: Duration) -> Done {
    pipeline.set_filter("info,app::db=debug")?;
    pipeline.set_logger()?;
    pipeline.flush(timeout)?;
    let _ = (pipeline.stats(), pipeline.subscriber());
    #[cfg(unix)]
    guard.pipeline().flush_on_signals()?;
    guard.pipeline().log_panics();
    guard.pipeline().flush_on_panic();
    let _ = registry().with(pipeline.clone());
    let _ = registry().with(pipeline.layer());
    let _ = Logger::root(pipeline.clone().fuse(), o!());
    let _ = Logger::root(guard.pipeline().clone().fuse(), o!());
    ::log::logger().flush();
    let _ = tracing::error_span!("", key = 7).entered();
    Ok(())
}

/// What stays of tracing-subscriber.
fn subscriber(filter: EnvFilter) {
    fmt().with_timer(Utc).init();
    fmt().with_env_filter(filter).with_timer(Utc).init();
    let _ = (fmt().with_timer(UnixMillis), fmt().with_timer(UnixNanos));
}

/// Spans of requests.
fn requests() {
    let _ = (RequestLayer::server(), RequestLayer::client());
}

/// Budgets.
fn budgets(d: Duration, status: http::StatusCode, request: &http::Request<()>) {
    let _ = (BudgetLayer::server(Settings::new().head(d)), Settings::new().idle(d));
    let _ = BudgetLayer::client(Settings::new().cap(d));
    let _ = Settings::new().head(d).response(move |_| {
        let mut response = http::Response::new(opentelemetry_http::Bytes::new());
        *response.status_mut() = status;
        response
    });
    let _ = request.extensions().get::<Budget>();
    let _ = tach_tower::current();
}
