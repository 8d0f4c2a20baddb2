//! Sampling and the resource by the variables of the environment.

use std::env;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tach_pipeline::{Otlp, Pipeline, Sampling, Signal, Sink, SpanExt as _};
use test_support::receiver::{Requests, serve};
use test_support::test_of_this_program;

use super::propagation::{parent, unsampled};
use super::received::{decode, spans_in, value};
use super::run;
use crate::support::LONG;

/// `program` if the program sets a sampling itself.
const WAY: &str = "TACH_BY_ENV_WAY";
const ROOTS: usize = 1000;

/// Not a test: the child process of the next tests.
#[test]
#[ignore = "the child of the next tests"]
fn child() {
    let Ok(way) = env::var(WAY) else { return };
    let otlp = Otlp::from_env().signals([Signal::Traces]).max_delay(LONG).detect_resource();
    let mut builder = Pipeline::builder().sink(Sink::otlp(otlp));
    if way == "program" {
        builder = builder.sampling(Sampling::ratio(1.0));
    }
    let guard = builder.build().unwrap();
    run(guard.pipeline(), || {
        (0..ROOTS).for_each(|_| drop(tracing::info_span!("root")));
        assert!(tracing::info_span!("sampled").set_remote_parent(&parent()));
        assert!(tracing::info_span!("unsampled").set_remote_parent(&unsampled()));
    });
}

/// Starts a child with these variables, and returns its requests.
fn requests(way: &str, variables: &[(&str, &str)]) -> (Requests, String) {
    let (endpoint, requests) = serve();
    let mut child = test_of_this_program("otlp::by_env::child");
    for variable in ["OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG", "OTEL_RESOURCE_ATTRIBUTES"] {
        child.env_remove(variable);
    }
    child.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env(WAY, way);
    let output = child.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    (requests, text)
}

#[test]
fn the_environment_samples_unless_the_program_does() {
    let all = ROOTS..ROOTS + 1;
    // Fewer or more have a probability of 10^-12.
    let some = 30..190;
    for (way, sampler, argument, roots, sampled, unsampled) in [
        ("env", "", "", all.clone(), 1, 0),
        ("env", "always_on", "", all.clone(), 1, 1),
        ("env", "always_off", "", 0..1, 0, 0),
        ("env", "Parentbased_Always_Off", "", 0..1, 1, 0),
        ("env", "parentbased_always_on", "", all.clone(), 1, 0),
        ("env", "parentbased_traceidratio", "0.1", some.clone(), 1, 0),
        ("env", "traceidratio", "0.1", some, 0, 0),
        ("env", "xray", "", all.clone(), 1, 0),
        ("program", "always_off", "", all, 1, 0),
    ] {
        let variables = [("OTEL_TRACES_SAMPLER", sampler), ("OTEL_TRACES_SAMPLER_ARG", argument)];
        let (requests, printed) = requests(way, &variables);
        let names: Vec<_> =
            requests.try_iter().flat_map(|(_, body)| spans_in(&body)).map(|it| it.name).collect();
        let count = |name: &str| names.iter().filter(|it| *it == name).count();
        assert!(roots.contains(&count("root")), "{way} {sampler}: {}", count("root"));
        // The ratio decides by the id of that trace.
        let of_callers = (count("sampled"), count("unsampled"));
        assert_eq!(of_callers, (sampled, unsampled), "{way} {sampler}");
        let warns = printed.contains("can't use OTEL_TRACES_SAMPLER \"xray\"");
        assert_eq!(warns, sampler == "xray", "{printed}");
    }
}

#[test]
fn the_resource_names_the_instance_and_what_is_detected() {
    let (requests, _) = requests("env", &[("OTEL_RESOURCE_ATTRIBUTES", "host.name=mine")]);
    let request: ExportTraceServiceRequest = decode(&requests.recv().unwrap().1);
    let resource = request.resource_spans[0].resource.clone().unwrap().attributes;
    let Value::StringValue(instance) = value(&resource, "service.instance.id") else { panic!() };
    assert_eq!(instance.len(), 36, "{instance}");
    assert_eq!(value(&resource, "host.name"), super::received::text("mine"));
    assert!(matches!(value(&resource, "process.pid"), Value::IntValue(pid) if pid > 0));
    let keys = resource.iter().map(|attribute| &*attribute.key);
    let mut keys: Vec<_> = keys.collect();
    keys.sort_unstable();
    let distinct = keys.len();
    keys.dedup();
    assert_eq!(keys.len(), distinct, "{keys:?}");
}
