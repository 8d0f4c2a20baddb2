//! What a span says about an error.

#[cfg(feature = "reqwest")]
mod reqwest;

use core::any::{Any, type_name};
use core::error::Error;
use core::fmt::Display;

use tach_tower::Exhausted;

use crate::method::OTHER;

type BoxError = Box<dyn Error + Send + Sync>;

/// What a span says about an error.
pub(crate) struct Failure<'a> {
    /// The `error.type`, one of few texts.
    pub(crate) kind: &'static str,
    pub(crate) description: String,
    pub(crate) exhausted: Option<&'a Exhausted>,
}

impl<'a> Failure<'a> {
    #[cold]
    pub(crate) fn of<E: Display + 'static>(error: &'a E) -> Self {
        let boxed = (error as &dyn Any).downcast_ref::<BoxError>();
        let exhausted = boxed.and_then(|error| error.downcast_ref::<Exhausted>());
        let kind = match (exhausted, boxed) {
            (Some(_), _) => "timeout",
            (None, Some(_)) => OTHER,
            (None, None) => type_name::<E>(),
        };
        #[cfg(feature = "reqwest")]
        if let Some((kind, description)) = reqwest::describe(error, boxed) {
            return Self { kind, description, exhausted };
        }
        Self { kind, description: error.to_string(), exhausted }
    }
}
