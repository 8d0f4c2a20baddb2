//! A process whose lines are read while it runs.

use core::time::Duration;
use std::io::{BufRead as _, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;

use super::used::{End, Used};

/// Long enough for any machine.
const LONG: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

pub(super) struct Process {
    child: Child,
    lines: Receiver<(Stream, String)>,
    used: Used,
}

impl Process {
    pub(super) fn start(command: &mut Command) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|error| format!("can't start {name}: {error}"))?;
        let (sender, lines) = channel();
        read(child.stdout.take(), Stream::Stdout, sender.clone());
        read(child.stderr.take(), Stream::Stderr, sender);
        Ok(Self { child, lines, used: Used::default() })
    }

    /// Waits for a line that has `text`, and returns the line.
    pub(super) fn wait_for(&mut self, text: &str) -> Result<String, String> {
        loop {
            let line = self.next()?.ok_or_else(|| format!("it ended without \"{text}\""))?;
            if line.contains(text) {
                return Ok(line);
            }
        }
    }

    /// Sends a signal, such as `TERM`.
    pub(super) fn signal(&self, name: &str) -> Result<(), String> {
        let mut kill = Command::new("sh");
        kill.args(["-c", "kill -s \"$0\" \"$1\"", name, &self.child.id().to_string()]);
        match kill.status() {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("can't send {name}: {other:?}")),
        }
    }

    /// Waits for the end, and returns what the process has printed.
    pub(super) fn end(mut self) -> Result<Used, String> {
        while self.next()?.is_some() {}
        let status = self.child.wait().map_err(|error| format!("can't wait: {error}"))?;
        Ok(Used { end: end_of(status), ..self.used })
    }

    /// Returns the next line, or `None` after the last one.
    fn next(&mut self) -> Result<Option<String>, String> {
        match self.lines.recv_timeout(LONG) {
            Ok((stream, line)) => {
                let text = match stream {
                    Stream::Stdout => &mut self.used.stdout,
                    Stream::Stderr => &mut self.used.stderr,
                };
                text.push_str(&line);
                text.push('\n');
                Ok(Some(line))
            }
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                let _has_ended = self.child.kill();
                Err(format!("no further line within {LONG:?} after {:?}", self.used))
            }
        }
    }
}

#[cfg(unix)]
fn end_of(status: ExitStatus) -> Option<End> {
    use std::os::unix::process::ExitStatusExt as _;

    status.code().map(End::Status).or_else(|| status.signal().map(End::Signal))
}

#[cfg(not(unix))]
fn end_of(status: ExitStatus) -> Option<End> {
    status.code().map(End::Status)
}

/// Returns the number of a port that nobody uses now.
pub(super) fn free_port() -> Result<String, String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map(|it| it.port().to_string()).map_err(|error| format!("no port is free: {error}"))
}

/// Runs a command to its end.
pub(super) fn run(command: &mut Command) -> Result<Used, String> {
    Process::start(command)?.end()
}

fn read(stream: Option<impl Read + Send + 'static>, name: Stream, to: Sender<(Stream, String)>) {
    let Some(stream) = stream else { return };
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let _nobody_waits = to.send((name, line));
        }
    });
}
