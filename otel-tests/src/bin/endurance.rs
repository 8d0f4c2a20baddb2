//! A pipeline for minutes, with a collector that dies every minute, threads that end, and filters
//! that change: every record arrives, and neither memory nor descriptors grow.
//!
//! ```text
//! cargo xtask endurance 12
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tach_pipeline::{Otlp, Pipeline, Rotation, Signal, Sink};

const MINUTE: Duration = Duration::from_secs(60);
/// How long the collector stays dead.
const DEAD: Duration = Duration::from_secs(3);
/// The pause between samples, which is also the time between changes of the filter.
const BETWEEN_SAMPLES: Duration = Duration::from_secs(5);
/// How many threads log at once, and for how long each lives.
const THREADS: usize = 4;
const LIFE: Duration = Duration::from_millis(500);
/// The pause between the bursts of a thread, and the records of a burst.
const PAUSE: Duration = Duration::from_millis(2);
const BURST: u64 = 4;
/// The growth that is no leak: of the memory after the first minute, and of the descriptors.
const MOST_GROWTH_KIB: u64 = 8 * 1024;
const MOST_MORE_FILES: usize = 4;
const LONG: Duration = Duration::from_secs(60);

/// The next record's number.
///
/// ORDERING: nothing else is shared by it.
static NEXT: AtomicU64 = AtomicU64::new(0);

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [_collector, address, file] = &arguments[..] {
        collect(address, Path::new(file))?;
        return Ok(ExitCode::SUCCESS);
    }
    let minutes: u32 = arguments.first().map_or(Ok(12), |text| text.parse())?;
    let folder = Folder::new()?;
    // Freed at once: the collector, which starts again and again, needs the same port each time.
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let (log, received) = (folder.0.join("endurance.log"), folder.0.join("received"));
    let faults = run(&address, &log, &received, MINUTE * minutes)?;
    for fault in &faults {
        println!("FAULT: {fault}");
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(
    address: &str,
    log: &Path,
    received: &Path,
    time: Duration,
) -> Result<Vec<String>, Box<dyn Error>> {
    let otlp = Otlp::new().endpoint(format!("http://{address}")).retry_for(Duration::MAX);
    let rotation = Rotation::new().max_bytes(8 * 1024 * 1024).gzip();
    let guard = Pipeline::builder()
        .sink(Sink::file(log).rotate(rotation))
        .sink(Sink::otlp(otlp.signals([Signal::Logs])).stall_timeout(Duration::MAX))
        .on_incident(|incident| eprintln!("{incident}"))
        .build()?;
    guard.pipeline().set_logger()?;
    let mut collector = Collector::start(address, received)?;
    let start = Instant::now();
    let mut samples = Vec::new();
    let mut kills = 0;
    let mut killed = start;
    while start.elapsed() < time {
        let until = Instant::now() + BETWEEN_SAMPLES;
        while Instant::now() < until {
            thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(log_for_a_while))));
        }
        let is_even = samples.len() % 2 == 0;
        guard.pipeline().set_filter(if is_even {
            "info"
        } else {
            "info,endurance=debug,absent=trace"
        })?;
        samples.push(Sample::take()?);
        if killed.elapsed() >= MINUTE {
            (kills, killed) = (kills + 1, Instant::now());
            collector.kill()?;
            let (address, received) = (address.to_owned(), received.to_owned());
            let restarted = thread::spawn(move || {
                thread::sleep(DEAD);
                Collector::start(&address, &received)
            });
            thread::scope(|scope| drop(scope.spawn(log_for_a_while)));
            collector = restarted.join().expect("the thread ends")?;
        }
    }
    guard.pipeline().flush(LONG)?;
    let stats = guard.pipeline().stats();
    drop(guard);
    collector.kill()?;
    let count = NEXT.load(Ordering::Relaxed);
    let dropped: u64 = stats.sinks().iter().map(tach_pipeline::SinkStats::dropped).sum();
    let mut faults = Vec::new();
    // A thread still compresses the last files.
    let archiving = Instant::now();
    while !is_compressed(log)? && archiving.elapsed() < LONG {
        thread::sleep(Duration::from_millis(10));
    }
    let at_collector = numbers(received)?;
    let in_files = numbers_of_logs(log)?;
    for (name, found, most_twice) in
        // The collector may have been killed between keeping a request and answering it.
        [("the collector", &at_collector, kills * 20_000), ("the files", &in_files, 0)]
    {
        let lost = count - found.len() as u64;
        let twice: u64 = found.values().map(|times| times - 1).sum();
        println!("{name}: {} of {count} records, {twice} twice", found.len());
        if lost > 0 || twice > most_twice {
            faults.push(format!("{name}: {lost} records are lost, {twice} are there twice"));
        }
    }
    if dropped > 0 {
        faults.push(format!("{dropped} records were dropped"));
    }
    let settled = samples.len() / 4;
    let (first, last) = (samples[settled], samples[samples.len() - 1]);
    println!(
        "{kills} collectors killed; memory {} to {} KiB, descriptors {} to {}",
        first.memory_kib, last.memory_kib, first.files, last.files
    );
    if last.memory_kib > first.memory_kib + MOST_GROWTH_KIB {
        faults.push("the memory grows".to_owned());
    }
    if last.files > first.files + MOST_MORE_FILES {
        faults.push("the descriptors grow".to_owned());
    }
    Ok(faults)
}

/// Logs from a thread that ends afterwards.
fn log_for_a_while() {
    let end = Instant::now() + LIFE;
    while Instant::now() < end {
        for _ in 0..BURST {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            log::info!(target: "endurance", number; "a record of the usual length for the count");
            log::debug!(target: "endurance", "a record that the filter admits now and then");
        }
        thread::sleep(PAUSE);
    }
}

/// What the process takes.
#[derive(Debug, Clone, Copy)]
struct Sample {
    memory_kib: u64,
    files: usize,
}

impl Sample {
    fn take() -> Result<Self, Box<dyn Error>> {
        let status = fs::read_to_string("/proc/self/status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory_kib = line.ok_or("no VmRSS")?.trim().trim_end_matches(" kB").parse()?;
        let files = fs::read_dir("/proc/self/fd")?.count();
        Ok(Self { memory_kib, files })
    }
}

/// The collector's process.
struct Collector(Child);

impl Collector {
    fn start(address: &str, received: &Path) -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["collector", address]).arg(received).spawn().map(Self)
    }

    /// Kills it in the midst of its work.
    fn kill(&mut self) -> io::Result<()> {
        self.0.kill()?;
        self.0.wait().map(drop)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _may_be_dead = self.kill();
    }
}

/// Accepts requests, and appends the numbers of their records to a file before it answers.
fn collect(address: &str, file: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = File::options().create(true).append(true).open(file)?;
    for stream in TcpListener::bind(address)?.incoming() {
        let mut stream = BufReader::new(stream?);
        while let Some((_, body)) = otel_tests::request(&mut stream) {
            let mut numbers = Vec::new();
            let request: ExportLogsServiceRequest = otel_tests::decode(&body);
            let scopes = request.resource_logs.into_iter().flat_map(|all| all.scope_logs);
            for record in scopes.flat_map(|scope| scope.log_records) {
                let number = record.attributes.into_iter().find(|it| it.key == "number");
                if let Some(Value::IntValue(number)) = number.and_then(|it| it.value?.value) {
                    writeln!(numbers, "{number}")?;
                }
            }
            file.write_all(&numbers)?;
            stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
        }
    }
    Ok(())
}

/// Returns how often each number is in a file.
fn numbers(file: &Path) -> io::Result<HashMap<u64, u64>> {
    let mut numbers = HashMap::new();
    for line in BufReader::new(File::open(file)?).lines() {
        // A collector that was killed may have left a part of a line.
        if let Ok(number) = line?.parse() {
            *numbers.entry(number).or_default() += 1;
        }
    }
    Ok(numbers)
}

/// Returns whether all old files are compressed.
fn is_compressed(log: &Path) -> io::Result<bool> {
    let mut names = Vec::new();
    for entry in fs::read_dir(log.parent().unwrap_or(log))? {
        names.push(entry?.path());
    }
    let is_old = |path: &&PathBuf| path.to_string_lossy().contains("endurance.log.");
    Ok(names.iter().filter(is_old).all(|path| path.extension() == Some("gz".as_ref())))
}

/// Returns how often each number is in the log and its old files.
fn numbers_of_logs(log: &Path) -> io::Result<HashMap<u64, u64>> {
    let mut numbers = HashMap::new();
    let folder = log.parent().unwrap_or(log);
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.to_string_lossy().contains("endurance.log") {
            continue;
        }
        let file = File::open(&path)?;
        let mut text = String::new();
        if path.extension() == Some("gz".as_ref()) {
            GzDecoder::new(file).read_to_string(&mut text)?;
        } else if path.extension() != Some("part".as_ref()) {
            BufReader::new(file).read_to_string(&mut text)?;
        }
        let found = text.lines().filter_map(|line| line.rsplit_once("number=")?.1.parse().ok());
        found.for_each(|number: u64| *numbers.entry(number).or_default() += 1);
    }
    Ok(numbers)
}

/// A folder that disappears with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let path = env::temp_dir().join(format!("tach-endurance-{}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _best_effort = fs::remove_dir_all(&self.0);
    }
}
