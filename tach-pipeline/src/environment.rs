//! Variables of the environment: the faults of all, and the variable for all collectors.

#[cfg(feature = "otlp")]
use std::ffi::OsString;

use crate::error::Error;

/// The variables that a program asked for, as far as they can't be used.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) faults: Vec<Error>,
    /// Whether the faults fail the build.
    pub(crate) is_strict: bool,
}

#[cfg(feature = "otlp")]
const SDK_DISABLED: &str = "OTEL_SDK_DISABLED";

/// Returns whether `OTEL_SDK_DISABLED` is `true`: then nothing is sent to a collector.
///
/// # Errors
///
/// If the variable is neither `true` nor `false`, and so counts as `false`.
#[cfg(feature = "otlp")]
pub(crate) fn is_sdk_disabled(variable: impl Fn(&str) -> Option<OsString>) -> Result<bool, Error> {
    // An empty variable counts as unset.
    let Some(value) = variable(SDK_DISABLED).filter(|value| !value.is_empty()) else {
        return Ok(false);
    };
    let value = value.to_string_lossy();
    let value = value.trim();
    if value.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if value.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(Error::option(SDK_DISABLED, value, "it must be true or false"))
    }
}

#[cfg(all(test, feature = "otlp"))]
mod tests {
    use super::*;

    #[test]
    fn true_alone_disables() {
        for (value, expected) in [
            ("", Some(false)),
            ("true", Some(true)),
            (" TRUE ", Some(true)),
            ("False", Some(false)),
            ("1", None),
            ("yes", None),
        ] {
            let found = is_sdk_disabled(|name| (name == SDK_DISABLED).then(|| value.into()));
            assert_eq!(found.as_ref().ok().copied(), expected, "{value}");
            if let Err(error) = found {
                let wanted = format!("OTEL_SDK_DISABLED {value:?}: it must be true or false");
                assert!(error.to_string().contains(&wanted), "{error}");
            }
        }
        assert!(is_sdk_disabled(|_| None).is_ok_and(|is_disabled| !is_disabled));
    }
}
