//! Mutation tests: whether the tests notice that a function does something else.

use crate::run::{SHORT_TESTS, root, run, target};
use crate::tools::Tool;

const MUTANTS: Tool = Tool { name: "cargo-mutants", version: "27.1.0" };

/// Changes each function of the named packages and files, one at a time, and runs the package's
/// tests. A change that no test notices is a test that is missing.
pub(crate) fn check(names: &[String]) -> Result<(), String> {
    if names.is_empty() {
        return Err("name a package or a file: all of them would take days".into());
    }
    let mut mutants =
        MUTANTS.command(&["mutants", "--all-features", "--no-shuffle", "--output"])?;
    mutants.arg(target()).envs(SHORT_TESTS);
    for name in names {
        let option = if root().join(name).is_file() { "--file" } else { "--package" };
        mutants.args([option, name]);
    }
    // Run unit tests and tests of the public API only: the other test programs start hundreds of
    // processes.
    run(mutants.args(["--", "--lib", "--test", "it"]))
}
