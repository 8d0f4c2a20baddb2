//! The tests of tach-pipeline with real readers of logs.

use crate::built;
use crate::cache;
use crate::run::{program, run, run_test};

/// How many records each road has. The tests send 10,000 by default.
const RECORDS: &str = "1000000";

/// Installs missing programs and runs the tests.
pub(crate) fn check() -> Result<(), String> {
    let home = cache::folder("TACH_READERS_HOME", "tach-readers")?;
    let mut setup = program("bash", &["xtask/readers/setup.sh"]);
    run(setup.env("TACH_READERS_HOME", &home))?;
    let mut test = built::test("tach-pipeline", "it")?;
    // Run one test after the other: each reader needs a CPU for itself.
    test.args(["readers::", "--nocapture", "--test-threads=1"]);
    test.env("TACH_READERS_BIN", home.join("bin")).env("TACH_READERS_RECORDS", RECORDS);
    run_test(&mut test)
}
