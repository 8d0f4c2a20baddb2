//! Traits and size of every public type.

use core::future::{Pending, Ready, pending};
use core::panic::{RefUnwindSafe, UnwindSafe};

use http::{Request, Response};
use tach_tower::{
    Budget, BudgetBody, BudgetLayer, BudgetService, Client, Exhausted, ResponseFuture, Server,
    Settings, Stats, Syntax, enforce, scope,
};
use test_support::assert_implements;
use tower::util::ServiceFn;

type Answer = Ready<Result<Response<String>, std::io::Error>>;
type Service = ServiceFn<fn(Request<()>) -> Answer>;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    BudgetLayer<Client>,
    BudgetLayer<Server>,
    BudgetService<(), Client>,
    BudgetService<(), Server>,
    Client,
    Exhausted,
    Server,
    Settings,
    Stats,
    Syntax,
);
assert_implements!([Send + Sync + Unpin] BudgetBody<String>);
assert_implements!(
    [Send + Sync]
    ResponseFuture<Service, Request<()>, Client>,
    ResponseFuture<Service, Request<()>, Server>,
);
#[cfg(feature = "axum")]
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe] tach_tower::RequestBudget);
#[cfg(feature = "reqwest")]
assert_implements!([Send] ResponseFuture<reqwest::Client, reqwest::Request, Client>);

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
    assert_eq!(size_of::<Stats>(), size_of::<usize>());
    assert_eq!(size_of::<BudgetLayer<Server>>(), size_of::<usize>());
    assert!(size_of::<BudgetBody<()>>() <= 176, "{}", size_of::<BudgetBody<()>>());
}
