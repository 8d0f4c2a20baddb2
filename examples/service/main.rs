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
//! announces the time that is left and the trace. `curl -H "request-timeout: 0.06"
//! 127.0.0.1:3001/relay/left` shows the time. `--demo` starts a second instance too, and prints a
//! trace through both.
//!
//! It prints logs on standard error. If `OTEL_EXPORTER_OTLP_ENDPOINT` is set, spans and logs go
//! there by OTLP, configured by the standard `OTEL_*` variables: from tach's pipeline or, with
//! `--sdk`, from tracing-opentelemetry and the SDK, with tach's clock. At its end it prints how
//! long the spans of each route took; with `--sdk` and without a collector, each span.

mod app;
mod demo;
mod options;
mod relay;
mod telemetry;

use core::error::Error;
use core::future::{IntoFuture as _, pending};
use core::net::SocketAddr;
use std::io::{self, Write as _};
use std::process::ExitCode;

use tach_tower::{BudgetLayer, ServerSide, Settings, Stats};
use test_support::receiver;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::app::Instance;
use crate::options::{Options, USAGE};
use crate::relay::Upstream;
use crate::telemetry::{Road, Telemetry, is_exported};

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
    // Without a collector, the demo receives the spans itself.
    let receiver = (options.demo && !is_exported("TRACES")).then(receiver::serve);
    let address = receiver.as_ref().map(|(address, _)| &**address);
    // The HTTP client of the SDK's exporter must be created and dropped outside the runtime.
    let telemetry = Telemetry::start(options.road, address)?;
    let summary = Runtime::new()?.block_on(serve(options));
    // Sends what is left: no span of an answered request is lost.
    telemetry.shutdown()?;
    if let Some(summary) = summary? {
        demo::print(&summary, receiver.map(|(_, requests)| requests));
    }
    Ok(())
}

/// Serves until Ctrl-C or the end of the demo, and answers every request that has begun.
async fn serve(options: &Options) -> Result<Option<demo::Summary>, Failure> {
    let Options { listen, road, .. } = options;
    let mut upstream = options.upstream.clone();
    let mut second = None;
    if options.demo && upstream.is_none() {
        let instance = Server::start("127.0.0.1:0", *road, None).await?;
        upstream = Some(instance.address.to_string());
        second = Some(instance);
    }
    let first = Server::start(listen, *road, upstream.as_deref()).await?;
    let address = first.address;
    let driven =
        async { if options.demo { demo::drive(address, *road).await } else { pending().await } };
    let summary = tokio::select! {
        summary = driven => Some(summary),
        () = interrupted() => {
            log::info!("draining");
            None
        }
    };
    let stats = first.stop().await?;
    if let Some(second) = second {
        second.stop().await?;
    }
    Ok(summary.transpose()?.map(|summary| summary.with_budgets(&stats)))
}

/// An instance that serves.
struct Server {
    address: SocketAddr,
    budgets: BudgetLayer<ServerSide>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<io::Result<()>>,
}

impl Server {
    async fn start(listen: &str, road: Road, upstream: Option<&str>) -> Result<Self, Failure> {
        let listener = TcpListener::bind(listen)
            .await
            .map_err(|error| format!("can't listen on {listen}: {error}"))?;
        let address = listener.local_addr()?;
        log::info!("listening on http://{address}");

        let budgets = BudgetLayer::server(Settings::new().cap(app::BUDGET));
        let counted = budgets.clone();
        let upstream = upstream.map(|it| Upstream::new(it, road)).transpose()?;
        let instance = Instance { road, upstream };
        let (stop, stopped) = oneshot::channel::<()>();
        let server =
            axum::serve(listener, app::router(budgets, instance)).with_graceful_shutdown(async {
                let _ = stopped.await;
            });
        let serving = tokio::spawn(server.into_future());
        Ok(Self { address, budgets: counted, stop, serving })
    }

    /// Answers every request that has begun.
    async fn stop(self) -> Result<Stats, Failure> {
        let _ = self.stop.send(());
        self.serving.await??;
        Ok(self.budgets.stats())
    }
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
