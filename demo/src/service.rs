//! A service, its clients, and the screen for its traces.

use core::net::SocketAddr;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use tach_http::RequestLayer;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::time::{Duration, sleep};
use tracing::{Instrument as _, info, info_span, warn};

use crate::Failure;

/// The records of a request, and what is in the line of each.
pub(crate) const RECORDS: usize = 3;
pub(crate) const TARGET: &str = r#""target":"demo::service""#;

async fn query(user: u32) -> usize {
    sleep(Duration::from_millis(1)).await;
    if user % 2 == 1 {
        warn!(rows = 0, "no such user");
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

/// Starts the service, sends requests from several threads, and waits for the answers.
pub(crate) fn run(clients: u32, requests: u32) -> Result<(), Failure> {
    let runtime = Runtime::new()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let app = Router::new().route("/users/{id}", get(user)).layer(RequestLayer::server());
    runtime.spawn(axum::serve(listener, app).into_future());
    thread::scope(|scope| {
        let clients: Vec<_> =
            (0..clients).map(|_| scope.spawn(|| ask_often(address, requests))).collect();
        clients.into_iter().try_for_each(|client| client.join().unwrap_or(Ok(())))
    })?;
    Ok(())
}

fn ask_often(address: SocketAddr, requests: u32) -> io::Result<()> {
    (0..requests).try_for_each(|id| {
        let mut server = TcpStream::connect(address)?;
        write!(server, "GET /users/{id} HTTP/1.1\r\nhost: demo\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        server.read_to_string(&mut answer)?;
        if answer.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(io::Error::other(answer)) }
    })
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
