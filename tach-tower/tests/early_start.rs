//! A budget that is older than the process's first use of tach, so this test has a process of its
//! own.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use tach_core::MonotonicInstant;
use tach_tower::{Budget, BudgetBody};

struct Silent;

impl Body for Silent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[tokio::test]
async fn a_start_before_the_first_use_of_tach_counts() {
    let before = Duration::from_secs(60);
    let start = MonotonicInstant::now() - before;
    let budget = Budget::since(start, before + Duration::from_millis(20));
    // A task of its own, which only its own timer wakes.
    let ended = tokio::spawn(BudgetBody::new(Silent, budget).collect());
    // By far less than it would be too late if the time before didn't count.
    let ended = tokio::time::timeout(before / 2, ended).await.expect("it ends with its budget");
    assert!(ended.unwrap().is_err());
    assert!(budget.is_exhausted());
}
