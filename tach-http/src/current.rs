//! The request that the current task works for: what it passes on, and a place for the route.

use core::cell::{Cell, RefCell};
use std::sync::Arc;
use std::thread::LocalKey;

use http::HeaderValue;
use tach_pipeline::TraceContext;

/// A server's request is served.
pub(crate) const SERVER: u8 = 1;
/// A client's request is sent.
pub(crate) const CLIENT: u8 = 2;
/// `PASSED` belongs to the innermost request.
const HAS_PASSED: u8 = 4;
/// `ROUTE` contains a route for the server's layer.
const HAS_ROUTE: u8 = 8;
/// The server's layer knows the route.
pub(crate) const KNOWS_ROUTE: u8 = 16;

/// What a service passes on from its caller to the services that it calls.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) baggage: Option<HeaderValue>,
    /// The caller's span, if the service has none.
    pub(crate) parent: Option<TraceContext>,
}

thread_local! {
    /// The flags of the innermost request. The other two variables have destructors and are used by
    /// few requests, so the flags say whether to read them.
    static FLAGS: Cell<u8> = const { Cell::new(0) };
    static PASSED: RefCell<Option<Arc<Passed>>> = const { RefCell::new(None) };
    static ROUTE: RefCell<Option<Box<str>>> = const { RefCell::new(None) };
}

/// Names the route of the request that the current task serves, for a router that the layer does
/// not know. The span is named by it, and has it as `http.route`, once the service returns.
///
/// The route is the pattern that matched the path, one of few. Does nothing outside of a server's
/// layer.
///
/// # Examples
///
/// ```
/// use http::{Request, Response};
///
/// async fn serve(request: Request<String>) -> Response<String> {
///     if request.uri().path().starts_with("/users/") {
///         tach_http::set_route("/users/{id}");
///     }
///     Response::new(String::new())
/// }
/// ```
pub fn set_route(route: &str) {
    if is_served() {
        _ = replace(&ROUTE, Some(route.into()));
        FLAGS.set(FLAGS.get() | HAS_ROUTE);
    }
}

/// Returns whether a server's layer of the same task is around, and no client's layer between.
#[inline]
pub(crate) fn is_served() -> bool {
    FLAGS.get() & SERVER != 0
}

/// Names the route by a layer inside of the server's. The first one counts: a handler may call
/// another router.
#[cold]
pub(crate) fn offer_route(route: Option<&str>) {
    if let (Some(route), 0) = (route, FLAGS.get() & (HAS_ROUTE | KNOWS_ROUTE)) {
        set_route(route);
    }
}

/// Returns what the request that the current task works for passes on.
#[inline]
pub(crate) fn passed() -> Option<Arc<Passed>> {
    if FLAGS.get() & HAS_PASSED == 0 {
        return None;
    }
    PASSED.try_with(|passed| passed.borrow().clone()).ok().flatten()
}

/// Makes a request the current one, until it is left.
pub(crate) struct Outer {
    flags: u8,
    passed: Option<Arc<Passed>>,
    route: Option<Box<str>>,
}

impl Outer {
    /// `own` has [`SERVER`] or [`CLIENT`].
    #[inline]
    pub(crate) fn enter(own: u8, passed: Option<&Arc<Passed>>) -> Self {
        let flags = FLAGS.replace(own | if passed.is_some() { HAS_PASSED } else { 0 });
        let passed = passed.and_then(|own| replace(&PASSED, Some(own.clone())));
        let route = if flags & HAS_ROUTE == 0 { None } else { replace(&ROUTE, None) };
        Self { flags, passed, route }
    }

    /// Makes the outer request the current one again. Returns the route that was found.
    #[inline]
    pub(crate) fn leave(&mut self) -> Option<Box<str>> {
        let flags = FLAGS.replace(self.flags);
        if flags & HAS_PASSED != 0 {
            replace(&PASSED, self.passed.take());
        }
        if (flags | self.flags) & HAS_ROUTE == 0 {
            return None;
        }
        replace(&ROUTE, self.route.take())
    }
}

/// Replaces the value of a slot. Near the end of a thread there is no slot.
fn replace<T>(slot: &'static LocalKey<RefCell<Option<T>>>, new: Option<T>) -> Option<T> {
    slot.try_with(|slot| slot.replace(new)).ok().flatten()
}
