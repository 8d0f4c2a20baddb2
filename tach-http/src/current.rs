//! What the code that runs may ask of its request: the caller's baggage, and a place for the route.

use core::cell::{Cell, RefCell};
use std::sync::Arc;

use http::HeaderValue;

/// A server's request is served.
pub(crate) const SERVER: u8 = 1;
/// A client's request is sent.
pub(crate) const CLIENT: u8 = 2;
/// `BAGGAGE` is the request's.
const HAS_BAGGAGE: u8 = 4;
/// `ROUTE` waits for the server's layer.
const HAS_ROUTE: u8 = 8;
/// The server's layer knows the route.
pub(crate) const KNOWS_ROUTE: u8 = 16;

thread_local! {
    /// What the innermost request is and has. The other two have destructors and are used by few
    /// requests, so the flags say when.
    static FLAGS: Cell<u8> = const { Cell::new(0) };
    static BAGGAGE: RefCell<Option<Arc<HeaderValue>>> = const { RefCell::new(None) };
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
    let flags = FLAGS.get();
    if flags & (SERVER | CLIENT) != 0 {
        let set = ROUTE.try_with(|slot| slot.replace(Some(route.into()))).is_ok();
        FLAGS.set(flags | if set { HAS_ROUTE } else { 0 });
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

/// Returns whether the innermost request has a route that its layer has yet to take.
#[inline]
pub(crate) fn has_route() -> bool {
    FLAGS.get() & HAS_ROUTE != 0
}

/// Returns the baggage of the request that the current task works for.
#[inline]
pub(crate) fn baggage() -> Option<Arc<HeaderValue>> {
    if FLAGS.get() & HAS_BAGGAGE == 0 {
        return None;
    }
    BAGGAGE.try_with(|baggage| baggage.borrow().clone()).ok().flatten()
}

/// Makes a request the current one, until it is left.
pub(crate) struct Outer {
    flags: u8,
    baggage: Option<Arc<HeaderValue>>,
}

impl Outer {
    /// `own` has [`SERVER`] or [`CLIENT`].
    #[inline]
    pub(crate) fn enter(own: u8, baggage: Option<&Arc<HeaderValue>>) -> Self {
        let flags = FLAGS.replace(own | if baggage.is_some() { HAS_BAGGAGE } else { 0 });
        let baggage = baggage.and_then(|own| replace(Some(own.clone())));
        Self { flags, baggage }
    }

    /// Makes the outer request the current one again. Returns the route that was found.
    #[inline]
    pub(crate) fn leave(&mut self) -> Option<Box<str>> {
        let flags = FLAGS.replace(self.flags);
        if flags & HAS_BAGGAGE != 0 {
            replace(self.baggage.take());
        }
        if flags & HAS_ROUTE == 0 {
            return None;
        }
        if flags & SERVER == 0 {
            // A client's layer ran between the server's layer and the router. Pass the route on to
            // the outer request, whose server's layer needs it.
            FLAGS.set(self.flags | if self.flags == 0 { 0 } else { HAS_ROUTE });
            return None;
        }
        ROUTE.try_with(RefCell::take).ok().flatten()
    }
}

fn replace(baggage: Option<Arc<HeaderValue>>) -> Option<Arc<HeaderValue>> {
    BAGGAGE.try_with(|current| current.replace(baggage)).ok().flatten()
}
