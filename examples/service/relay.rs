//! Calls of a second instance, which learns how much time is left, and the trace.

use axum::http::StatusCode;
use reqwest::{Client, Method, Request, Url};
use tach_http::{ClientSide, RequestService};
use tach_tower::{BudgetLayer, BudgetService, Exhausted, Settings};
use tower::{Layer as _, ServiceExt as _};

use crate::Failure;
use crate::app::RESERVE;
use crate::telemetry::Road;

/// A client of the second instance.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    url: Url,
    client: RequestService<BudgetService<Client, ClientSide>, ClientSide>,
}

impl Upstream {
    pub(crate) fn new(address: &str, road: Road) -> Result<Self, Failure> {
        let url = format!("http://{address}/").parse()?;
        let client = Client::builder().no_proxy().build()?;
        let layer = BudgetLayer::client(Settings::new().reserve(RESERVE));
        Ok(Self { url, client: road.client().layer(layer.layer(client)) })
    }

    /// Asks the second instance for a path. Its budget is the time left, less the reserve: the
    /// current request's budget is found without a request at hand.
    pub(crate) async fn get(&self, path: &str) -> Result<String, (StatusCode, String)> {
        let bad_gateway = |problem: &str| (StatusCode::BAD_GATEWAY, format!("{problem}\n"));
        // Not `Url::join`, with which a path such as `//other/` asks another host.
        let mut url = self.url.clone();
        url.set_path(path);
        let answer = self.client.clone().oneshot(Request::new(Method::GET, url)).await;
        let answer = answer.map_err(|error| match error.downcast_ref::<Exhausted>() {
            Some(error) => (StatusCode::GATEWAY_TIMEOUT, format!("{error}\n")),
            // The text of the error has the URL, which is not the caller's.
            None => bad_gateway("the second instance does not answer"),
        })?;
        let status = answer.status();
        let text = answer.text().await.map_err(|error| {
            // The body ends with the budget, too.
            let code = if error.is_timeout() {
                StatusCode::GATEWAY_TIMEOUT
            } else {
                StatusCode::BAD_GATEWAY
            };
            (code, format!("{}\n", error.without_url()))
        })?;
        if status == StatusCode::OK { Ok(text) } else { Err((status, text)) }
    }
}
