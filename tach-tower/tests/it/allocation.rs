//! The layer allocates nothing for a request that is ready, and a timer for one that waits.

use core::convert::Infallible;
use core::future::{poll_fn, ready};
use core::pin::pin;
use core::task::{Context, Poll};

use http::{HeaderValue, Request, Response};
use tach_tower::{BudgetLayer, Syntax};
use tower::{Layer, Service, service_fn};

use crate::kit::{GRPC_TIMEOUT, PLENTY, cap};

/// Ready at the second poll.
fn answer(_: Request<()>) -> impl Future<Output = Result<Response<String>, Infallible>> {
    let mut polled = false;
    poll_fn(move |cx| {
        if core::mem::replace(&mut polled, true) {
            return Poll::Ready(Ok(Response::new(String::new())));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}

fn request() -> Request<()> {
    let mut request = Request::new(());
    request.headers_mut().insert(GRPC_TIMEOUT, HeaderValue::from_static("10S"));
    request
}

/// Returns the allocations of a call, from the request's hand-over until the response is dropped.
fn allocations<S>(service: &mut S, cx: &mut Context<'_>) -> u64
where
    S: Service<Request<()>, Error = Infallible>,
{
    let request = request();
    let counted = allocation_counter::measure(|| {
        assert!(service.poll_ready(cx).is_ready());
        let mut call = pin!(service.call(request));
        assert!(call.as_mut().poll(cx).is_pending());
        assert!(call.as_mut().poll(cx).is_ready());
    });
    counted.count_total
}

#[tokio::test]
async fn only_a_timer_allocates() {
    let settings = cap(PLENTY).header(GRPC_TIMEOUT, Syntax::Grpc);
    poll_fn(|cx| {
        let mut limited = BudgetLayer::server(settings.clone()).layer(service_fn(answer));
        let bare = allocations(&mut service_fn(answer), cx);
        assert_eq!(allocations(&mut limited, cx), bare + 1);
        let mut at_once = BudgetLayer::server(settings.clone())
            .layer(service_fn(|_| ready(Ok::<_, Infallible>(Response::new(String::new())))));
        let request = request();
        let counted = allocation_counter::measure(|| {
            assert!(at_once.poll_ready(cx).is_ready());
            assert!(pin!(at_once.call(request)).poll(cx).is_ready());
        });
        assert_eq!(counted.count_total, 0);
        Poll::Ready(())
    })
    .await;
}
