//! A pipeline, and the receiver at the other end of its connection.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use sdk::trace::SpanData;
use tach_otlp::Metadata;
use tach_pipeline::{Guard, Otlp, Pipeline, Sampling, Signal, Sink};
use test_support::receiver::{Requests, serve};

use crate::decode;

/// Long enough for any machine. The spans are sent when they are asked for.
const LONG: Duration = Duration::from_secs(60);

pub struct Wire {
    endpoint: String,
    requests: Mutex<Requests>,
    /// The pipeline, and the options that it was built with.
    built: Mutex<(Guard, Settings)>,
}

/// The options of a pipeline.
#[derive(Clone)]
pub struct Settings {
    pub sampling: Option<Sampling>,
    pub max_events: Option<u32>,
    /// `None` for the default.
    pub shown: Option<Vec<Metadata>>,
}

impl Settings {
    pub fn show(&mut self, metadata: Metadata, shows: bool) {
        let shown = self.shown.get_or_insert_with(|| vec![Metadata::Location, Metadata::Thread]);
        shown.retain(|other| *other != metadata);
        if shows {
            shown.push(metadata);
        }
    }

    fn build(&self, endpoint: &str) -> Guard {
        let mut otlp = Otlp::new().endpoint(endpoint).max_delay(LONG).signals([Signal::Traces]);
        if let Some(count) = self.max_events {
            otlp = otlp.max_events(count);
        }
        let otlp = match &self.shown {
            Some(shown) => otlp.metadata(shown.iter().copied()),
            None => otlp,
        };
        let mut builder = Pipeline::builder().filter("trace").sink(Sink::otlp(otlp));
        if let Some(sampling) = &self.sampling {
            builder = builder.sampling(sampling.clone());
        }
        builder.build().expect("the options can be used")
    }
}

thread_local! {
    /// The wire of the layer that was made last on this thread.
    static LAST: RefCell<Weak<Wire>> = const { RefCell::new(Weak::new()) };
}

impl Wire {
    pub fn new(settings: Settings) -> Self {
        let (endpoint, requests) = serve();
        let built = Mutex::new((settings.build(&endpoint), settings));
        Self { endpoint, requests: Mutex::new(requests), built }
    }

    pub fn pipeline(self: &Arc<Self>) -> Pipeline {
        LAST.set(Arc::downgrade(self));
        self.built.lock().unwrap().0.pipeline().clone()
    }

    /// Returns a pipeline with other options, in place of the one that [`pipeline`](Self::pipeline)
    /// has returned last. No span has used that one: the options follow the layer.
    pub fn change(change: impl FnOnce(&mut Settings)) -> Pipeline {
        let last = LAST.with_borrow(Weak::upgrade).expect("the provider is there");
        let (guard, settings) = &mut *last.built.lock().unwrap();
        change(settings);
        *guard = settings.build(&last.endpoint);
        guard.pipeline().clone()
    }

    /// Returns the spans that have ended since the last call.
    pub fn spans(&self) -> Vec<SpanData> {
        self.built
            .lock()
            .unwrap()
            .0
            .pipeline()
            .flush(LONG)
            .expect("the receiver accepts everything");
        let requests = self.requests.lock().unwrap();
        let requests = requests.try_iter().map(|(_, body)| {
            ExportTraceServiceRequest::decode(&*body).expect("it is a request of OTLP")
        });
        let of_scopes = requests
            .flat_map(|request| request.resource_spans)
            .flat_map(|of_resource| of_resource.scope_spans);
        of_scopes.flat_map(|of_scope| of_scope.spans).map(decode::span).collect()
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}
