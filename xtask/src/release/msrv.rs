//! The oldest Rust that the published packages promise to compile with.

use crate::run::{program, run, target};
use crate::workspace;

/// Checks the published packages with the oldest Rust, which rustup installs if it is missing.
/// `cargo xtask cross msrv` does the same with a compiler from Debian.
pub(crate) fn check() -> Result<(), String> {
    let packages = workspace::published()?;
    let versions = packages.iter().filter_map(|package| package.field("rust_version").as_str());
    let oldest = versions.min_by_key(numbers).ok_or("no published package has a rust-version")?;
    run(&mut program("rustup", &["toolchain", "install", "--profile", "minimal", oldest]))?;
    let mut check = program("rustup", &["run", oldest, "cargo", "check", "--locked"]);
    check.args(["--all-features", "--target-dir"]).arg(target().join("msrv"));
    run(check.args(workspace::arguments()?).env_remove("RUSTUP_TOOLCHAIN"))
}

/// Returns the numbers of a version, which compare as versions do. 1.9 is older than 1.85.
fn numbers(version: &&str) -> Vec<u64> {
    version.split('.').filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_version_has_the_lowest_numbers() {
        assert_eq!(["1.85", "1.9", "1.9.1", "1.10"].into_iter().min_by_key(numbers), Some("1.9"));
        assert_eq!(["1.85.1", "1.85"].into_iter().min_by_key(numbers), Some("1.85"));
    }
}
