//! New projects, without a lock file, on each version of opentelemetry.

use crate::files;
use crate::run::{self, cargo, run};

/// A version of opentelemetry, the version of tracing-opentelemetry that needs it, the feature of
/// tach-pipeline for it, and the keys of the dependency on tach-otel, as tach-otel's documentation
/// gives them.
const VERSIONS: [(&str, &str, &str, &str); 2] = [
    ("0.33", "0.34", "opentelemetry", ""),
    (
        "0.32",
        "0.33",
        "opentelemetry_0_32",
        r#", default-features = false, features = ["opentelemetry_0_32"]"#,
    ),
];

/// Compiles a program on each version, and checks that its lock file names no other one.
pub(crate) fn check() -> Result<(), String> {
    for (version, tracing_version, feature, of_otel) in VERSIONS {
        let root = run::root();
        let folder = run::target().join("otel-fresh").join(version);
        // Without the lock file of an earlier run.
        files::fresh_folder(&folder)?;
        let manifest = folder.join("Cargo.toml");
        let text = format!(
            r#"[package]
name = "otel-fresh"
version = "0.0.0"
edition = "2024"

[workspace]

[[bin]]
name = "otel-fresh"
path = '{root}/xtask/otel-fresh/main.rs'

[dependencies]
opentelemetry = "{version}"
opentelemetry_sdk = "{version}"
tach-otel = {{ path = '{root}/tach-otel'{of_otel} }}
tach-pipeline = {{ path = '{root}/tach-pipeline', features = ["{feature}"] }}
tracing = "0.1"
tracing-opentelemetry = "{tracing_version}"
tracing-subscriber = "0.3"
"#,
            root = root.display()
        );
        files::write(&manifest, &text)?;
        let mut check = cargo(&["check", "--manifest-path"]);
        run(check.arg(&manifest).env("CARGO_TARGET_DIR", run::target()))?;
        let locked = files::read(&folder.join("Cargo.lock"))?;
        let versions = locked.matches("name = \"opentelemetry\"\n").count();
        if versions != 1 {
            return Err(format!("a project on opentelemetry {version} locks {versions} versions"));
        }
    }
    Ok(())
}
