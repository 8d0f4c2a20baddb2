//! A small HTTP service with tach's clock throughout.
//!
//! ```text
//! cargo run --release --example service              serve until Ctrl-C
//! cargo run --release --example service -- --demo    drive itself, print a summary, stop
//! cargo run --release --example service -- --sdk     spans through OpenTelemetry's SDK
//! cargo run --release --example service -- --listen 127.0.0.1:3001 --upstream 127.0.0.1:3000
//! ```
//!
//! The last one is a second instance: its `/relay/work/50` asks the first one for `/work/50`, and
//! announces the time that is left. `curl -H "request-timeout: 0.06" 127.0.0.1:3001/relay/left`
//! shows it.
//!
//! It prints logs on standard error. If `OTEL_EXPORTER_OTLP_ENDPOINT` is set, spans and logs go
//! there by OTLP, configured by the standard `OTEL_*` variables: from tach's pipeline or, with
//! `--sdk`, from tracing-opentelemetry and the SDK, with tach's clock. At its end it prints how
//! long the spans took; with `--sdk` and without a collector, each span.

mod app;
mod demo;
mod options;
mod relay;
mod telemetry;

use core::error::Error;
use core::future::{IntoFuture as _, pending};
use std::io::{self, Write as _};
use std::process::ExitCode;

use tach_tower::{BudgetLayer, Settings};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::options::{Options, USAGE};
use crate::relay::Upstream;
use crate::telemetry::Telemetry;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    let options = match Options::from_args() {
        Ok(Some(options)) => options,
        Ok(None) => {
            let _closed = writeln!(io::stdout(), "{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("service: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("service: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    // The HTTP client of the SDK's exporter must be created and dropped outside the runtime.
    let telemetry = Telemetry::start(options.sdk)?;
    let summary = Runtime::new()?.block_on(serve(options));
    // Sends what is left: no span of an answered request is lost.
    telemetry.shutdown()?;
    if let Some(summary) = summary? {
        demo::print(&summary);
    }
    Ok(())
}

/// Serves until Ctrl-C or the end of the demo, and answers every request that has begun.
async fn serve(options: &Options) -> Result<Option<demo::Summary>, Failure> {
    let listener = TcpListener::bind(&options.listen)
        .await
        .map_err(|error| format!("can't listen on {}: {error}", options.listen))?;
    let address = listener.local_addr()?;
    log::info!("listening on http://{address}");

    let budgets = BudgetLayer::server(Settings::new().cap(app::BUDGET));
    let stats = budgets.stats();
    let upstream = options.upstream.as_deref().map(Upstream::new).transpose()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let server =
        axum::serve(listener, app::router(budgets, upstream)).with_graceful_shutdown(async {
            let _ = stopped.await;
        });
    let server = tokio::spawn(server.into_future());

    let driven = async { if options.demo { demo::drive(address).await } else { pending().await } };
    let summary = tokio::select! {
        summary = driven => Some(summary),
        () = interrupted() => {
            log::info!("draining");
            None
        }
    };
    let _ = stop.send(());
    server.await??;
    Ok(summary.transpose()?.map(|summary| summary.with_budgets(&stats)))
}

/// Waits for Ctrl-C, or for the signal with which a service manager stops a service.
async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
