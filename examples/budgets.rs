//! One budget over three hops: each service learns from the header how much time is left, and the
//! last one is not asked for longer than the first one's client waits.
//!
//! ```text
//! cargo run --example budgets
//! ```
//!
//! prints the time that each hop has, and the answer to a request that takes too long:
//!
//! ```text
//! 2000 ms, 1978 ms, 1957 ms
//! 504 Gateway Timeout
//! ```
#![expect(clippy::print_stdout, reason = "prints the budgets")]

use core::error::Error;
use core::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use reqwest::{Client, Method, Request, Url};
use tach_tower::{BudgetLayer, BudgetService, ClientSide, RequestBudget, Settings};
use tokio::net::TcpListener;
use tokio::time;
use tower::{Layer as _, ServiceExt as _};

/// What each service keeps for its own answer.
const RESERVE: Duration = Duration::from_millis(20);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let third = serve(None).await?;
    let second = serve(Some(third)).await?;
    let first = serve(Some(second)).await?;
    println!("{}", ask(&first, "left").await?.1);
    println!("{}", ask(&first, "slow").await?.0);
    Ok(())
}

/// A service, and the next one whose answer is part of its own.
#[derive(Clone)]
struct Service {
    next: Option<Url>,
    client: BudgetService<Client, ClientSide>,
}

/// Starts a service and returns its address.
async fn serve(next: Option<Url>) -> Result<Url, Box<dyn Error>> {
    let client = BudgetLayer::client(Settings::new().reserve(RESERVE));
    let service = Service { next, client: client.layer(Client::builder().no_proxy().build()?) };
    let budgets = BudgetLayer::server(Settings::new().cap(Duration::from_secs(2)));
    let app = Router::new().route("/left", get(left)).route("/slow", get(slow));
    let app = app.with_state(service).layer(budgets);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}/", listener.local_addr()?).parse()?;
    tokio::spawn(async { axum::serve(listener, app).await });
    Ok(address)
}

/// Answers with the budgets of this service and of those behind it.
async fn left(State(service): State<Service>, RequestBudget(budget): RequestBudget) -> String {
    let own = format!("{} ms", budget.total().as_millis());
    match service.next("left").await {
        Some((_, others)) => format!("{own}, {others}"),
        None => own,
    }
}

/// The last service takes a minute.
async fn slow(State(service): State<Service>) -> (StatusCode, String) {
    if let Some(answer) = service.next("slow").await {
        return answer;
    }
    time::sleep(Duration::from_mins(1)).await;
    (StatusCode::OK, String::new())
}

impl Service {
    /// Asks the next service, if there is one. The request gets the current request's budget.
    async fn next(&self, path: &str) -> Option<(StatusCode, String)> {
        let request = Request::new(Method::GET, self.next.as_ref()?.join(path).ok()?);
        let answer = match self.client.clone().oneshot(request).await {
            Ok(answer) => answer,
            Err(error) => return Some((StatusCode::GATEWAY_TIMEOUT, error.to_string())),
        };
        let status = answer.status();
        Some((status, answer.text().await.unwrap_or_default()))
    }
}

/// Asks a service, as its client does.
async fn ask(service: &Url, path: &str) -> Result<(StatusCode, String), Box<dyn Error>> {
    let answer = Client::builder().no_proxy().build()?.get(service.join(path)?).send().await?;
    let status = answer.status();
    Ok((status, answer.text().await?))
}
