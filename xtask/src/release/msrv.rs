//! The oldest Rust that the published packages promise to compile with.

use crate::run::{run, target};
use crate::tools::HACK;

/// Checks each published package with the oldest Rust that its manifest names, which rustup
/// installs if it is missing. `cargo xtask cross msrv` does the same with a compiler from Debian.
pub(crate) fn check() -> Result<(), String> {
    let check = ["hack", "check", "--rust-version", "--workspace", "--ignore-private"];
    let mut hack = HACK.command(&check)?;
    hack.args(["--all-features", "--locked", "--target-dir"]).arg(target().join("msrv"));
    run(&mut hack)
}
