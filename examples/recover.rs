//! Passes on what killed processes left in a folder of `Builder::survive`, where their program is
//! not started again.
//!
//! ```text
//! cargo run --example recover -- /run/app/survivors /var/log/app/app.log
//! ```
//!
//! The records go to the log, which gets each of them once and whose last line is completed, and to
//! stdout. They leave the folder. The file of a living process is left alone. Name every log that
//! the processes wrote: its name is that of their sink, and what a log that is not named still
//! lacks is gone. Open spans and a flight recorder's items need the sinks and the recorder of the
//! program too. Only on Linux with 64 bits.

use core::error::Error;
use core::time::Duration;
use std::env;
use std::path::PathBuf;

use tach_log::Line;
use tach_pipeline::{Pipeline, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    let mut names = env::args_os().skip(1);
    let folder = names.next().map(PathBuf::from).ok_or("name a folder and its program's logs")?;
    if !folder.is_dir() {
        return Err(format!("{} is no folder", folder.display()).into());
    }
    let logs: Vec<_> = names.collect();
    if logs.is_empty() {
        return Err("name every log of the program".into());
    }
    let builder = Pipeline::builder().filter("trace").sink(Sink::stdout().format(Line::new()));
    let builder = logs.into_iter().fold(builder, |to, log| to.sink(Sink::file(log)));
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    let builder = builder.survive(folder);
    let guard = builder.build()?;
    guard.pipeline().flush(Duration::from_mins(1))?;
    Ok(())
}
