//! A pipe, a socket and a collector, which outlive the children, and keep what they receive in
//! logs.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use prost::Message as _;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use test_support::receiver;

/// The last line of a log.
const END: &str = "alive at the end";

pub(crate) struct Receivers {
    folder: PathBuf,
    pipe: File,
    /// The address of the collector.
    pub(crate) collector: String,
    /// Whether the collector refuses all requests for now.
    pub(crate) is_away: Arc<AtomicBool>,
    /// How many requests the collector has refused.
    pub(crate) refusals: Arc<AtomicU64>,
}

impl Receivers {
    pub(crate) fn start(folder: &Path, refuses_first: bool) -> Self {
        let path = folder.join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        // Opened for reading and writing, the pipe never ends.
        let pipe = File::options().read(true).write(true).open(&path).unwrap();
        let (mut reader, mut log) = (pipe.try_clone().unwrap(), log(folder, "pipe"));
        thread::spawn(move || {
            let mut part = vec![0; 64 * 1024];
            while let Ok(count) = reader.read(&mut part) {
                if log.write_all(&part[..count]).is_err() {
                    return;
                }
            }
        });
        let (socket, mut log) =
            (UnixDatagram::bind(folder.join("socket")).unwrap(), self::log(folder, "socket"));
        thread::spawn(move || {
            let mut message = vec![0; 256 * 1024];
            while let Ok(count) = socket.recv(&mut message) {
                log.write_all(&[&message[..count], b"\n"].concat()).unwrap();
                if message[..count].ends_with(END.as_bytes()) {
                    return;
                }
            }
        });
        let (mut log, mut is_first) = (self::log(folder, "collector"), true);
        let is_away = Arc::new(AtomicBool::new(false));
        let refusals = Arc::new(AtomicU64::new(0));
        let (away, count) = (Arc::clone(&is_away), Arc::clone(&refusals));
        let (collector, _) = receiver::serve_by(move |_, body| {
            if core::mem::take(&mut is_first) && refuses_first || away.load(Ordering::SeqCst) {
                count.fetch_add(1, Ordering::SeqCst);
                return b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n".to_vec();
            }
            log.write_all(lines(body).as_bytes()).unwrap();
            receiver::OK.to_vec()
        });
        Self { folder: folder.to_owned(), pipe, collector, is_away, refusals }
    }

    /// Waits until the pipe and the socket are read to their ends. The collector has answered each
    /// request of a pipeline that was flushed.
    pub(crate) fn drain(&self) {
        (&self.pipe).write_all(format!("{END}\n").as_bytes()).unwrap();
        let socket = UnixDatagram::unbound().unwrap();
        socket.send_to(END.as_bytes(), self.folder.join("socket")).unwrap();
        for log in ["pipe.log", "socket.log"] {
            while !fs::read_to_string(self.folder.join(log)).is_ok_and(|it| it.contains(END)) {
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

fn log(folder: &Path, name: &str) -> File {
    File::create(folder.join(format!("{name}.log"))).unwrap()
}

/// Returns the records in a request as lines.
fn lines(body: &[u8]) -> String {
    let request = ExportLogsServiceRequest::decode(body).unwrap();
    let scopes = request.resource_logs.into_iter().flat_map(|logs| logs.scope_logs);
    let mut lines = String::new();
    for scope in scopes {
        let target = scope.scope.map(|scope| scope.name).unwrap_or_default();
        for record in scope.log_records {
            let text = record.body.map(|body| format!("{:?}", body.value)).unwrap_or_default();
            let keys: Vec<_> = record.attributes.into_iter().map(|it| it.key).collect();
            lines.extend([&*target, ": ", &text, " ", &keys.join(" "), "\n"]);
        }
    }
    lines
}
