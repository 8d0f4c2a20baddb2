//! Configurations in TOML: an error, or options, and no panic.

use tach_pipeline::Config;

/// Builds nothing: a file could name any path.
pub(crate) fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(config) = toml::from_str::<Config>(&text) {
        let _options = format!("{config:?}");
    }
}
