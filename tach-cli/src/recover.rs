//! `tach recover`: the records that processes left in a folder of tach-pipeline's
//! `Builder::survive`.

mod otlp;

use std::io;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tach_log::{Event, Format, Json, Line, Part};
use tach_pipeline::{Survivor, Survivors};

use self::otlp::Collector;
use crate::Outcome;
use crate::output::{self, Output, faint, heading};

/// Prints the records that killed processes left in a folder of tach-pipeline's `Builder::survive`
///
/// It only reads: the next start of the program still passes the records on to its log. Stdout has
/// a line about each process, then its records, its spans that were open or not sent, and the
/// events and spans that its flight recorder had kept. With --json each of them is an object, and
/// so is each line about a process, which has the key "process". A record's integers are numbers,
/// also those of 2^53 and more, which some readers round. With --otlp, a collector gets the
/// records and the spans. Values that the program redacts in its log are not redacted here.
///
/// Exit status 1 if a file could not be read: a living process uses it (see --peek), another
/// version of tach-pipeline has written it, or it is damaged. Exit status 3 if a collector does not
/// accept the records: it may have some of them.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The folder, which must belong to the user who runs this
    folder: PathBuf,
    /// Also reads the files of living processes, such as one that hangs. Changes nothing, and does
    /// not stop them
    #[arg(long)]
    peek: bool,
    /// Removes each file after its records were printed. Then no start of the program passes them
    /// on
    #[arg(long, conflicts_with = "peek")]
    remove: bool,
    /// Sends the records and the spans to an OpenTelemetry collector instead of printing them. What
    /// the process was sending to a collector itself is sent too. The variables of OTLP set headers
    /// and timeouts
    #[arg(long, value_name = "http://HOST:4318")]
    otlp: Option<String>,
}

/// A line about a process.
#[derive(Debug, Serialize)]
struct About<'a> {
    process: u64,
    program: &'a str,
    alive: bool,
    started: String,
    last: Option<String>,
    records: u64,
    spans: u64,
    recorded: u64,
    /// How many events the process was writing to its sinks.
    formatted: usize,
    cut: u64,
    dropped: u64,
    queues_outside: u64,
    spans_outside: u64,
}

/// An event as the process has formatted it for its log.
#[derive(Debug, Serialize)]
struct Formatted<'a> {
    sink: &'a str,
    formatted: &'a str,
}

impl<'a> About<'a> {
    fn new(of: &'a Survivor) -> Self {
        Self {
            process: of.process(),
            program: of.program(),
            alive: of.is_alive(),
            started: format!("{:.6}", of.started()),
            last: of.last().map(|time| format!("{time:.6}")),
            records: of.records(),
            spans: of.spans(),
            recorded: of.recorded(),
            formatted: of.formatted().count(),
            cut: of.cut(),
            dropped: of.dropped(),
            queues_outside: of.queues_outside(),
            spans_outside: of.spans_outside(),
        }
    }

    fn text(&self) -> String {
        let Self { process, program, started, .. } = self;
        let ended = if self.alive { "is alive" } else { "ended" };
        let program = if program.is_empty() { String::new() } else { format!(" ({program})") };
        let last = self.last.as_ref().map(|last| format!(", and logged last at {last}"));
        let last = last.unwrap_or_default();
        let text = format!("process {process}{program} {ended}; it started at {started}{last}");
        let follow = match self.records {
            1 => "1 record follows".to_owned(),
            records => format!("{records} records follow"),
        };
        let mut clauses = vec![follow];
        for (count, what) in [
            (self.spans, "spans after them"),
            (self.recorded, "events and spans of its flight recorder after these"),
            (self.formatted as u64, "before them that a log may have"),
            (self.cut, "damaged"),
            (self.dropped, "dropped by the process"),
            (self.queues_outside, "queues found no room in the file"),
            (self.spans_outside, "spans found no room in the file"),
        ] {
            if count > 0 {
                clauses.push(format!("{count} {what}"));
            }
        }
        format!("{}: {}", heading(text), clauses.join(", "))
    }
}

pub(crate) fn run(options: &Options, output: &mut Output) -> anyhow::Result<Outcome> {
    let folder = &options.folder;
    let mut collector = options.otlp.as_deref().map(Collector::new).transpose()?;
    let found = if options.peek { Survivors::peek(folder) } else { Survivors::read(folder) };
    let (mut outcome, mut is_empty) = (Outcome::Good, true);
    for survivor in found? {
        is_empty = false;
        match survivor {
            Ok(survivor) => {
                let left_out = print(&survivor, collector.as_mut(), output)?;
                if left_out > 0 {
                    let what = "events for a collector are not printed: the next start sends them, \
                                or --otlp does";
                    output::report(faint(format!("{left_out} {what}")));
                }
                if options.remove && left_out == 0 {
                    survivor.remove()?;
                } else if options.remove {
                    output::report(faint("the file stays, since it has these events"));
                    outcome = Outcome::Problem;
                }
            }
            Err(error) => {
                output::report_error(&error.into());
                outcome = Outcome::Problem;
            }
        }
    }
    if is_empty {
        output::report(faint(format!("{} has no records", folder.display())));
    }
    Ok(outcome)
}

/// Prints what a process has left, or sends it to the collector. Returns how many events were not
/// printed, since they are no text.
fn print(
    survivor: &Survivor,
    mut collector: Option<&mut Collector>,
    output: &mut Output,
) -> anyhow::Result<usize> {
    let about = About::new(survivor);
    output.write(&about, |_| about.text())?;
    let mut left_out = 0;
    for (sink, event) in survivor.formatted() {
        if let Some(collector) = &mut collector {
            if collector.formatted(sink, event)? {
                continue;
            }
        }
        // A collector's events are no text.
        let Ok(text) = core::str::from_utf8(event) else {
            left_out += 1;
            continue;
        };
        let event = Formatted { sink, formatted: text.trim_end_matches('\n') };
        output.write(&event, |_| event.formatted)?;
    }
    if let Some(collector) = collector {
        collector.rest(survivor)?;
        return Ok(left_out);
    }
    let format: Box<dyn Format> = if output.is_json() {
        Box::new(Json::new().with("thread", Part::ThreadName).with("thread_id", Part::ThreadId))
    } else {
        Box::new(WithThread)
    };
    let mut line = Vec::new();
    let mut failed = None;
    let mut write = |event: &Event<'_>| {
        line.clear();
        format.write(event, &mut line)?;
        let text = String::from_utf8_lossy(&line);
        output.line(text.trim_end_matches('\n')).map_err(|error| {
            failed = Some(error);
            io::Error::other("the output failed")
        })
    };
    let each = survivor
        .each(&mut write)
        .and_then(|()| survivor.each_span(&mut write))
        .and_then(|()| survivor.each_recorded(&mut write));
    // The error of the output says more, such as that nobody reads it.
    failed.map_or(Ok(()), Err)?;
    each?;
    Ok(left_out)
}

/// A line, and the thread.
struct WithThread;

impl Format for WithThread {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        Line::new().write(event, to)?;
        to.truncate(to.trim_ascii_end().len());
        let name = event.thread_name().filter(|name| !name.is_empty());
        if let Some(name) = name {
            to.extend_from_slice(format!(" thread={}", tach_log::Value::Str(name)).as_bytes());
        }
        if let Some(number) = event.thread_id() {
            to.extend_from_slice(format!(" thread_id={number}").as_bytes());
        }
        to.push(b'\n');
        Ok(())
    }
}
