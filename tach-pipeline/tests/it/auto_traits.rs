//! Properties that the compiler derives, which a change of a private field could take away.

use core::panic::{RefUnwindSafe, UnwindSafe};

use tach_pipeline::{Builder, Error, Guard, Journal, Pipeline, Sink, WhenFull};

fn assert_auto_traits<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}

#[test]
fn handles_cross_threads() {
    fn assert_send<T: Send + Unpin>() {}
    fn assert_send_sync<T: Send + Sync>() {}
    assert_auto_traits::<Pipeline>();
    assert_auto_traits::<Guard>();
    assert_auto_traits::<WhenFull>();
    assert_auto_traits::<Journal>();
    assert_eq!(size_of::<Pipeline>(), 2 * size_of::<usize>());
    // Writers and formats need not be `Sync`.
    assert_send::<Sink>();
    assert_send::<Builder>();
    assert_send_sync::<Error>();
}
