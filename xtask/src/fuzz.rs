//! The fuzz targets of all packages.

use std::path::{Path, PathBuf};

use crate::files;
use crate::run::{root, run, target};
use crate::tools::Tool;

const FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2" };

/// How long each target runs, in seconds.
const SECONDS: u32 = 60;

/// Builds each target, and runs it for a minute from its corpus. New inputs stay in `target/fuzz`,
/// where a person may choose one for the corpus, which ordinary tests replay.
pub(crate) fn check() -> Result<(), String> {
    let mut faults = Vec::new();
    for folder in folders()? {
        for file in files::entries(&folder.join("fuzz_targets"))? {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            faults.extend(check_one(&folder, &name).err());
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Returns the folders `fuzz` of the packages.
fn folders() -> Result<Vec<PathBuf>, String> {
    let packages = files::entries(&root())?;
    let mut folders: Vec<_> = packages.iter().map(|package| package.join("fuzz")).collect();
    folders.retain(|folder| folder.join("Cargo.toml").is_file());
    folders.sort();
    if folders.is_empty() { Err("no package has a fuzz target".into()) } else { Ok(folders) }
}

fn check_one(folder: &Path, name: &str) -> Result<(), String> {
    let new = target().join("fuzz").join("new").join(name);
    files::create_folder(&new)?;
    // The instrumentation is unstable, and a variable of the compiler allows it.
    let mut fuzz = FUZZ.command(&["run", name])?;
    fuzz.current_dir(folder.parent().unwrap_or(folder)).env("RUSTC_BOOTSTRAP", "1");
    fuzz.arg("--target-dir").arg(target().join("fuzz"));
    // The fuzzer writes into the first folder, and only reads the second one.
    fuzz.arg(&new).arg(folder.join("corpus").join(name));
    // Threads of the standard library end while the fuzzer looks for leaks.
    fuzz.args(["--", "-detect_leaks=0"]).arg(format!("-max_total_time={SECONDS}"));
    run(&mut fuzz)
}
