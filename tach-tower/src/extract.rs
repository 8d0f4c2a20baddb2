//! The budget as an argument of axum's handlers.

use axum_core::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;
use tach_core::Budget;

use crate::current;

/// An argument of axum's handlers: the request's budget.
///
/// Without a [`BudgetLayer`](crate::BudgetLayer) around the handler, the request is answered with
/// 500 Internal Server Error. Take `Option<RequestBudget>` where the layer may be missing.
///
/// # Examples
///
/// ```
/// use tach_tower::RequestBudget;
///
/// async fn search(RequestBudget(budget): RequestBudget) -> String {
///     format!("{:?} left", budget.remaining())
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestBudget(pub Budget);

impl<S: Sync> FromRequestParts<S> for RequestBudget {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let budget = parts.extensions.get::<Budget>().copied().or_else(current);
        budget.map(Self).ok_or((StatusCode::INTERNAL_SERVER_ERROR, "the request has no budget"))
    }
}

impl<S: Sync> axum_core::extract::OptionalFromRequestParts<S> for RequestBudget {
    type Rejection = core::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &S,
    ) -> Result<Option<Self>, Self::Rejection> {
        Ok(<Self as FromRequestParts<S>>::from_request_parts(parts, state).await.ok())
    }
}
