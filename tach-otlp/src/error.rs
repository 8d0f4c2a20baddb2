//! The crate's error.

use core::error;
use core::fmt;

use crate::secret::Secret;

/// Options of [`Otlp`](crate::Otlp) that can't be used: all of them at once.
///
/// The message names each option, its value and the values that would be right, with `; ` between
/// two options. No message contains the value of a header, or a user, a password or the query of an
/// address.
///
/// # Examples
///
/// ```
/// use core::time::Duration;
///
/// let otlp = tach_otlp::Otlp::new().endpoint("collector:4318").timeout(Duration::ZERO);
/// assert_eq!(
///     otlp.exporter().unwrap_err().to_string(),
///     "can't use the endpoint \"collector:4318\": it must be a URL, such as \
///      http://localhost:4318; can't use the timeout \"0ns\": it must be longer than zero",
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Vec<Fault>);

/// An option or a variable that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    name: String,
    /// The value for messages. Empty if the value must not be printed.
    value: String,
    reason: String,
}

impl Fault {
    /// `value` may be empty. A secret in it is not printed.
    pub(crate) fn new(name: &str, value: &str, reason: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: Secret::new(value).shown(), reason: reason.into() }
    }

    /// Returns the name of the option or the variable.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, reason } = self;
        match value.as_str() {
            "" => write!(f, "can't use {name}: {reason}"),
            value => write!(f, "can't use {name} {value:?}: {reason}"),
        }
    }
}

impl Error {
    /// Returns the error of the faults, unless there are none.
    pub(crate) fn of(faults: &[Fault]) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self(distinct(faults).cloned().collect())) }
    }

    pub(crate) fn of_some(faults: Vec<Fault>) -> Self {
        Self(faults)
    }
}

/// Returns each fault once: an option of all signals is at fault in each.
pub(crate) fn distinct<'a>(
    faults: impl IntoIterator<Item = &'a Fault>,
) -> impl Iterator<Item = &'a Fault> {
    let mut known: Vec<&Fault> = Vec::new();
    for fault in faults {
        if !known.contains(&fault) {
            known.push(fault);
        }
    }
    known.into_iter()
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

/// The message: `main`, `unwrap` and `expect` print an error by this trait.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            fmt::Display::fmt(fault, f)?;
        }
        Ok(())
    }
}

impl error::Error for Error {}
