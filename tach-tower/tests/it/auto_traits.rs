//! Derived properties, which a private field could change.

use core::future::Pending;
use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_tower::{BudgetLayer, BudgetService, ResponseFuture, Stats};

fn assert_send_sync<T: Send + Sync>() {}
fn assert_shareable<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}

#[test]
fn every_public_type_crosses_threads() {
    assert_shareable::<BudgetLayer>();
    assert_shareable::<BudgetService<()>>();
    assert_shareable::<Stats>();
    assert_send_sync::<ResponseFuture<Pending<()>>>();
}

#[test]
fn sizes_stay_small() {
    assert_eq!(size_of::<Stats>(), size_of::<usize>());
    assert!(size_of::<BudgetLayer>() <= 80);
}
