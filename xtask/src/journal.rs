//! The test of tach-pipeline with systemd's journal.

use std::process::Stdio;

use crate::built;
use crate::cache;
use crate::run::{program, run};

/// Programs, each after the variable that holds its path for the test.
const PROGRAMS: [(&str, &str); 2] =
    [("JOURNAL_REMOTE_BIN", "systemd-journal-remote"), ("JOURNALCTL_BIN", "journalctl")];
const TEST: &str = "journal::systemd_takes_in_whatever_a_record_holds";

/// Installs missing programs and runs the test.
pub(crate) fn check() -> Result<(), String> {
    let home = cache::folder("TACH_JOURNAL_HOME", "tach-journal")?;
    let mut setup = program("bash", &["xtask/journal/setup.sh"]);
    run(setup.env("TACH_JOURNAL_HOME", &home))?;
    let mut test = built::test("tach-pipeline", "it")?;
    test.args(["--ignored", "--exact", TEST]);
    for (variable, name) in PROGRAMS {
        test.env(variable, home.join("bin").join(name));
    }
    let output = test.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("can't start {TEST}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    eprint!("{said}");
    // If the test had another name, none would run, and that succeeds.
    if said.contains(" 1 passed; 0 failed") { Ok(()) } else { Err(format!("{TEST} did not pass")) }
}
