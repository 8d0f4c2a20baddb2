//! Combinations of features.

use std::process::Command;
use std::thread;

use crate::run::{cargo, output, run, target};
use crate::tools::HACK;
use crate::workspace;

/// How many compilers work at the same time. The front end of rustc, which is all that a check is,
/// has one thread.
const SHARES: usize = 2;

/// Checks each published package with each pair of its features, each feature alone, and none. The
/// lints of CI have all of them. Every combination would take far longer, for faults that need
/// three features to appear. The tests of tach-pipeline, which has the most features, are checked
/// with each feature alone, with none, and with [three](TOGETHER).
pub(crate) fn check() -> Result<(), String> {
    without_opentelemetry()?;
    // Installed once, before two threads need it.
    HACK.command(&[])?;
    let shares: Vec<_> = thread::scope(|scope| {
        let shares: Vec<_> = (0..SHARES).map(|number| scope.spawn(move || share(number))).collect();
        shares.into_iter().map(|share| share.join().map_err(|_| "a thread panicked")).collect()
    });
    for share in shares {
        share??;
    }
    let mut three = strict(&["check", "--package", "tach-pipeline", "--tests"], 0);
    run(three.args(["--no-default-features", "--features", TOGETHER]))
}

/// Checks one of [`SHARES`] parts of the combinations.
fn share(number: usize) -> Result<(), String> {
    // `default` is a combination of the others. Dev-dependencies need not be removed from the
    // manifests: resolver 3 gives their features to tests only.
    let powerset = ["hack", "check", "--feature-powerset", "--exclude-features", "default"];
    let partition = format!("{}/{SHARES}", number + 1);
    let hack = |arguments: &[&str]| -> Result<(), String> {
        let mut hack = HACK.command(&powerset)?;
        hack.args(arguments).args(["--partition", &partition]);
        run(with_warnings_as_errors(&mut hack, number))
    };
    hack(&["--depth", "2", "--workspace", "--ignore-private"])?;
    // On their own: the features of dev-dependencies would hide faults of the library.
    hack(&["--depth", "1", "--package", "tach-pipeline", "--tests"])
}

fn strict(arguments: &[&str], share: usize) -> Command {
    let mut command = cargo(arguments);
    with_warnings_as_errors(&mut command, share);
    command
}

/// Each share builds in a folder of its own, because cargo locks the folder. No other step builds
/// there, because none passes these flags to the compiler.
fn with_warnings_as_errors(command: &mut Command, share: usize) -> &mut Command {
    let target = target().join("features").join(share.to_string());
    command.env("RUSTFLAGS", "-D warnings").env("CARGO_TARGET_DIR", target)
}

/// Features of tach-pipeline that programs have together: two front ends and a sink.
const TOGETHER: &str = "otlp,slog,tracing";

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
        features.keys().filter(|name| *name != BRIDGE).map(|name| &**name).collect();
    let mut tree = cargo(&["tree", "--package", "tach-pipeline", "--edges", "normal,build"]);
    tree.args(["--target", "all", "--prefix", "none", "--features", &others.join(",")]);
    let tree = output(&mut tree)?;
    match tree.lines().find(|line| line.starts_with(BRIDGE)) {
        Some(line) => Err(format!("tach-pipeline depends on {line} without the feature {BRIDGE}")),
        None => Ok(()),
    }
}
