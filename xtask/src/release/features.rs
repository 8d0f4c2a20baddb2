//! Combinations of features.

use crate::run::{cargo, output, run};
use crate::tools::HACK;
use crate::workspace;

/// Lints each published package with each pair of its features, each feature alone, and none. The
/// lints of CI have all of them. Every combination would take ten minutes, for faults that need
/// three features to appear. The tests of tach-pipeline, which has the most features, are linted
/// with each feature alone, with none, and with [three](TOGETHER).
pub(crate) fn check() -> Result<(), String> {
    // `default` is a combination of the others. Dev-dependencies need not be removed from the
    // manifests: resolver 3 gives their features to tests only.
    let lint = ["hack", "clippy", "--workspace", "--ignore-private", "--feature-powerset"];
    let mut hack = HACK.command(&lint)?;
    // It needs one of its two features.
    hack.args(["--exclude", "tach-otel"]);
    let mut older = cargo(&["clippy", "--package", "tach-otel", "--no-default-features"]);
    run(older.args(["--features", "opentelemetry_0_32", "--", "-D", "warnings"]))?;
    without_opentelemetry()?;
    hack.args(["--depth", "2", "--exclude-features", "default", "--", "-D", "warnings"]);
    run(&mut hack)?;
    // On their own: the features of dev-dependencies would hide faults of the library.
    let lint = ["hack", "clippy", "--package", "tach-pipeline", "--tests", "--feature-powerset"];
    let mut hack = HACK.command(&lint)?;
    hack.args(["--depth", "1", "--exclude-features", "default", "--", "-D", "warnings"]);
    run(&mut hack)?;
    let mut three = cargo(&["clippy", "--package", "tach-pipeline", "--tests"]);
    three.args(["--no-default-features", "--features", TOGETHER, "--", "-D", "warnings"]);
    run(&mut three)
}

/// Features of tach-pipeline that programs have together: two front ends and a sink.
const TOGETHER: &str = "otlp,slog,tracing";

/// The features of tach-pipeline that depend on a version of opentelemetry begin like this.
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
