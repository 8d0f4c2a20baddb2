//! systemd's journal if systemd leads this program's stderr there, and stderr otherwise.
//!
//! ```text
//! cargo build --example journald
//! systemd-run --user target/debug/examples/journald
//! journalctl --user PORT=3000
//! ```

use core::error::Error;

use tach_pipeline::{Pipeline, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    let _pipeline = Pipeline::builder().sink(sink()).filter_from_env("RUST_LOG").init()?;
    log::info!(port = 3000; "ready");
    Ok(())
}

fn sink() -> Sink {
    #[cfg(target_os = "linux")]
    if is_stderr_the_journal() {
        return Sink::journald().into();
    }
    Sink::stderr().into()
}

/// Returns whether systemd has connected stderr to the journal.
///
/// `JOURNAL_STREAM` has the connection's device and inode. A child with another stderr inherits the
/// variable, so its presence alone proves nothing (systemd.exec(5)).
#[cfg(target_os = "linux")]
fn is_stderr_the_journal() -> bool {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::{env, fs, io};

    let Ok(stream) = env::var("JOURNAL_STREAM") else { return false };
    let stderr = io::stderr().as_fd().try_clone_to_owned();
    let stderr = stderr.and_then(|it| fs::File::from(it).metadata());
    stderr.is_ok_and(|it| stream == format!("{}:{}", it.dev(), it.ino()))
}
