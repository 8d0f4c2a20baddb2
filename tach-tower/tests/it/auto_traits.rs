//! Traits and size of every public type.

use core::future::Pending;
use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_tower::{BudgetLayer, BudgetService, ResponseFuture, Stats};
use test_support::assert_implements;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    BudgetLayer,
    BudgetService<()>,
    Stats,
);
// Not `Unpin`, because it holds a timer of tokio.
assert_implements!([Send + Sync] ResponseFuture<Pending<()>>);

#[test]
fn sizes_stay_small() {
    assert_eq!(size_of::<Stats>(), size_of::<usize>());
    assert!(size_of::<BudgetLayer>() <= 80);
}
