//! Traits and size of every public type.

use core::future::{Pending, Ready};
use core::panic::{RefUnwindSafe, UnwindSafe};

use http::{Request, Response};
use tach_tower::{
    BudgetBody, BudgetLayer, BudgetService, PropagateBudget, PropagateBudgetLayer, PropagateFuture,
    ResponseFuture, Stage, Stages, Stats, Syntax, Within,
};
use test_support::assert_implements;
use tower::util::ServiceFn;

type Answer = Ready<Result<Response<String>, std::io::Error>>;
type Service = ServiceFn<fn(Request<()>) -> Answer>;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    BudgetLayer,
    BudgetService<()>,
    PropagateBudget<()>,
    PropagateBudgetLayer,
    Stage,
    Stages,
    Stats,
    Syntax,
);
assert_implements!([Send + Sync + Unpin] BudgetBody<String>, Within<Pending<()>>);
assert_implements!(
    [Send + Sync]
    ResponseFuture<Service, Request<()>>,
    PropagateFuture<Service, Request<()>>,
);
#[cfg(feature = "axum")]
assert_implements!([Send + Sync + Unpin + UnwindSafe + RefUnwindSafe] tach_tower::RequestBudget);
#[cfg(feature = "reqwest")]
assert_implements!([Send] tach_tower::ReqwestFuture<reqwest::Client>);
#[cfg(feature = "retry")]
assert_implements!([Send + Sync + Unpin] tach_tower::RetryBudget<()>);

#[test]
fn sizes_stay_small() {
    assert_eq!(size_of::<Stats>(), size_of::<usize>());
    assert_eq!(size_of::<BudgetLayer>(), size_of::<usize>());
    assert!(size_of::<BudgetBody<()>>() <= 128, "{}", size_of::<BudgetBody<()>>());
}
