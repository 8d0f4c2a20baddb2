//! The methods that the environment makes known.

#[path = "it/kit.rs"]
#[expect(dead_code, reason = "the other tests use the rest")]
mod kit;

use std::env;
use std::process::Command;

use http::Request;
use kit::{Body, answers, assert_has, call, one, request, spans, status};
use tach_http::RequestLayer;

const VARIABLE: &str = "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS";

/// A list replaces the default one. An empty one counts as unset.
#[test]
fn the_variable_has_the_known_methods() {
    for (list, known, unknown) in
        [("PROPFIND, get,HEAD", ["PROPFIND", "get"], "GET"), ("", ["GET", "QUERY"], "PROPFIND")]
    {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--ignored", "--exact", "child"]).env(VARIABLE, list);
        child.env("KNOWN", known.join(" ")).env("UNKNOWN", unknown);
        let output = child.output().unwrap();
        assert!(output.status.success(), "{list:?}: {output:?}");
    }
}

#[test]
#[ignore = "a part of the other test"]
fn child() {
    let [Ok(known), Ok(unknown)] = ["KNOWN", "UNKNOWN"].map(env::var) else { return };
    for method in known.split_whitespace().chain([&*unknown]) {
        let span = one(spans(async {
            let service = answers(|_: Request<Body>| status(200));
            call(RequestLayer::server(), service, request(method, "/", &[])).await;
        }));
        let is_known = *method != *unknown;
        let (of_http, original) = if is_known { (method, "") } else { ("_OTHER", method) };
        let expected =
            [("http.request.method", of_http), ("http.request.method_original", original)];
        assert_has(&span, &expected);
        assert_eq!(span.name, if is_known { method } else { "HTTP" });
    }
}
