//! Traits and size of every public type.

use core::future::{Pending, Ready, pending};
use core::panic::{RefUnwindSafe, UnwindSafe};

use http::{Request, Response};
use tach_tower::{
    Budget, BudgetBody, BudgetLayer, BudgetService, ClientSide, Detach, DetachLayer, Detached,
    Exhausted, ResponseFuture, ServerSide, Settings, Stats, Syntax, enforce, scope,
};
use test_support::assert_implements;
use tower::util::ServiceFn;

type Answer = Ready<Result<Response<String>, std::io::Error>>;
type Service = ServiceFn<fn(Request<()>) -> Answer>;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    BudgetLayer<ClientSide>,
    BudgetLayer<ServerSide>,
    BudgetService<(), ClientSide>,
    BudgetService<(), ServerSide>,
    ClientSide,
    Detach<()>,
    DetachLayer,
    Exhausted,
    ServerSide,
    Settings,
    Stats,
    Syntax,
);
assert_implements!([Send + Sync + Unpin] BudgetBody<String>, Detached<()>);
assert_implements!(
    [Send + Sync]
    ResponseFuture<Service, Request<()>, ClientSide>,
    ResponseFuture<Service, Request<()>, ServerSide>,
);
#[cfg(feature = "axum")]
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe] tach_tower::RequestBudget);
#[cfg(feature = "retry")]
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe] tach_tower::Retry<()>);
#[cfg(feature = "reqwest")]
assert_implements!([Send] ResponseFuture<reqwest::Client, reqwest::Request, ClientSide>);

#[test]
fn futures_move_between_threads() {
    fn assert_send<T: Send + Sync>(_: &T) {}
    let budget = Budget::new(core::time::Duration::MAX);
    let forever: fn() -> Pending<()> = pending;
    assert_send(&scope(budget, forever()));
    assert_send(&enforce(budget, forever()));
}

#[test]
fn sizes_stay_small() {
    assert_eq!(size_of::<Budget>(), 16);
    assert_eq!(size_of::<BudgetLayer<ServerSide>>(), size_of::<usize>());
    assert!(size_of::<BudgetBody<()>>() <= 48, "{}", size_of::<BudgetBody<()>>());
    assert_eq!(size_of::<BudgetBody<String>>(), size_of::<String>() + 40);
}
