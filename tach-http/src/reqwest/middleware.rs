//! The layer as a middleware of reqwest-middleware.

use core::future::poll_fn;
use core::pin::pin;

use async_trait::async_trait;
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{Error, Middleware, Next};
use tach_tower::ClientSide;

use super::{open, with_span};
use crate::future::ResponseFuture;
use crate::layer::RequestLayer;

/// Add it after a middleware that tries again, for a span of each attempt.
#[async_trait]
impl Middleware for RequestLayer<ClientSide> {
    async fn handle(
        &self,
        mut request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response, Error> {
        let open = open(&mut request, &self.options);
        let call = ResponseFuture::<_, Request>::start(open, || next.run(request, extensions));
        let mut call = pin!(call);
        let (output, open) = poll_fn(|cx| call.as_mut().poll_call(cx)).await;
        let Some(open) = open else { return output };
        match output {
            Ok(response) => return Ok(with_span(response, open)),
            Err(ref error) => open.failed(error),
        }
        output
    }
}
