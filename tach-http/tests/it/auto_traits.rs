//! Traits and size of every public type.

use core::panic::{RefUnwindSafe, UnwindSafe};

use http::Request;
use tach_http::{
    ClientSide, RequestLayer, RequestService, ResponseBody, ResponseFuture, ServerSide,
};
use test_support::assert_implements;

assert_implements!(
    [Send + Sync + Unpin + UnwindSafe + RefUnwindSafe]
    RequestLayer<ClientSide>,
    RequestLayer<ServerSide>,
    RequestService<(), ClientSide>,
    RequestService<(), ServerSide>,
);
assert_implements!(
    [Send + Sync + Unpin]
    ResponseBody<String>,
    ResponseFuture<(), Request<()>>,
);

#[test]
fn sizes_stay_small() {
    let size = size_of::<ResponseBody<()>>();
    assert!(size <= 24, "{size}");
    assert!(size_of::<ResponseFuture<(), ()>>() <= size);
}
