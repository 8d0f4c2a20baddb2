//! The variables of a program whose caller has fewer rights.

use std::{env, fs};

use tach_pipeline::Pipeline;
use test_support::users::{Copy, STRANGER, can_be_others};

use crate::support::Memory;

/// What the program does with its caller's variables: it `obeys` them since its caller has the same
/// rights, or `trusts` or `ignores` them though its caller has fewer.
const WAY: &str = "TACH_PIPELINE_PRIVILEGED";

/// Not a test: the program.
#[test]
#[ignore = "the child of the next test"]
fn child() {
    let Ok(way) = env::var(WAY) else { return };
    if way == "trusts" {
        tach_core::Config::new().trust_environment().install().unwrap();
    }
    let obeys = way != "ignores";
    let memory = Memory::default();
    let builder = Pipeline::builder().filter("warn").filter_from_env("RUST_LOG");
    let guard = builder.sink(memory.json()).build().unwrap();
    assert_eq!(log::Log::enabled(guard.pipeline(), &log::Metadata::builder().build()), obeys);
    #[cfg(feature = "otlp")]
    {
        let options = format!("{:?}", tach_pipeline::Otlp::from_env());
        assert_eq!(options.contains("evil.example"), obeys, "{options}");
        assert_eq!(options.contains("x-evil"), obeys, "{options}");
    }
    #[cfg(feature = "otlp")]
    {
        use tach_pipeline::Sampling;
        assert_eq!(Sampling::from_env() != Sampling::default(), obeys);
    }
    #[cfg(feature = "otlp")]
    if std::path::Path::new("/etc/ssl/certs/ca-certificates.crt").exists() {
        let otlp = tach_pipeline::Otlp::new().endpoint("https://localhost:1");
        let built = Pipeline::builder()
            .sink(tach_pipeline::Sink::otlp(otlp.signals([tach_pipeline::Signal::Logs])))
            .build();
        assert_eq!(built.is_err(), obeys, "{:?}", built.err());
    }
}

#[test]
fn a_caller_with_fewer_rights_sets_no_option() {
    if !can_be_others("a_caller_with_fewer_rights_sets_no_option") {
        return;
    }
    let authorities = env::temp_dir().join(format!("tach-no-authorities-{}", std::process::id()));
    fs::write(&authorities, "").unwrap();
    for (is_setuid, way) in [(false, "obeys"), (true, "trusts"), (true, "ignores")] {
        let copy = Copy::new(way, is_setuid);
        let mut command = copy.test_as(STRANGER, "privileged::child");
        command.env(WAY, way).env("RUST_LOG", "trace");
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://evil.example:4318");
        command.env("OTEL_EXPORTER_OTLP_HEADERS", "x-evil=1");
        command.env("OTEL_TRACES_SAMPLER", "always_off").env("SSL_CERT_FILE", &authorities);
        let output = command.env_remove("SSL_CERT_DIR").output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let is_run = String::from_utf8_lossy(&output.stdout).contains("1 passed");
        assert!(output.status.success() && is_run, "{way}: {text}");
    }
    fs::remove_file(authorities).unwrap();
}
