//! A budget that is older than the process's first use of tach, so this test has a process of its
//! own.

#[path = "it/silent.rs"]
mod silent;

use core::time::Duration;

use http_body_util::BodyExt as _;
use tach_core::MonotonicInstant;
use tach_tower::{Budget, BudgetBody};

use crate::silent::Silent;

#[tokio::test]
async fn a_start_before_the_first_use_of_tach_counts() {
    let before = Duration::from_secs(60);
    let start = MonotonicInstant::now() - before;
    let budget = Budget::since(start, before + Duration::from_millis(20));
    // In a separate task, which only the budget's own timer wakes.
    let ended = tokio::spawn(BudgetBody::new(Silent, budget).collect());
    // If the minute before the first use did not count, the body would end a minute too late.
    let ended = tokio::time::timeout(before / 2, ended).await.expect("it ends with its budget");
    assert!(ended.unwrap().is_err());
    assert!(budget.is_exhausted());
}
