//! `tach convert`: a log with raw ticks for timestamps, with times.
//!
//! The tick is the first number of a line, after the colour codes of a terminal, in the full, the
//! compact and the JSON format of tracing-subscriber. The scales before and after a line convert
//! its tick.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use serde::Serialize;
use tach_core::UnixTime;
use tach_tracing::TickScale;

use crate::Outcome;
use crate::output::Output;

/// Converts the raw ticks of a log to Unix time
///
/// The log has lines that begin with a tick, as the timer `tach_tracing::Ticks` prints them, and
/// scales, which the program logs at its start and now and then (`Ticks.scale()`).
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The log; standard input if it is `-`
    #[arg(default_value = "-")]
    log: PathBuf,
    /// A scale for the lines before the log's first one:
    /// `tick=1000 time=1970-01-01T00:00:01Z ns_per_tick=0.5`
    #[arg(long)]
    scale: Option<TickScale>,
    /// Converts this tick alone, by --scale
    #[arg(long, requires = "scale", conflicts_with = "log")]
    tick: Option<u64>,
}

/// A converted line. In JSON, `line` is the line without its tick.
#[derive(Debug, Serialize)]
struct Converted<'a> {
    time: Option<String>,
    unix_ns: Option<u64>,
    tick: Option<u64>,
    line: &'a str,
}

pub(crate) fn run(options: &Options, output: &mut Output) -> anyhow::Result<Outcome> {
    if let (Some(tick), Some(scale)) = (options.tick, options.scale) {
        let time = scale.unix_time(tick);
        let converted = Converted {
            time: Some(time.to_string()),
            unix_ns: Some(time.as_nanos()),
            tick: Some(tick),
            line: "",
        };
        output.write(&converted, time)?;
        return Ok(Outcome::Good);
    }
    let mut log = Log { scale: options.scale, waiting: Vec::new(), output };
    if options.log == Path::new("-") {
        log.read(io::stdin().lock(), "standard input")?;
    } else {
        let name = options.log.display().to_string();
        let file = File::open(&options.log).with_context(|| format!("can't open {name}"))?;
        log.read(BufReader::new(file), &name)?;
    }
    Ok(Outcome::Good)
}

/// A log, as far as it has been read.
struct Log<'a> {
    scale: Option<TickScale>,
    /// The lines since the last scale. They wait for the next one.
    waiting: Vec<String>,
    output: &'a mut Output,
}

impl Log<'_> {
    fn read(&mut self, log: impl BufRead, name: &str) -> anyhow::Result<()> {
        for (number, line) in (1_u64..).zip(log.lines()) {
            let line = line.with_context(|| format!("can't read line {number} of {name}"))?;
            if let Some(text) = scale_in(&line) {
                let next = text.parse::<TickScale>();
                let next = next.with_context(|| {
                    format!("line {number} of {name} has a scale that can't be used: {text:?}")
                })?;
                let between = self.scale.map_or(next, |scale| scale.until(&next));
                self.print(Some(between))?;
                self.scale = Some(next);
            }
            self.waiting.push(line);
        }
        if self.scale.is_none() {
            bail!(
                "{name} has no scale, such as \
                 \"tick=1000 time=1970-01-01T00:00:01Z ns_per_tick=0.5\": a program logs one with \
                 tach_tracing::Ticks.scale(), and --scale gives one"
            );
        }
        self.print(self.scale)
    }

    /// Prints the lines that wait, with times by `scale`.
    fn print(&mut self, scale: Option<TickScale>) -> anyhow::Result<()> {
        for line in self.waiting.drain(..) {
            let tick = tick_in(&line);
            let Some((scale, (before, tick, after))) = scale.zip(tick) else {
                let converted = Converted { time: None, unix_ns: None, tick: None, line: &line };
                self.output.write(&converted, &line)?;
                continue;
            };
            let time: UnixTime = scale.unix_time(tick);
            let converted = Converted {
                time: Some(time.to_string()),
                unix_ns: Some(time.as_nanos()),
                tick: Some(tick),
                line: after.trim_start(),
            };
            self.output.write(&converted, format_args!("{before}{time}{after}"))?;
        }
        Ok(())
    }
}

/// Returns the text of the scale in a line, which ends with the line or, in JSON, with the string.
fn scale_in(line: &str) -> Option<&str> {
    let text = &line[line.find("tick=")?..];
    // A field of an event may have the name `tick`, too.
    let text = text.split('"').next()?;
    text.contains(" ns_per_tick=").then_some(text)
}

/// Returns the tick of a line, and the text before and after it.
fn tick_in(line: &str) -> Option<(&str, u64, &str)> {
    let start = after_colors(line)?;
    let start = start + line[start..].find(|c: char| c.is_ascii_digit())?;
    let (before, rest) = line.split_at(start);
    let (tick, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
    Some((before, tick.parse().ok()?, after))
}

/// Returns the position after the colour codes at the start of a line.
fn after_colors(line: &str) -> Option<usize> {
    let mut rest = line;
    while let Some(parameters) = rest.strip_prefix("\x1b[") {
        rest = parameters.split_once('m')?.1;
    }
    Some(line.len() - rest.len())
}
