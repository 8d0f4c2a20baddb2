//! Starts the scenes, and looks at what arrived.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::{env, fs, process};

use crate::child::{CHILDREN, FOLDER, RECORDS, SCENE, TO};

/// The number of forks under load: so many that each lock is held at one of them.
const FORKS: u64 = 300;

/// The scenes, and how many children log how many records each.
const SCENES: [(&str, u64, u64); 13] = [
    ("a file", CHILDREN, RECORDS),
    ("a file that rotates", CHILDREN, RECORDS),
    ("several sinks", CHILDREN, RECORDS),
    ("stdout", CHILDREN, RECORDS),
    ("a relative path", 1, RECORDS),
    ("a changed filter", 1, RECORDS),
    ("nested", 4, RECORDS),
    ("another thread", CHILDREN, RECORDS),
    ("SIGTERM", 1, RECORDS),
    ("its own pipeline", 1, RECORDS),
    ("threads of a child", 4, RECORDS),
    ("a dropped handle", 1, RECORDS),
    ("a silent child", 0, 0),
];

/// Runs the scenes whose names contain the first argument.
pub(crate) fn run() {
    let only = env::args().nth(1);
    let is_chosen = |name: &str| only.as_ref().is_none_or(|only| name.contains(&**only));
    for (name, children, records) in SCENES.into_iter().filter(|(name, ..)| is_chosen(name)) {
        logs(name, "", children, records);
    }
    if is_chosen("often") {
        let forks = if env::var_os("TACH_RUNS").is_some() { FORKS / 5 } else { FORKS };
        logs("often", &forks.to_string(), forks, 1);
    }
    #[cfg(feature = "config")]
    if is_chosen("another configuration") {
        logs("another configuration", "", 1, RECORDS);
    }
    #[cfg(all(target_os = "linux", feature = "survive"))]
    if is_chosen("survive") {
        logs("survive", "", CHILDREN, RECORDS);
    }
    refusals(is_chosen);
    #[cfg(feature = "syslog")]
    if is_chosen("syslog") {
        syslog();
    }
    #[cfg(feature = "otlp")]
    if is_chosen("a collector") {
        collector();
    }
}

/// Asserts that a scene logs each record once, and prints nothing else.
fn logs(name: &str, to: &str, children: u64, records: u64) {
    let scene = Scene::new(name);
    let output = scene.run(to);
    assert_quiet(name, &output);
    let mut lines = scene.lines();
    if name == "stdout" {
        lines.extend(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned));
    }
    assert_all(name, &lines, children, records, scene.logged());
    // Spans that are open at the fork are around the records of the child.
    if cfg!(feature = "tracing") && ["a file", "stdout"].contains(&name) {
        let mut of_children = lines.iter().filter(|line| line.contains("child "));
        assert!(of_children.all(|line| line.contains("around") && line.contains("number=7")));
    }
}

fn refusals(is_chosen: impl Fn(&str) -> bool) {
    let clone = "without the C library's fork";
    for (name, reason) in [
        ("a writer", "the writer belongs to the process"),
        ("clone", clone),
        ("clone beside survive", clone),
    ] {
        let is_there = name == "a writer"
            || cfg!(target_os = "linux") && (name == "clone" || cfg!(feature = "survive"));
        if !is_chosen(name) || !is_there {
            continue;
        }
        let scene = Scene::new(name);
        let output = scene.run("");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told.matches("incident: ").count(), 1, "{name}: {told}");
        assert!(told.contains(reason), "{name}: {told}");
        assert_eq!(scene.lines().len(), 2, "{name}: the parent's records");
    }
    if is_chosen("a lost file") {
        let output = Scene::new("a lost file").run("");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told.matches("app.log").count(), 1, "{told}");
    }
}

#[cfg(feature = "syslog")]
fn syslog() {
    use std::os::unix::net::UnixDatagram;

    let scene = Scene::new("syslog");
    let path = scene.0.join("socket");
    let socket = UnixDatagram::bind(&path).unwrap();
    let reader = std::thread::spawn(move || {
        let (mut messages, mut bytes) = (Vec::new(), [0; 9_000]);
        loop {
            let length = socket.recv(&mut bytes).unwrap();
            let message = String::from_utf8(bytes[..length].to_vec()).unwrap();
            if message == "end" {
                return messages;
            }
            messages.push(message);
        }
    });
    let output = scene.run(path.to_str().unwrap());
    UnixDatagram::unbound().unwrap().send_to(b"end", &path).unwrap();
    assert_quiet("syslog", &output);
    let messages = reader.join().unwrap();
    assert_all("syslog", &messages, CHILDREN, RECORDS, scene.logged());
    // The number of the process is the child's.
    let mut numbers: Vec<_> = messages.iter().filter_map(|it| it.split(' ').nth(4)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len() as u64, CHILDREN + 1);
}

#[cfg(feature = "otlp")]
fn collector() {
    use std::collections::BTreeSet;

    use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
    use prost::Message as _;
    use test_support::otlp;

    let scene = Scene::new("a collector");
    let (endpoint, requests) = serve_each();
    let output = scene.run(&endpoint);
    assert_quiet("a collector", &output);
    let (mut lines, mut spans, mut instances) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (path, body) in requests.try_iter() {
        if path.ends_with("traces") {
            spans.extend(otlp::spans(&body));
        } else if path.ends_with("logs") {
            let request = ExportLogsServiceRequest::decode(&*body).unwrap();
            for of in request.resource_logs {
                let id = of.resource.unwrap().attributes.into_iter();
                instances.extend(
                    id.filter(|it| it.key == "service.instance.id").map(|it| format!("{it:?}")),
                );
                let records = of.scope_logs.into_iter().flat_map(|scope| scope.log_records);
                lines.extend(records.map(|record| format!("{:?}", record.body)));
            }
        }
    }
    let each = RECORDS / 10;
    assert_all("a collector", &lines, CHILDREN, each, scene.logged());
    let count = |name: &str| spans.iter().filter(|span| span.name == name).count() as u64;
    assert_eq!((count("of the child"), count("around")), (CHILDREN * each, 1));
    let ids: BTreeSet<_> = spans.iter().map(|span| span.id).collect();
    assert_eq!(ids.len(), spans.len(), "no two spans have one id");
    assert_eq!(instances.len() as u64, CHILDREN + 1);
}

/// Serves each connection on a thread of its own: a child has a connection beside its parent's.
#[cfg(feature = "otlp")]
fn serve_each() -> (String, test_support::receiver::Requests) {
    use std::io::{BufReader, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc::channel;
    use std::thread;

    use test_support::receiver::{OK, request};

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, requests) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                while let Some(request) = request(&mut stream) {
                    sender.send(request).unwrap();
                    stream.get_mut().write_all(OK).unwrap();
                }
            });
        }
    });
    (format!("http://{address}"), requests)
}

/// The folder of a scene.
struct Scene(PathBuf, String);

impl Scene {
    fn new(name: &str) -> Self {
        let folder = format!("tach-pipeline-fork-{}-{}", process::id(), name.replace(' ', "-"));
        let folder = env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder, name.to_owned())
    }

    fn run(&self, to: &str) -> Output {
        let mut program = Command::new(env::current_exe().unwrap());
        program.env(SCENE, &self.1).env(FOLDER, &self.0).env(TO, to).env_remove("RUST_BACKTRACE");
        let output = program.output().unwrap();
        let Self(_, name) = self;
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {}: {told}", output.status);
        output
    }

    /// Returns how many records the parent has logged.
    fn logged(&self) -> u64 {
        fs::read_to_string(self.0.join("logged")).unwrap().parse().unwrap()
    }

    /// Returns the lines of the log's files.
    fn lines(&self) -> Vec<String> {
        let files = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        let logs =
            files.filter(|path| path.file_name().unwrap().to_str().unwrap().contains("app."));
        logs.flat_map(|log| {
            let text = fs::read_to_string(log).unwrap();
            assert!(text.is_empty() || text.ends_with('\n'));
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn assert_quiet(name: &str, output: &Output) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.is_empty(), "{name}: {told}");
}

/// Asserts that each child's numbers are there once, in any order, and so is each record of the
/// parent.
fn assert_all(name: &str, lines: &[String], children: u64, records: u64, of_parent: u64) {
    let mut counts = BTreeMap::<u64, Vec<u64>>::new();
    let mut parents = BTreeMap::<Vec<String>, u64>::new();
    let mut others = 0;
    for line in lines {
        if let Some((_, text)) = line.split_once("child ") {
            let mut words = text.split(|it: char| !it.is_ascii_digit());
            let mut number = || words.next().unwrap().parse::<u64>().unwrap();
            counts.entry(number()).or_default().push(number());
        } else if let Some((_, text)) = line.split_once("parent ") {
            let words = text.split(' ').take(2).map(str::to_owned).collect::<Vec<_>>();
            *parents.entry(words).or_default() += 1;
        } else {
            others += 1;
        }
    }
    assert_eq!(counts.len() as u64, children, "{name}");
    let expected: Vec<_> = (0..records).collect();
    for (child, mut numbers) in counts {
        // Files that were rotated are read in any order.
        numbers.sort_unstable();
        assert_eq!(numbers.len() as u64, records, "{name}: child {child}");
        assert!(numbers == expected, "{name}: child {child}");
    }
    assert!(parents.values().all(|&count| count == 1), "{name}: a record of the parent twice");
    assert_eq!(parents.len() as u64 + others, of_parent, "{name}: records of the parent");
}
