//! The oldest Rust that the published packages promise to compile with.

use crate::run::{program, run, target};
use crate::workspace;

/// Checks the published packages with the oldest Rust, which rustup installs if it is missing.
/// `cargo xtask cross msrv` does the same with a compiler from Debian.
pub(crate) fn check() -> Result<(), String> {
    let packages = workspace::published()?;
    let versions = packages.iter().filter_map(|package| package.field("rust_version").as_str());
    let oldest = versions.min().ok_or("no published package has a rust-version")?;
    run(&mut program("rustup", &["toolchain", "install", "--profile", "minimal", oldest]))?;
    let mut check = program("rustup", &["run", oldest, "cargo", "check", "--locked"]);
    check.args(["--all-features", "--target-dir"]).arg(target().join("msrv"));
    run(check.args(workspace::arguments()?).env_remove("RUSTUP_TOOLCHAIN"))
}
