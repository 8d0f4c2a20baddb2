//! What a span says about an error.

#[cfg(feature = "reqwest")]
mod reqwest;

use core::any::{Any, type_name};
use core::error::Error;
use core::fmt::Display;
use core::iter::successors;
use std::io;

use tach_tower::Exhausted;

use crate::method::OTHER;

type BoxError = Box<dyn Error + Send + Sync>;
type AnyError<'a> = &'a (dyn Error + 'static);

/// What a span says about an error.
pub(crate) struct Failure<'a> {
    /// The `error.type`, one of few texts.
    pub(crate) kind: &'static str,
    pub(crate) description: String,
    pub(crate) exhausted: Option<&'a Exhausted>,
}

/// The `error.type` of a type, and the error whose text has no query of a URL.
type Known<'a> = (&'static str, Option<AnyError<'a>>);

/// The types whose texts have no query, wherever they are in a chain of errors.
const KNOWN: &[fn(AnyError<'_>) -> Option<Known<'_>>] = &[
    |error| error.is::<Exhausted>().then_some(("timeout", Some(error))),
    |error| {
        // Skip an error that wraps another one: its text is the other error's.
        let is_own = error.downcast_ref::<io::Error>()?.get_ref().is_none();
        is_own.then_some((type_name::<io::Error>(), Some(error)))
    },
    #[cfg(feature = "reqwest")]
    reqwest::known,
];

/// The types of errors in which a known error is searched.
const CHAINS: &[fn(&dyn Any) -> Option<AnyError<'_>>] = &[
    |error| error.downcast_ref::<BoxError>().map(|error| &**error as _),
    as_error::<io::Error>,
    #[cfg(feature = "axum")]
    as_error::<axum::Error>,
    #[cfg(feature = "reqwest")]
    as_error::<::reqwest::Error>,
    #[cfg(feature = "reqwest-middleware")]
    as_error::<reqwest_middleware::Error>,
];

fn as_error<E: Error + 'static>(error: &dyn Any) -> Option<AnyError<'_>> {
    error.downcast_ref::<E>().map(|error| error as _)
}

impl<'a> Failure<'a> {
    /// An error of a client may print the whole URL, whatever its type is, so only the texts of
    /// known types are recorded.
    #[cold]
    pub(crate) fn of<E: Display + 'static>(error: &'a E, is_client: bool) -> Self {
        let first = CHAINS.iter().find_map(|chain| chain(error));
        let chain = || successors(first, |&error| inner(error));
        let exhausted = chain().find_map(|error| error.downcast_ref());
        if let Some((kind, root)) = chain().find_map(|it| KNOWN.iter().find_map(|known| known(it)))
        {
            let description = root.map_or_else(String::new, ToString::to_string);
            return Self { kind, description, exhausted };
        }
        let is_boxed = (error as &dyn Any).is::<BoxError>();
        let kind = if is_boxed { OTHER } else { type_name::<E>() };
        let description = if is_client { String::new() } else { error.to_string() };
        Self { kind, description, exhausted }
    }
}

/// Returns the error that an error wraps, also if it prints as that one.
fn inner(error: AnyError<'_>) -> Option<AnyError<'_>> {
    #[cfg(feature = "reqwest-middleware")]
    if let Some(error) = error.downcast_ref::<reqwest_middleware::Error>() {
        return Some(match error {
            reqwest_middleware::Error::Reqwest(error) => error,
            reqwest_middleware::Error::Middleware(error) => &**error,
        });
    }
    match error.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref().map(|error| error as _),
        None => error.source(),
    }
}
