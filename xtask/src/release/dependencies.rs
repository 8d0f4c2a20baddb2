//! Licences, sources and advisories of all dependencies, by `deny.toml`.

use crate::run::run;
use crate::tools::Tool;

const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };

/// Checks the rules of `deny.toml`. Where the database of advisories can't be had, prints that the
/// advisories were not checked.
pub(crate) fn check() -> Result<(), String> {
    run(&mut DENY.command(&["check", "licenses", "bans", "sources"])?)?;
    if run(&mut DENY.command(&["fetch", "db"])?).is_err() {
        eprintln!("\nADVISORIES NOT CHECKED: their database can't be had here");
        return Ok(());
    }
    run(&mut DENY.command(&["check", "--disable-fetch", "advisories"])?)
}
