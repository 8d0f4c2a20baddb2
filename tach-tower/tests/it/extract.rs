//! The extractor for axum's handlers.

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use http::StatusCode;
use http::request::Parts;
use tach_tower::{Budget, RequestBudget, scope};

use crate::kit::{PLENTY, request};

async fn extracted(parts: &mut Parts) -> Result<RequestBudget, (StatusCode, &'static str)> {
    <RequestBudget as FromRequestParts<()>>::from_request_parts(parts, &()).await
}

#[tokio::test]
async fn it_finds_the_request_s_budget_or_the_task_s() {
    let (own, task) = (Budget::new(PLENTY), Budget::new(PLENTY / 2));
    let (mut parts, ()) = request().into_parts();
    assert_eq!(scope(task, extracted(&mut parts)).await, Ok(RequestBudget(task)));
    parts.extensions.insert(own);
    assert_eq!(scope(task, extracted(&mut parts)).await, Ok(RequestBudget(own)));
}

#[tokio::test]
async fn without_a_layer_it_says_so() {
    let (mut parts, ()) = request().into_parts();
    let missing = extracted(&mut parts).await;
    assert_eq!(missing.unwrap_err().0, StatusCode::INTERNAL_SERVER_ERROR);
    let missing =
        <RequestBudget as OptionalFromRequestParts<()>>::from_request_parts(&mut parts, &());
    assert_eq!(missing.await, Ok(None));
}
