//! emit, with its own front end and its own names of files.

use core::time::Duration;
use std::path::Path;

use super::Opened;

const FLUSH: Duration = Duration::from_mins(1);

/// Its queue has 10,000 records. One more replaces all of them: emit has no policy that waits.
pub(super) fn open(path: &Path) -> Opened {
    let guard = ::emit::setup().emit_to(emit_file::set(path).spawn()).init();
    Opened {
        message: Box::new(|text| ::emit::info!("{text}")),
        log: Box::new(|number| {
            ::emit::info!("request done", number, took: 0.25, path: "/index.html");
        }),
        close: Box::new(move || assert!(guard.blocking_flush(FLUSH), "emit writes everything")),
    }
}
