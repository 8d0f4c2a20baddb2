//! Calls of a second instance, which learns how much time is left, and the trace.

use axum::http::StatusCode;
use reqwest::{Client, Method, Request, Url};
use tach_tower::{BudgetLayer, BudgetService, ClientSide, Exhausted, Settings};
use tower::{Layer as _, ServiceExt as _};
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use crate::Failure;
use crate::app::RESERVE;
use crate::telemetry::Road;

/// A client of the second instance.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    url: Url,
    client: BudgetService<Client, ClientSide>,
}

impl Upstream {
    pub(crate) fn new(address: &str) -> Result<Self, Failure> {
        let url = format!("http://{address}/").parse()?;
        let client = Client::builder().no_proxy().build()?;
        let layer = BudgetLayer::client(Settings::new().reserve(RESERVE));
        Ok(Self { url, client: layer.layer(client) })
    }

    /// Asks the second instance for a path. Its budget is the time left, less the reserve: the
    /// current request's budget is found without a request at hand.
    pub(crate) async fn get(&self, path: &str, road: Road) -> Result<String, (StatusCode, String)> {
        let bad_gateway = |problem: &str| (StatusCode::BAD_GATEWAY, format!("{problem}\n"));
        // Not `Url::join`, with which a path such as `//other/` asks another host.
        let mut url = self.url.clone();
        url.set_path(path);
        let (span, mut request) = (span(&url), Request::new(Method::GET, url));
        road.announce(&span, request.headers_mut());
        let answer = self.client.clone().oneshot(request).instrument(span.clone()).await;
        if let Ok(answer) = &answer {
            span.record("http.response.status_code", answer.status().as_u16());
        }
        drop(span);
        let answer = answer.map_err(|error| match error.downcast_ref::<Exhausted>() {
            Some(error) => (StatusCode::GATEWAY_TIMEOUT, format!("{error}\n")),
            None => bad_gateway(&error.to_string()),
        })?;
        let status = answer.status();
        let text = answer.text().await.map_err(|error| {
            // The body ends with the budget, too.
            let code = if error.is_timeout() {
                StatusCode::GATEWAY_TIMEOUT
            } else {
                StatusCode::BAD_GATEWAY
            };
            (code, format!("{error}\n"))
        })?;
        if status == StatusCode::OK { Ok(text) } else { Err((status, text)) }
    }
}

/// Returns the span of a call.
pub(crate) fn span(url: &Url) -> Span {
    tracing::info_span!(
        "call",
        otel.kind = "client",
        otel.name = "GET",
        http.request.method = "GET",
        http.response.status_code = Empty,
        server.address = url.host_str(),
        server.port = url.port_or_known_default(),
        url.full = url.as_str(),
    )
}
