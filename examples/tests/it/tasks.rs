//! The pages by task: each program as it stands on its page, run as its users run it.

use std::fs;
use std::path::Path;

use crate::example;
use crate::folder::Folder;

const PAGES: [(&str, &str); 6] = [
    ("service", "service"),
    ("command-line", "command_line"),
    ("library", "library"),
    ("worker", "worker"),
    ("container", "container"),
    ("systemd", "systemd"),
];

#[test]
fn each_page_has_its_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let pages = root.join("tach-pipeline/docs/tasks");
    for (page, program) in PAGES {
        let text = fs::read_to_string(pages.join(page).with_extension("md")).unwrap();
        let (_, shown) = text.split_once("```rust").unwrap();
        let (_, shown) = shown.split_once('\n').unwrap();
        let (shown, _) = shown.split_once("```").unwrap();
        let source = fs::read_to_string(root.join(format!("examples/tasks/{program}.rs"))).unwrap();
        // The lines before are the file's own: which page it is of, and a lint.
        let (_, source) = source.split_once("\n\n").unwrap();
        assert_eq!(shown, source, "{page}");
    }
    assert_eq!(fs::read_dir(pages).unwrap().count(), PAGES.len());
}

#[test]
fn a_command_writes_lines_among_its_output() {
    let folder = Folder::new("task-command");
    let (full, empty) = (folder.path.join("full"), folder.path.join("empty"));
    fs::create_dir_all(&folder.path).unwrap();
    fs::write(&full, "1\n2\n").unwrap();
    fs::write(&empty, "").unwrap();
    let run = |arguments: &[&str]| {
        let mut command = example("task_command_line");
        command.args(arguments).args([&full, &empty]).env_remove("RUST_LOG").output().unwrap()
    };
    let output = run(&[]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, format!("WARN  empty file={}\n", empty.display()));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("       2 "));
    let told = String::from_utf8(run(&["-v"]).stderr).unwrap();
    assert_eq!(told.lines().filter(|line| line.starts_with("DEBUG reading ")).count(), 2, "{told}");
}

#[test]
fn a_worker_counts_what_it_logs() {
    let folder = Folder::new("task-worker");
    let mut worker = example("task_worker");
    let output = worker.arg(&folder.path).env_remove("RUST_LOG").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told, "2020 records, 0 dropped\n");
    let text = fs::read_to_string(folder.path.join("jobs.json")).unwrap();
    let errors = text.lines().filter(|line| line.contains(r#""msg":"failed""#)).count();
    assert_eq!(errors, 20, "{text}");
}

#[cfg(unix)]
mod until_a_signal {
    use core::time::Duration;
    use std::io::{BufRead as _, BufReader, Read, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Child;

    use test_support::receiver::serve;

    use crate::{example, interrupt};

    const SIGTERM: i32 = 15;

    fn first_line(output: impl Read) -> String {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).unwrap();
        line
    }

    fn end(mut child: Child) {
        interrupt(&child, "TERM");
        assert_eq!(child.wait().unwrap().signal(), Some(SIGTERM));
    }

    #[test]
    fn a_container_writes_json() {
        let mut child = example("task_container").env_remove("RUST_LOG").spawn().unwrap();
        let line = first_line(child.stdout.take().unwrap());
        assert!(line.starts_with('{') && line.contains(r#""msg":"ready""#), "{line}");
        end(child);
    }

    #[test]
    fn a_unit_writes_lines_where_there_is_no_journal() {
        let mut child = example("task_systemd");
        child.env_remove("RUST_LOG").env_remove("JOURNAL_STREAM");
        let mut child = child.spawn().unwrap();
        let line = first_line(child.stderr.take().unwrap());
        assert!(line.ends_with(" INFO task_systemd: ready port=3000\n"), "{line}");
        end(child);
    }

    fn get(address: &str, path: &str) -> String {
        // Until the service listens.
        let mut stream = loop {
            match TcpStream::connect(address) {
                Ok(stream) => break stream,
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        write!(stream, "GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_service_sends_its_requests_to_a_collector() {
        let (endpoint, requests) = serve();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let mut child = example("task_service");
        child.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env("LISTEN", &free);
        let mut child = child.env_remove("RUST_LOG").spawn().unwrap();
        assert!(get(&free, "/users/7").ends_with("user 7\n"));
        assert!(get(&free, "/users/0").starts_with("HTTP/1.1 404 "));
        assert!(get(&free, "/health").starts_with("HTTP/1.1 204 "));
        let metrics = get(&free, "/metrics");
        assert!(metrics.contains("log_dropped_total 0\n"), "{metrics}");
        assert!(metrics.contains("log_sink_dropped_total{sink=\"stderr\"} 0\n"), "{metrics}");
        let stderr = child.stderr.take().unwrap();
        end(child);
        let told = first_line(stderr);
        assert!(told.contains("no such user"), "{told}");
        let sent: Vec<_> = requests.try_iter().collect();
        let has = |path: &str, text: &str| {
            sent.iter().any(|(at, body)| {
                at == path && body.windows(text.len()).any(|part| part == text.as_bytes())
            })
        };
        assert!(has("/v1/traces", "GET /users/{id}"));
        assert!(has("/v1/logs", "found"));
        assert!(has("/v1/metrics", "http.route"));
        assert!(!has("/v1/traces", "/health"));
    }
}
