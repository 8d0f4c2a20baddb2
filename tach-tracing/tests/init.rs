//! `init` does what `tracing_subscriber::fmt::init` does. Each call is in a process of its own,
//! because it installs the global subscriber.

use std::env;
use std::ffi::OsStr;
use std::process::Command;

/// Not tests: each prints by one of the two subscribers.
#[test]
#[ignore = "a child of the next test"]
fn ours() {
    tach_tracing::init();
    log();
}

#[test]
#[ignore = "a child of the next test"]
fn theirs() {
    tracing_subscriber::fmt::init();
    log();
}

fn log() {
    let span = tracing::info_span!("span", number = 7);
    let _entered = span.enter();
    tracing::error!("an error");
    tracing::info!(port = 3000, "ready");
    tracing::debug!("a detail");
    tracing::info!(target: "elsewhere", "not here");
}

/// Returns the lines of a child with `RUST_LOG`, and its complaints.
fn lines(child: &str, directives: Option<impl AsRef<OsStr>>) -> (Vec<String>, Vec<String>) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", child, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env_remove("RUST_LOG").env_remove("NO_COLOR");
    if let Some(directives) = directives {
        command.env("RUST_LOG", directives);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let complaints = String::from_utf8(output.stderr).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // Keep only the text after a time: libtest prints other lines, and the beginning of the first
    // one.
    let after_time = |line: &str| {
        let (time, rest) = line.split_once('Z')?;
        time.ends_with(|c: char| c.is_ascii_digit()).then(|| rest.to_owned())
    };
    (text.lines().filter_map(after_time).collect(), complaints.lines().map(str::to_owned).collect())
}

const DIRECTIVES: [Option<&str>; 8] = [
    None,
    Some(""),
    Some("off"),
    Some("info"),
    Some("init=debug"),
    Some("warn,elsewhere=trace"),
    Some("init=debug,elsewhere=off"),
    Some("no level=7"),
];

#[cfg(unix)]
fn not_unicode() -> &'static OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(b"inf\xFF,init=debug")
}

/// The tests' tracing-subscriber has `EnvFilter`.
#[cfg(feature = "env-filter")]
#[test]
fn lines_and_complaints_are_theirs() {
    for directives in DIRECTIVES {
        assert_eq!(lines("ours", directives), lines("theirs", directives), "{directives:?}");
    }
    #[cfg(unix)]
    assert_eq!(lines("ours", Some(not_unicode())), lines("theirs", Some(not_unicode())));
    // The positive control.
    assert_eq!(lines("ours", Some("init=debug")).0.len(), 3);
    assert_eq!(lines("ours", Some("off")).0.len(), 0);
}

#[cfg(not(feature = "env-filter"))]
#[test]
fn lines_are_those_of_targets() {
    let counts = DIRECTIVES.map(|directives| lines("ours", directives).0.len());
    // In tracing-subscriber too, an empty text leaves errors, and one that can't be parsed nothing.
    assert_eq!(counts, [3, 1, 0, 3, 3, 2, 3, 0]);
    // tracing-subscriber ignores a text that is not Unicode, and says so.
    #[cfg(unix)]
    {
        let (lines, complaints) = lines("ours", Some(not_unicode()));
        assert_eq!(lines.len(), 3, "{complaints:?}");
        let word = "Ignoring `RUST_LOG`: environment variable was not valid unicode";
        assert!(complaints.iter().any(|line| line.starts_with(word)), "{complaints:?}");
    }
}
