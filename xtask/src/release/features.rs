//! Combinations of features.

use crate::ci::{DENY_WARNINGS, Tier};
use crate::run::{cargo, output, run};
use crate::tools::HACK;
use crate::workspace;

/// Lints each published package with none of its features, with each alone, and in the full tier
/// with each pair. The lints of CI have all of them. Every combination would take far longer, for
/// faults that need three features to appear. The full tier also lints the tests of tach-pipeline,
/// which has the most features, with each alone, with none, and with
/// [two that programs combine](TOGETHER).
pub(crate) fn check(tier: Tier) -> Result<(), String> {
    without_opentelemetry()?;
    let depth = if tier == Tier::Full { "2" } else { "1" };
    hack(&["--depth", depth, "--workspace", "--ignore-private"])?;
    if tier == Tier::Change {
        return Ok(());
    }
    // Check the library without dev-dependencies, whose features would hide its faults.
    hack(&["--depth", "1", "--package", "tach-pipeline", "--tests"])?;
    let mut together = cargo(&["clippy", "--package", "tach-pipeline", "--tests"]);
    run(together.args(["--features", TOGETHER]).args(DENY_WARNINGS))
}

/// Lints combinations of features. Clippy takes the warnings as errors, and not the compiler, whose
/// flags would have all dependencies built again.
fn hack(arguments: &[&str]) -> Result<(), String> {
    // `default` is a combination of the others. Dev-dependencies need not be removed from the
    // manifests: resolver 3 gives their features to tests only.
    let powerset = ["hack", "clippy", "--feature-powerset", "--exclude-features", "default"];
    run(HACK.command(&powerset)?.args(arguments).args(DENY_WARNINGS))
}

/// Features of tach-pipeline that programs have together: two front ends and a sink.
const TOGETHER: &str = "otlp,slog";

/// The feature of tach-pipeline that depends on a crate of OpenTelemetry.
const BRIDGE: &str = "opentelemetry";

/// Checks that no other feature of tach-pipeline depends on a crate of OpenTelemetry, whose
/// releases would break its users.
fn without_opentelemetry() -> Result<(), String> {
    let packages = workspace::published()?;
    let pipeline = packages.iter().find(|package| package.name() == "tach-pipeline");
    let features = pipeline.and_then(|package| package.field("features").as_object());
    let features = features.ok_or("cargo metadata lists no features of tach-pipeline")?;
    let others: Vec<_> =
        features.keys().filter(|name| !name.starts_with(BRIDGE)).map(|name| &**name).collect();
    let mut tree = cargo(&["tree", "--package", "tach-pipeline", "--edges", "normal,build"]);
    tree.args(["--target", "all", "--prefix", "none", "--features", &others.join(",")]);
    let tree = output(&mut tree)?;
    match tree.lines().find(|line| line.starts_with(BRIDGE)) {
        Some(line) => Err(format!("tach-pipeline depends on {line} without the feature {BRIDGE}")),
        None => Ok(()),
    }
}
