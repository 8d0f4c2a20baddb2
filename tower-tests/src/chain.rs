//! A service of tonic that asks the next one, or works itself if there is none.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::PathAndQuery;
use tach_tower::{BudgetLayer, BudgetService, ClientSide, ServerSide, Settings};
use tokio::net::TcpListener;
use tokio_stream::{Stream, StreamExt as _};
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::{Layer, Service, service_fn};

use crate::journal::Journal;

/// The most time that a service gives a request.
pub const LIMIT: Duration = Duration::from_secs(3);
/// The time that each service keeps for itself.
pub const RESERVE: Duration = Duration::from_millis(5);
const UNARY: &str = "/test.Chain/Unary";
const STREAM: &str = "/test.Chain/Stream";

/// How long the last service works. It streams an empty message each millisecond of it.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Work {
    #[prost(uint64, tag = "1")]
    pub millis: u64,
}

type Messages = Pin<Box<dyn Stream<Item = Result<Work, Status>> + Send>>;

/// A client of the chain.
#[derive(Debug, Clone)]
pub struct Client(tonic::client::Grpc<BudgetService<Channel, ClientSide>>);

impl Client {
    /// # Panics
    ///
    /// If `address` is none of a service.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self::with_settings(address, Settings::new().reserve(RESERVE))
    }

    /// # Panics
    ///
    /// If `address` is none of a service.
    #[must_use]
    pub fn with_settings(address: SocketAddr, settings: Settings) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let layer = BudgetLayer::client(settings);
        Self(tonic::client::Grpc::new(layer.layer(endpoint.connect_lazy())))
    }

    /// Asks for one message.
    ///
    /// # Errors
    ///
    /// The status of the service, or the client's own.
    pub async fn unary(mut self, work: Work) -> Result<Work, Status> {
        self.0.ready().await.map_err(Status::from_error)?;
        let (path, codec) = (PathAndQuery::from_static(UNARY), ProstCodec::<Work, Work>::default());
        self.0.unary(Request::new(work), path, codec).await.map(Response::into_inner)
    }

    /// Asks for a stream.
    ///
    /// # Errors
    ///
    /// The status of the service, or the client's own.
    pub async fn stream(mut self, work: Work) -> Result<tonic::Streaming<Work>, Status> {
        self.0.ready().await.map_err(Status::from_error)?;
        let (path, codec) =
            (PathAndQuery::from_static(STREAM), ProstCodec::<Work, Work>::default());
        self.0.server_streaming(Request::new(work), path, codec).await.map(Response::into_inner)
    }
}

/// A service of the chain.
#[derive(Debug, Clone)]
pub struct Chain {
    name: &'static str,
    next: Option<Client>,
    journal: Journal,
}

impl Chain {
    #[must_use]
    pub fn new(name: &'static str, next: Option<SocketAddr>, journal: &Journal) -> Self {
        Self { name, next: next.map(Client::new), journal: journal.clone() }
    }

    /// Serves on loopback, for as long as the runtime lives.
    pub async fn serve(self) -> (SocketAddr, BudgetLayer<ServerSide>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let layer = BudgetLayer::server(Settings::new().cap(LIMIT));
        let counted = layer.clone();
        // Calls that end together are resets at once, which h2 takes for an attack.
        let server = Server::builder().http2_max_pending_accept_reset_streams(Some(1_000));
        let server = server.layer(layer).add_service(self);
        tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
        (address, counted)
    }

    async fn unary(self, work: Work) -> Result<Response<Work>, Status> {
        let working = self.journal.enter(self.name);
        let answer = if let Some(next) = self.next {
            next.unary(work).await?
        } else {
            tokio::time::sleep(Duration::from_millis(work.millis)).await;
            work
        };
        working.done();
        Ok(Response::new(answer))
    }

    async fn stream(self, work: Work) -> Result<Response<Messages>, Status> {
        let working = self.journal.enter(self.name);
        let messages: Messages = if let Some(next) = self.next {
            Box::pin(next.stream(work).await?.map(move |message| {
                let _ = &working;
                message
            }))
        } else {
            let ticks = (0..work.millis).map(move |tick| {
                let _ = &working;
                Ok(Work { millis: tick })
            });
            Box::pin(tokio_stream::iter(ticks).then(|message| async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                message
            }))
        };
        Ok(Response::new(messages))
    }
}

impl NamedService for Chain {
    const NAME: &'static str = "test.Chain";
}

impl<B> Service<http::Request<B>> for Chain
where
    B: http_body::Body<
            Data = bytes::Bytes,
            Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
        > + Send
        + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let chain = self.clone();
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<Work, Work>::default());
            Ok(if request.uri().path() == UNARY {
                let unary = service_fn(move |request: Request<Work>| {
                    Box::pin(chain.clone().unary(request.into_inner()))
                });
                grpc.unary(unary, request).await
            } else {
                let stream = service_fn(move |request: Request<Work>| {
                    Box::pin(chain.clone().stream(request.into_inner()))
                });
                grpc.server_streaming(stream, request).await
            })
        })
    }
}
