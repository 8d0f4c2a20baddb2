//! Reads a log with ticks for timestamps, and prints it with times.
//!
//! ```text
//! cargo run --example render_ticks < ticks.log
//! ```
//!
//! The tick is the first number of a line, after the colour codes of a terminal, in the full, the
//! compact and the JSON format. The scales before and after a line convert its tick.

use std::io::{self, Write as _};

use tach_tracing::TickScale;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut print = |line: &str, scale: Option<TickScale>| {
        let rendered = scale.and_then(|scale| rendered(line, scale));
        writeln!(out, "{}", rendered.as_deref().unwrap_or(line))
    };
    let mut scale: Option<TickScale> = None;
    // The lines since the last scale wait for the next one.
    let mut waiting: Vec<String> = Vec::new();
    for line in io::stdin().lines() {
        let line = line?;
        if let Some(next) = scale_in(&line) {
            let between = scale.map_or(next, |scale| scale.until(&next));
            for line in waiting.drain(..) {
                print(&line, Some(between))?;
            }
            scale = Some(next);
        }
        waiting.push(line);
    }
    for line in waiting {
        print(&line, scale)?;
    }
    Ok(())
}

/// Returns the scale in a line, which ends with the line or, in JSON, with the string.
fn scale_in(line: &str) -> Option<TickScale> {
    let text = &line[line.find("tick=")?..];
    text.split('"').next()?.parse().ok()
}

fn rendered(line: &str, scale: TickScale) -> Option<String> {
    let start = after_colors(line)?;
    let start = start + line[start..].find(|c: char| c.is_ascii_digit())?;
    let (before, rest) = line.split_at(start);
    let (tick, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
    Some(format!("{before}{}{after}", scale.unix_time(tick.parse().ok()?)))
}

/// Returns the position after the colour codes at the start of a line.
fn after_colors(line: &str) -> Option<usize> {
    let mut rest = line;
    while let Some(parameters) = rest.strip_prefix("\x1b[") {
        rest = parameters.split_once('m')?.1;
    }
    Some(line.len() - rest.len())
}
