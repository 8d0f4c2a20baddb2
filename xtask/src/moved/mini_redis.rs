//! mini-redis: spans and events of `tracing` on the screen.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use super::process::{self, Process};
use super::program::{Change, Form, Program};
use super::used::{Used, masked};

const USES: &str = "use tach_log::Line;
use tach_pipeline::{Pipeline, Sink};

#[tokio::main";

const INIT: &str = "Pipeline::builder()
        .sink(Sink::stdout().format(Line::tracing()))
        .filter(\"error\")
        .filter_from_env(\"RUST_LOG\")
        .init()?;";

pub(super) const PROGRAM: Program = Program {
    name: "mini-redis",
    version: "0.4.1",
    form: Form::Whole,
    // tracing-subscriber 0.2 does not enable a feature of regex that its filter needs.
    repairs: &["cargo add regex@1.12 --features unicode-case"],
    commands: &[
        "cargo remove tracing-subscriber",
        "cargo add tach-log",
        "cargo add tach-pipeline --features tracing",
    ],
    changes: &[
        uses("src/bin/server.rs"),
        init("src/bin/server.rs"),
        uses("src/bin/cli.rs"),
        init("src/bin/cli.rs"),
    ],
    targets: &["--lib", "--bins", "--tests"],
    tests: 10,
    session: Some(session),
    same_line: without_time,
    shown: &[
        [
            "Nov 26 17:50:03.974 DEBUG run: mini_redis::server: cmd=Get(Get { key: \"foo\" })",
            "2026-11-26T17:51:02.661375Z DEBUG run: mini_redis::server: cmd=Get(Get { key: \"foo\" })",
        ],
        [
            "Nov 26 17:50:03.974 DEBUG run:apply: mini_redis::cmd::get: response=Bulk(b\"bar\")",
            "2026-11-26T17:51:02.661506Z DEBUG run:apply: mini_redis::cmd::get: response=Bulk(b\"bar\")",
        ],
    ],
};

const fn uses(file: &'static str) -> Change {
    Change { file, begin: "#[tokio::main", end: "", with: USES, own: &["#[tokio::main"] }
}

const fn init(file: &'static str) -> Change {
    Change { file, begin: "tracing_subscriber::fmt", end: ";", with: INIT, own: &[] }
}

/// Two clients, a connection that breaks, and Ctrl-C.
fn session(folder: &Path) -> Result<Used, String> {
    let port = process::free_port()?;
    let mut server = Command::new(folder.join("mini-redis-server"));
    server.args(["--port", &port]).env("RUST_LOG", "mini_redis=debug");
    let mut server = Process::start(&mut server)?;
    server.wait_for("accepting inbound connections")?;
    let mut printed = String::new();
    for arguments in [["set", "foo", "bar"].as_slice(), &["get", "foo"]] {
        let mut client = Command::new(folder.join("mini-redis-cli"));
        let client = process::run(client.args(["--port", &port]).args(arguments))?;
        printed.push_str(&client.stdout);
        server.wait_for("cmd=")?;
    }
    let mut broken =
        TcpStream::connect(format!("127.0.0.1:{port}")).map_err(|it| it.to_string())?;
    broken.write_all(b"!").map_err(|error| error.to_string())?;
    let _closed = broken.read(&mut [0]);
    server.wait_for("connection error")?;
    server.signal("INT")?;
    let mut used = server.end()?;
    used.stdout.push_str(&printed);
    Ok(used)
}

/// Returns a line without its time, which has another form in tracing-subscriber 0.2.
fn without_time(line: &str) -> String {
    let levels = [" INFO ", "DEBUG ", "ERROR ", " WARN "];
    let line = masked(line);
    let start = levels.iter().filter_map(|level| line.find(level)).min().unwrap_or_default();
    line[start..].to_owned()
}
