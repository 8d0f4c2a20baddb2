//! The layer allocates nothing; the request's extensions allocate for the budget in them.

use core::convert::Infallible;
use core::future::poll_fn;
use core::pin::pin;
use core::task::{Context, Poll};

use http::{HeaderValue, Request, Response};
use tach_tower::{Budget, BudgetLayer, Syntax};
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
async fn only_extensions_allocate() {
    let settings = cap(PLENTY).header(GRPC_TIMEOUT, Syntax::Grpc);
    poll_fn(|cx| {
        let mut with_extension =
            BudgetLayer::server(settings.clone().extension()).layer(service_fn(answer));
        let mut without = BudgetLayer::server(settings.clone()).layer(service_fn(answer));
        let bare = allocations(&mut service_fn(answer), cx);
        assert_eq!(allocations(&mut without, cx), bare);
        let (mut request, budget) = (request(), Budget::new(PLENTY));
        let insertion = allocation_counter::measure(|| {
            request.extensions_mut().insert(budget);
        });
        assert_eq!(allocations(&mut with_extension, cx), bare + insertion.count_total);
        Poll::Ready(())
    })
    .await;
}
