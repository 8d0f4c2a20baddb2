//! A process that changes its root after the build.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rustix::fs::{Mode, OFlags, open, renameat};
use tach_pipeline::{Pipeline, Sink};
use test_support::test_of_this_program;
use test_support::users::can_be_others;

use super::{FOLDER, fill, rotations};
use crate::support::{Folder, LONG, info};

fn opened(path: &Path) -> OwnedFd {
    open(path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

/// Not a test: a daemon that locks itself in.
#[test]
#[ignore = "the child of the next test"]
fn daemon() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let builder = Pipeline::builder().on_incident(|incident| panic!("{incident}"));
    let sink = Sink::file(folder.join("logs/app.log")).rotate(rotations()[0]);
    #[cfg(feature = "tracing")]
    let builder = {
        use tach_pipeline::{FlightFormat, FlightRecorder};
        let dumps = (folder.join("dumps"), FlightFormat::trace_events());
        let recorder = FlightRecorder::new().folder(dumps.0, dumps.1);
        builder.flight_recorder(recorder.slower_than(core::time::Duration::ZERO))
    };
    let guard = builder.sink(sink).build().unwrap();
    let pipeline = guard.pipeline();
    let (logs, above) = (opened(&folder.join("logs")), opened(&folder));
    info(pipeline, "free");
    pipeline.flush(LONG).unwrap();
    rustix::process::chroot(folder.join("jail")).unwrap();
    rustix::process::chdir("/").unwrap();
    // The log is moved, and is rotated.
    renameat(&logs, "app.log", &logs, "moved").unwrap();
    pipeline.reopen();
    (0..2).for_each(|number| fill(pipeline, &number.to_string()));
    #[cfg(feature = "tracing")]
    crate::support::in_subscriber(pipeline, || drop(tracing::info_span!("slow")));
    pipeline.flush(LONG).unwrap();
    // The folder is moved.
    renameat(&above, "logs", &above, "other").unwrap();
    fill(pipeline, "other");
    pipeline.flush(LONG).unwrap();
}

#[test]
fn a_log_stays_in_its_folder_after_chroot() {
    if !can_be_others("a_log_stays_in_its_folder_after_chroot") {
        return;
    }
    let folder = Folder::new("jail");
    fs::create_dir(folder.path("jail")).unwrap();
    let mut daemon = test_of_this_program("strangers::jail::daemon");
    let output = daemon.env(FOLDER, folder.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_dir(folder.path("jail")).unwrap().count(), 0);
    let logs = fs::read_dir(folder.path("other")).unwrap();
    let text: String = logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap()).collect();
    for message in ["free", " 0 ", " 1 ", " other "] {
        assert_eq!(text.matches(message).count(), 1, "{message}");
    }
    if cfg!(feature = "tracing") {
        assert_eq!(fs::read_dir(folder.path("dumps")).unwrap().count(), 1);
    }
}
