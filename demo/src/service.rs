//! A service, its clients, and the screen for its traces.
//!
//! The clients call the router as a server does, but without sockets: tokio's, hyper and their
//! dependencies are 13 crates more for a visitor to build.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{self, Body};
use axum::extract::Path;
use axum::http::{Request, StatusCode, header::HOST};
use axum::routing::get;
use tach_http::RequestLayer;
use tokio::runtime::Runtime;
use tokio::time::{Duration, sleep};
use tower_service::Service as _;
use tracing::{Instrument as _, info, info_span, warn};

use crate::Failure;

/// The records of a request, and what is in the line of each.
pub(crate) const RECORDS: usize = 3;
pub(crate) const TARGET: &str = r#""target":"demo::service""#;

async fn query(user: u32) -> usize {
    sleep(Duration::from_millis(1)).await;
    if user % 2 == 1 {
        warn!(rows = 0, "no orders");
        return 0;
    }
    info!(rows = 1, "found");
    1
}

fn render(rows: usize) -> String {
    info!(rows, "rendering");
    format!("{rows} rows\n")
}

async fn user(Path(id): Path<u32>) -> String {
    let rows = query(id).instrument(info_span!("query", user = id)).await;
    let page = info_span!("render").in_scope(|| render(rows));
    info!(bytes = page.len(), "answered");
    page
}

/// Starts the service, sends requests from several tasks, and waits for the answers.
pub(crate) fn run(clients: u32, requests: u32) -> Result<(), Failure> {
    let app = Router::new().route("/users/{id}", get(user)).layer(RequestLayer::server());
    let runtime = Runtime::new()?;
    let clients: Vec<_> =
        (0..clients).map(|_| runtime.spawn(ask_often(app.clone(), requests))).collect();
    clients.into_iter().try_for_each(|client| runtime.block_on(client)?)
}

async fn ask_often(mut app: Router, requests: u32) -> Result<(), Failure> {
    for id in 0..requests {
        let request = Request::get(format!("/users/{id}")).header(HOST, "demo");
        let answer = app.call(request.body(Body::empty())?).await?;
        if answer.status() != StatusCode::OK {
            return Err(answer.status().to_string().into());
        }
        body::to_bytes(answer.into_body(), usize::MAX).await?;
    }
    Ok(())
}

/// What a terminal would show.
#[derive(Clone, Default)]
pub(crate) struct Screen(Arc<Mutex<String>>);

impl Screen {
    /// Returns the lines of the last trace.
    pub(crate) fn last_trace(&self) -> String {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let trace = shown.rfind(" trace ").unwrap_or(0);
        let start = shown[..trace].rfind('\n').map_or(0, |end| end + 1);
        shown[start..].to_owned()
    }
}

impl io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
