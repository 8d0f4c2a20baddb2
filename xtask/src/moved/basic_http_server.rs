//! basic-http-server: files by axum, with a filter, without times and targets, until a signal.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use super::process::Process;
use super::program::{Change, Form, Program};
use super::used::{Used, masked};

pub(super) const PROGRAM: Program = Program {
    name: "basic-http-server",
    version: "0.11.0",
    form: Form::Whole,
    repairs: &[],
    commands: &[
        "cargo remove tracing-subscriber",
        "cargo add tach-log",
        "cargo add tach-pipeline --features tracing",
    ],
    changes: &[
        Change {
            file: "src/main.rs",
            begin: "use tower_http",
            end: ";",
            with: "use tower_http::services::ServeDir;
use tach_log::Line;
use tach_pipeline::{Pipeline, Sink};",
            own: &["use tower_http::services::ServeDir;"],
        },
        Change {
            file: "src/main.rs",
            begin: "tracing_subscriber::fmt",
            end: ".init();",
            with: "Pipeline::builder()
        .sink(Sink::stdout().format(Line::tracing().without_time().without_target()))
        .filter(format!(\"{}=info\", env!(\"CARGO_CRATE_NAME\")))
        .filter_from_env(\"RUST_LOG\")
        .init()
        .expect(\"can't start logging\");",
            own: &[],
        },
    ],
    targets: &["--bins"],
    tests: 0,
    session: Some(session),
    same_line: masked,
    shown: &[[" INFO extensions: false"; 2]],
};

/// A request, and the signal that ends a service.
fn session(folder: &Path) -> Result<Used, String> {
    let mut server = Command::new(folder.join("basic-http-server"));
    let mut server = Process::start(server.args(["-a", "127.0.0.1:0"]).current_dir(folder))?;
    let line = server.wait_for("listening on")?;
    let address = line.rsplit(' ').next().unwrap_or_default();
    let mut client = TcpStream::connect(address).map_err(|error| format!("{address}: {error}"))?;
    let request = "GET /nothing HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n";
    client.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
    let mut answer = String::new();
    client.read_to_string(&mut answer).map_err(|error| error.to_string())?;
    if !answer.starts_with("HTTP/1.1 404") {
        return Err(format!("the server answered {answer:?}"));
    }
    server.signal("TERM")?;
    server.end()
}
