//! Programs that a test starts and stops.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The longest wait for a back end to start or for telemetry to arrive: far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the file that a variable names; `None` if it is not set, so that the test is skipped.
///
/// # Panics
///
/// If the variable is not set and `TACH_TESTS` is `all`, or if there is no such file.
#[must_use]
pub fn program(variable: &str) -> Option<PathBuf> {
    match env::var_os(variable) {
        Some(path) => {
            let path = PathBuf::from(path);
            assert!(path.is_file(), "{variable} names no file: {}", path.display());
            Some(path)
        }
        None if env::var_os("TACH_TESTS").is_some_and(|tests| tests == "all") => {
            panic!("{variable} is not set; `cargo xtask otel` sets it")
        }
        None => {
            eprintln!("skipped: {variable} is not set");
            None
        }
    }
}

/// A running program and its folder.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    folder: Arc<Folder>,
}

impl Running {
    pub(crate) fn start(command: &mut Command, folder: Arc<Folder>) -> Self {
        let log = fs::File::create(folder.path().join("log")).expect("the log can be made");
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().expect("the program starts");
        Self { child, folder }
    }

    /// Calls `ask` until it returns an answer.
    ///
    /// # Panics
    ///
    /// If that takes too long, with the program's output.
    pub(crate) fn wait_for<T>(&self, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(answer) = ask() {
                return answer;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let said = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        panic!("no {what} after {PATIENCE:?}; the program said:\n{said}")
    }

    /// Asks the program to end, and waits until it has.
    pub(crate) fn terminate(mut self) {
        let id = Pid::from_child(&self.child);
        kill_process(id, Signal::TERM).expect("the program runs");
        self.child.wait().expect("the program is a child");
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The program may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder that is removed when the test has succeeded.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !thread::panicking() {
            // A folder that can't be removed does no harm.
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Creates a folder below the one for temporary files.
pub(crate) fn folder() -> Arc<Folder> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = env::temp_dir().join(format!("tach-otel-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).expect("the folder can be made");
    Arc::new(Folder(folder))
}

/// Returns loopback ports that were free just now.
pub(crate) fn ports<const COUNT: usize>() -> [u16; COUNT] {
    // All are held until the last is found, so that they differ.
    let held = [(); COUNT].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port is free"));
    held.map(|listener| listener.local_addr().expect("it has an address").port())
}
